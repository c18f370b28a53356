use super::*;
use proptest::prelude::*;

fn ok(text: &str) -> Uri {
    Uri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(text: &str) -> String {
    Uri::parse(text).expect_err(text).to_string()
}

fn device(text: &str) -> Emulated {
    match ok(text) {
        Uri::Emulated(device) => device,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ram_drive_has_plain_defaults() {
    let expected = Emulated {
        keeps: Keeps::Ram {
            bytes: 1 << 30,
            memory: Backing::Anonymous,
        },
        block_size: BlockSize::B512,
        namespaces: 1,
        profile: Profile::Instant,
        controller: Placement::Inline,
        fault: None,
        log: None,
        seed: 0,
    };
    assert_eq!(device("ram:1G"), expected);
    assert_eq!(device("ram:1GiB?"), expected);
}

#[test]
fn every_option_is_read() {
    let device = device(
        "ram:64M?lba=4096&ns=3&profile=optane-p5800x&memory=huge2m&controller=thread&fault=bad%26.toml&log=/tmp/l&seed=7",
    );
    assert_eq!(
        device.keeps,
        Keeps::Ram {
            bytes: 64 << 20,
            memory: Backing::HugePages2M
        }
    );
    assert_eq!(device.block_size, BlockSize::B4096);
    assert_eq!(device.namespaces, 3);
    assert_eq!(device.profile, Profile::Named("optane-p5800x".into()));
    assert_eq!(device.controller, Placement::Thread);
    assert_eq!(device.fault.as_deref(), Some(Path::new("bad&.toml")));
    assert_eq!(device.log.as_deref(), Some(Path::new("/tmp/l")));
    assert_eq!(device.seed, 7);
    let file = self::device("file:disk.img?size=1M&direct=never&profile=./mine.toml");
    let keeps = Keeps::File {
        path: "disk.img".into(),
        size: Some(1 << 20),
        direct: Direct::Never,
    };
    assert_eq!(file.keeps, keeps);
    assert_eq!(file.profile, Profile::File("./mine.toml".into()));
}

#[test]
fn relative_paths_can_count_from_another_folder() {
    let mut device = device("file:disk.img?profile=a/p.toml&fault=/f.toml");
    device.resolve_paths(Path::new("/lab"));
    assert_eq!(
        device.to_string(),
        "file:/lab/disk.img?profile=/lab/a/p.toml&fault=/f.toml"
    );
}

#[test]
fn paths_are_percent_decoded_byte_by_byte() {
    let path = |text: &str| match device(text).keeps {
        Keeps::File { path, .. } => path.into_os_string().into_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(path("file:/tmp/a%20b%3Fc.img?lba=4096"), b"/tmp/a b?c.img");
    assert_eq!(path("file:disk.img"), b"disk.img");
    assert_eq!(path("file:///abs/disk.img"), b"/abs/disk.img");
    assert_eq!(path("file:/%FF"), b"/\xff");
    assert!(message("file:/a%2").contains("hexadecimal"));
    assert!(message("file:/a%00").contains("hexadecimal"));
    assert!(message("file:").contains("path is missing"));
    assert!(message("file://host/disk").contains("host"));
}

#[test]
fn devices_elsewhere_are_read() {
    assert_eq!(
        ok("vfio-user:/run/nvme.sock"),
        Uri::VfioUser("/run/nvme.sock".into())
    );
    assert_eq!(
        ok("nvme-tcp://[2001:db8::1]:4420/nqn.2026-11.io.example:a%20b"),
        Uri::NvmeTcp(NvmeTcp {
            host: "2001:db8::1".into(),
            port: 4420,
            nqn: "nqn.2026-11.io.example:a b".into(),
        })
    );
    let address = PciAddress {
        domain: 0,
        bus: 1,
        device: 0x1f,
        function: 7,
    };
    assert_eq!(ok("pci:01:1f.7"), Uri::Pci(address));
    assert_eq!(ok("pci:0000:01:1f.7"), Uri::Pci(address));
}

#[test]
fn broken_addresses_say_what_is_allowed() {
    for text in [
        "nvme-tcp:host",
        "nvme-tcp://host/nqn",
        "nvme-tcp://host:0/nqn",
        "nvme-tcp://host:99999/nqn",
        "nvme-tcp://host:4420",
        "nvme-tcp://host:4420/",
        "nvme-tcp://:4420/nqn",
        "nvme-tcp://[::zz]:4420/nqn",
    ] {
        assert!(
            message(text).contains("HOST:PORT/NQN"),
            "{text}: {}",
            message(text)
        );
    }
    for text in [
        "pci:",
        "pci:1:0.0",
        "pci:01:20.0",
        "pci:01:00.8",
        "pci:00000:01:00.0",
        "pci:+1:00.0",
    ] {
        assert!(
            message(text).contains("0000:01:00.0"),
            "{text}: {}",
            message(text)
        );
    }
}

#[test]
fn nonsense_is_answered_with_key_value_and_what_is_allowed() {
    assert_eq!(
        message("ram:1G?lbs=512"),
        "ram: no option \"lbs\" (value \"512\"); allowed: lba, ns, profile, controller, fault, log, seed, memory; did you mean \"lba\"?"
    );
    assert_eq!(
        message("ram:1G?lba=513"),
        "option lba: value \"513\" is not possible; allowed: 512, 4096 (bytes of a logical block)"
    );
    assert!(message("ram:1G?ns=0").contains("1 to 1024 namespaces"));
    assert!(message("ram:1G?memory=hug2m").ends_with("did you mean \"huge2m\"?"));
    assert!(message("ram:1G?profile=a+b").contains("letters"));
    assert!(message("ram:1G?lba").contains("key=value"));
    assert!(message("ram:1G?lba=512&lba=512").contains("twice"));
    assert!(message("null:1G?memory=plain").contains("allowed: lba, ns, profile, controller"));
    assert!(message("ram:1G?size=1G").contains("no option"));
    assert!(message("file:a?size=1G&ns=2").contains("several devices"));
    assert!(message("file:a?size=100").contains("logical block size"));
    assert!(message("ram:1G?seed=x").contains("whole number"));
    assert!(message("pci:01:00.0?lba=512").contains("has no options"));
    assert!(message("rma:1G").ends_with("did you mean \"ram\"?"));
    assert!(message("disk.img").contains("begins with no kind"));
    assert!(message("ram:").contains("no size"));
    assert!(message("ram:0").contains("at least one"));
    assert!(message("ram:1GB").contains("GiB"));
    assert!(message("ram:1000").contains("logical block size"));
    assert!(message("ram:512?lba=4096").contains("logical block size"));
    assert!(message("null:2097152T").contains("at most"));
    assert!(message(&format!("file:{}", "a".repeat(20_000))).contains("at most"));
}

#[test]
fn what_this_version_cannot_open_is_named() {
    let missing = |text: &str| {
        ok(text)
            .require_built()
            .map(|_| ())
            .map_err(|error| error.what)
    };
    assert_eq!(missing("ram:1M"), Ok(()));
    assert_eq!(missing("null:1M?profile=instant"), Ok(()));
    assert_eq!(missing("file:a?profile=p5800x"), Ok(()));
    assert_eq!(missing("vfio-user:a"), Err("vfio-user:".into()));
    assert_eq!(missing("nvme-tcp://h:1/n"), Err("nvme-tcp:".into()));
    assert_eq!(missing("pci:01:00.0"), Err("pci:".into()));
}

fn bytes_of_a_path() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(1_u8..=255, 1..64)
}

fn emulated_devices() -> impl Strategy<Value = Uri> {
    let memory = prop_oneof![
        Just(Backing::Anonymous),
        Just(Backing::Memfd),
        Just(Backing::HugePages2M),
        Just(Backing::HugePages1G),
    ];
    let keeps = prop_oneof![
        (1_u64..1 << 40, memory).prop_map(|(blocks, memory)| Keeps::Ram {
            bytes: blocks * 4096,
            memory
        }),
        (1_u64..1 << 40).prop_map(|blocks| Keeps::Null(blocks * 4096)),
        (
            bytes_of_a_path(),
            proptest::option::of((1_u64..1 << 40).prop_map(|blocks| blocks * 4096)),
            prop_oneof![
                Just(Direct::Auto),
                Just(Direct::Always),
                Just(Direct::Never)
            ]
        )
            .prop_map(|(path, size, direct)| Keeps::File {
                path: PathBuf::from(OsString::from_vec(path)),
                size,
                direct
            }),
    ];
    let profile = prop_oneof![
        Just(Profile::Instant),
        "[a-z0-9._-]{1,64}"
            .prop_filter("the default's own name", |name| name != "instant")
            .prop_filter("a file", |name| !name.ends_with(".toml"))
            .prop_map(Profile::Named),
        "[^\\x00]{0,30}/[^\\x00]{0,30}".prop_map(|name| Profile::File(name.into())),
    ];
    let block_size = prop_oneof![Just(BlockSize::B512), Just(BlockSize::B4096)];
    let controller = prop_oneof![Just(Placement::Inline), Just(Placement::Thread)];
    let names = || proptest::option::of("[^\\x00]{1,30}".prop_map(PathBuf::from));
    let wrappers = (profile, names(), names(), any::<u64>());
    (keeps, block_size, 1_u32..=1024, controller, wrappers).prop_map(
        |(keeps, block_size, namespaces, controller, (profile, fault, log, seed))| {
            let namespaces = match keeps {
                Keeps::File { .. } => 1,
                _ => namespaces,
            };
            Uri::Emulated(Emulated {
                keeps,
                block_size,
                namespaces,
                profile,
                controller,
                fault,
                log,
                seed,
            })
        },
    )
}

fn devices() -> impl Strategy<Value = Uri> {
    let host = prop_oneof![
        "[a-z0-9.-]{1,32}",
        any::<u128>().prop_map(|bits| core::net::Ipv6Addr::from(bits).to_string()),
    ];
    let nvme_tcp = (host, 1_u16.., "[^\\x00]{1,50}")
        .prop_map(|(host, port, nqn)| Uri::NvmeTcp(NvmeTcp { host, port, nqn }));
    let pci = (any::<u16>(), any::<u8>(), 0_u8..32, 0_u8..8).prop_map(
        |(domain, bus, device, function)| {
            Uri::Pci(PciAddress {
                domain,
                bus,
                device,
                function,
            })
        },
    );
    let socket =
        bytes_of_a_path().prop_map(|bytes| Uri::VfioUser(PathBuf::from(OsString::from_vec(bytes))));
    prop_oneof![emulated_devices(), nvme_tcp, pci, socket]
}

proptest! {
    #[test]
    fn a_device_that_is_shown_reads_back(uri in devices()) {
        prop_assert_eq!(Uri::parse(&uri.to_string()), Ok(uri));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        let _ = Uri::parse(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn no_text_after_a_kind_makes_the_parser_panic(
        text in "(ram|null|file|vfio-user|nvme-tcp|pci):(\\PC{0,8}|//\\PC{0,8}|1G)(\\?(lba|ns|memory|\\PC)=\\PC{0,4}(&\\PC{0,8}){0,3})?"
    ) {
        let parsed = Uri::parse(&text);
        if let Ok(uri) = parsed {
            prop_assert_eq!(Uri::parse(&uri.to_string()), Ok(uri));
        }
    }
}

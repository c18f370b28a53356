//! The first message: what both sides can do.

use serde_json::{Value, json};
use spec::vfio_user::Version;
use spec::vfio_user::limits::{DATA_BYTES_MAX, FDS_MAX};
use spec::vfio_user::version::{MAJOR, MINOR};

use crate::limits::DMA_MAPS_MAX;

/// What was agreed with the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) minor: u16,
    /// Descriptors that the client takes in one message.
    pub(super) fds_max: usize,
}

/// Our answer to a client's VERSION, and what is agreed by it; nothing if its major version is not ours.
///
/// A client without version data is answered without them: SPDK's reads into a buffer of fixed size. QEMU wants a reply no
/// longer than its request, so what it did not name is left out.
pub(super) fn answer(request: &Version<'_>) -> Option<(Agreed, String)> {
    if request.major != MAJOR {
        return None;
    }
    let theirs: Value = serde_json::from_str(request.json).unwrap_or(Value::Null);
    let capabilities = theirs.get("capabilities").and_then(Value::as_object);
    let named = |key: &str| {
        capabilities
            .and_then(|all| all.get(key))
            .and_then(Value::as_u64)
    };
    let fds_max = named("max_msg_fds").unwrap_or(1).min(FDS_MAX as u64);
    let mut ours = serde_json::Map::new();
    let offers = [
        ("max_msg_fds", fds_max),
        ("max_data_xfer_size", u64::from(DATA_BYTES_MAX)),
        ("max_dma_maps", DMA_MAPS_MAX as u64),
    ];
    for (key, most) in offers {
        if let Some(found) = named(key) {
            ours.insert(key.into(), json!(found.min(most)));
        }
    }
    let json = match capabilities {
        Some(_) => json!({ "capabilities": ours }).to_string(),
        None => String::new(),
    };
    let agreed = Agreed {
        minor: request.minor.min(MINOR),
        fds_max: (fds_max as usize).max(1),
    };
    Some((agreed, json))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(minor: u16, json: &str) -> Option<(Agreed, String)> {
        let major = 0;
        answer(&Version { major, minor, json })
    }

    #[test]
    fn the_smaller_of_both_sides_is_agreed_in_no_more_bytes_than_were_asked() {
        let qemu = r#"{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576,"pgsizes":4096,"max_dma_maps":65535}}"#;
        let (agreed, json) = ask(0, qemu).unwrap();
        assert_eq!((agreed.minor, agreed.fds_max), (0, 8));
        assert!(json.len() <= qemu.len(), "{json}");
        let (agreed, json) = ask(9, r#"{"capabilities":{"max_msg_fds":900}}"#).unwrap();
        assert_eq!((agreed.minor, agreed.fds_max), (2, 16));
        assert_eq!(json, r#"{"capabilities":{"max_msg_fds":16}}"#);
    }

    #[test]
    fn a_client_that_says_nothing_or_nonsense_hears_nothing_back() {
        for text in ["", "{", "[]", r#"{"x":1}"#, r#"{"capabilities":7}"#] {
            let (agreed, json) = ask(1, text).unwrap();
            assert_eq!((agreed.minor, agreed.fds_max, json.as_str()), (1, 1, ""));
        }
        let wrong = r#"{"capabilities":{"max_msg_fds":-1,"max_dma_maps":"many"}}"#;
        assert_eq!(ask(0, wrong).unwrap().1, r#"{"capabilities":{}}"#);
    }

    #[test]
    fn another_major_version_is_none_of_ours() {
        let json = "";
        assert!(
            answer(&Version {
                major: 1,
                minor: 0,
                json
            })
            .is_none()
        );
    }
}

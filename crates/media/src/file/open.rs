//! Opening: locked, measured, past the page cache if that can be.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use mem::RegionError;
use rustix::fs::OFlags;
use spec::BlockCount;

use super::slots::{SMALL_BYTES, Slots};
use super::watch::Watch;
use super::{FileMedia, Geometry, Uring, direct, lock};
use crate::BlockSize;

/// Whether to go past the page cache (O_DIRECT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// If it is exact for the logical block size; otherwise through the page cache, which is logged and which
    /// [`FileMedia::is_direct`] tells.
    #[default]
    Auto,
    /// Or not at all.
    Always,
    /// Through the page cache: figures are then the cache's, not the disk's.
    Never,
}

/// How to open a file.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// The size of a logical block.
    pub block_size: BlockSize,
    /// The file's size in bytes. A file that is not there, or is empty, is made so long, without storage behind it; one of
    /// another size is refused. Without it, the file has to be there.
    pub size: Option<u64>,
    /// Whether to go past the page cache.
    pub direct: Direct,
}

impl FileOptions {
    /// An existing file, past the page cache if that can be.
    pub const fn new(block_size: BlockSize) -> Self {
        Self {
            block_size,
            size: None,
            direct: Direct::Auto,
        }
    }
}

impl FileOptions {
    /// Bytes that a file would have once it is open. Nothing is made or changed for that, nor is it known whether somebody else
    /// uses the file.
    ///
    /// # Errors
    /// As those of [`FileMedia::open`], as far as they can be known by looking.
    pub fn look(&self, path: &Path) -> Result<u64, FileError> {
        let system = |doing| {
            move |found| FileError::System {
                path: path.to_owned(),
                doing,
                found,
            }
        };
        let bytes = match (std::fs::metadata(path), self.size) {
            (Err(error), Some(wanted)) if error.kind() == io::ErrorKind::NotFound => wanted,
            (Err(error), _) => return Err(system("open it for reading and writing")(error)),
            (Ok(found), wanted) => {
                let length = if check_kind(path, &found)?.is_block_device() {
                    // A block device's length is where its end is.
                    let end = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
                    end.map_err(system("find its size"))?
                } else {
                    found.len()
                };
                wanted.filter(|_| length == 0).unwrap_or(length)
            }
        };
        self.check_size(path, bytes)?;
        Ok(bytes)
    }

    /// Refuses a size that is not the one asked for, or no whole number of blocks.
    fn check_size(&self, path: &Path, found: u64) -> Result<(), FileError> {
        let block_bytes = self.block_size.bytes();
        if let Some(wanted) = self.size.filter(|&wanted| wanted != found) {
            return Err(FileError::OtherSize {
                path: path.to_owned(),
                wanted,
                found,
            });
        }
        if found > 0 && found.is_multiple_of(block_bytes) && i64::try_from(found).is_ok() {
            return Ok(());
        }
        Err(FileError::Size {
            path: path.to_owned(),
            found,
            block_bytes,
        })
    }
}

/// Why file media could not be opened. The system's words are part of ours, so there is no source to print them again.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("{}: wanted to {doing}, found: {found}{}", path.display(), hint_text(doing, found))]
    System {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The system's answer.
        found: io::Error,
    },
    /// Neither a regular file nor a block device.
    #[error(
        "{}: wanted a regular file or a block device, found {found}; name one of these, or a path that does not exist together with a size",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Somebody else uses it.
    #[error("{}: wanted it for ourselves, found it in use by {}; stop that first, or use another file", path.display(), holder_text(*holder))]
    InUse {
        /// The file.
        path: PathBuf,
        /// The process that holds it, if that is known.
        holder: Option<u32>,
    },
    /// Not a whole number of blocks.
    #[error(
        "{}: wanted at least one logical block of {block_bytes} bytes and no part of one, found {found} bytes; \
         give the file a size that is a multiple of {block_bytes} (truncate -s), or choose another block size",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
        /// Bytes of a logical block.
        block_bytes: u64,
    },
    /// The file has another size than was asked for.
    #[error(
        "{}: wanted {wanted} bytes, found {found}; leave the size out to take the file as it is, or name a file that does not exist",
        path.display()
    )]
    OtherSize {
        /// The file.
        path: PathBuf,
        /// Bytes asked for.
        wanted: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// The page cache cannot be passed.
    #[error("{}: wanted direct I/O in blocks of {block_bytes} bytes, found that {reason}; choose Direct::Auto, another block size or another file system", path.display())]
    NotDirect {
        /// The file.
        path: PathBuf,
        /// Bytes of a logical block.
        block_bytes: u64,
        /// Why not.
        reason: String,
    },
    /// No io_uring.
    #[error(
        "{}: wanted an io_uring (Linux 5.19 or later), found: {found}; see /proc/sys/kernel/io_uring_disabled (0 allows it), \
         and in a container its seccomp profile",
        path.display()
    )]
    IoUring {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        found: io::Error,
    },
    /// No memory for the slots.
    #[error("{}: {found}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// What was missing.
        found: RegionError,
    },
}

/// What is done with a file that may have to be made.
const OPEN_OR_MAKE: &str = "open or make it";

fn hint_text(doing: &str, found: &io::Error) -> &'static str {
    match found.kind() {
        io::ErrorKind::NotFound if doing == OPEN_OR_MAKE => "; its folder has to be there",
        io::ErrorKind::NotFound => {
            "; name one that is there, or say its size, with which it is made (size=10G in a device's address)"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; a drive is written to, so it wants a file that we may write"
        }
        _ => "",
    }
}

fn holder_text(holder: Option<u32>) -> String {
    match holder {
        Some(process) if process == std::process::id() => {
            format!("process {process}, this very one, which has it open already")
        }
        Some(process) => format!("process {process}"),
        None => "another process, or mounted".to_owned(),
    }
}

impl FileMedia<Uring> {
    /// Opens a file or block device, for this medium alone.
    ///
    /// # Errors
    /// [`FileError`], which says what to do. The file is as it was, but that one of no length may have got the size asked for;
    /// one that was not there is not there then.
    pub fn open(path: impl AsRef<Path>, options: FileOptions) -> Result<Self, FileError> {
        let path = path.as_ref();
        let mut made = false;
        let opened = Self::open_or_make(path, options, &mut made);
        match &opened {
            // Who holds it was quicker than we with a file of no length, and has it now.
            Err(FileError::InUse { .. }) | Ok(_) => {}
            Err(_) if made => {
                let _ = std::fs::remove_file(path); // somebody may have been faster
            }
            Err(_) => {}
        }
        opened
    }

    /// Opens the file, and says as soon as it is known whether it was made for that.
    fn open_or_make(path: &Path, options: FileOptions, made: &mut bool) -> Result<Self, FileError> {
        let block_bytes = options.block_size.bytes();
        let (file, bytes) = open_sized(path, &options, made)?;
        let direct = match options.direct {
            Direct::Never => false,
            Direct::Auto | Direct::Always => {
                match direct::turn_on(&file, options.block_size, bytes) {
                    Ok(()) => true,
                    Err(reason) if options.direct == Direct::Always => {
                        return Err(FileError::NotDirect {
                            path: path.to_owned(),
                            block_bytes,
                            reason,
                        });
                    }
                    Err(reason) => {
                        tracing::warn!(
                            "{}: goes through the page cache, since {reason}; figures are the cache's",
                            path.display()
                        );
                        false
                    }
                }
            }
        };
        let slots = Slots::new().map_err(|found| FileError::Memory {
            path: path.to_owned(),
            found,
        })?;
        let watch = Watch::new(&file, path, bytes);
        let uring =
            Uring::new(file, slots.memory(), SMALL_BYTES).map_err(|found| FileError::IoUring {
                path: path.to_owned(),
                found,
            })?;
        let geometry = Geometry {
            block_size: options.block_size,
            blocks: BlockCount::new(bytes / block_bytes),
            durable_writes: direct,
            path: path.to_owned(),
        };
        let mut media = Self::with(geometry, slots, uring);
        media.watch = watch;
        media.made = *made;
        Ok(media)
    }

    /// Whether the file was not there and has been made.
    pub fn was_made(&self) -> bool {
        self.made
    }

    /// Whether I/O goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.geometry.durable_writes
    }
}

/// Opens and locks the file and finds its size, having given it one if that is asked for.
fn open_sized(
    path: &Path,
    options: &FileOptions,
    made: &mut bool,
) -> Result<(File, u64), FileError> {
    if let Some(wanted) = options.size {
        options.check_size(path, wanted)?;
    }
    let file = open_locked(path, options.size.is_some(), made)?;
    let system = |doing| {
        move |found| FileError::System {
            path: path.to_owned(),
            doing,
            found,
        }
    };
    // A block device's length is where its end is.
    let mut found = (&file)
        .seek(SeekFrom::End(0))
        .map_err(system("find its size"))?;
    if let Some(wanted) = options.size.filter(|_| found == 0) {
        file.set_len(wanted).map_err(system("give it its size"))?;
        make_lasting(path, &file).map_err(system("make it last"))?;
        found = wanted;
    }
    options.check_size(path, found)?;
    Ok((file, found))
}

/// A new file survives a loss of power only with its name.
fn make_lasting(path: &Path, file: &File) -> io::Result<()> {
    file.sync_all()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

/// Opens the file so that nobody else does.
fn open_locked(path: &Path, create: bool, made: &mut bool) -> Result<File, FileError> {
    let system = |doing| {
        move |found| FileError::System {
            path: path.to_owned(),
            doing,
            found,
        }
    };
    let in_use = |holder| FileError::InUse {
        path: path.to_owned(),
        holder,
    };
    let mut how = OpenOptions::new();
    how.read(true).write(true).truncate(false);
    let file = match std::fs::metadata(path) {
        // Opening some kinds does something, so they are looked at before.
        Ok(metadata) if check_kind(path, &metadata)?.is_block_device() => {
            // Keeps mounts and other exclusive openers away.
            how.custom_flags(OFlags::EXCL.bits().cast_signed());
            let open = || match how.open(path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(None),
                opened => opened.map(Some),
            };
            lock::get(&metadata, open).map(|opened| opened.map_err(in_use))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound || !create => Err(error),
        _ => open_or_create(how, path, create, made).map(Ok),
    };
    let doing = if create {
        OPEN_OR_MAKE
    } else {
        "open it for reading and writing"
    };
    let file = file.map_err(system(doing))??;
    let metadata = file.metadata().map_err(system("look at it"))?;
    check_kind(path, &metadata)?;
    let locked = lock::get(&metadata, || lock::lock(&file)).map_err(system("lock it"))?;
    locked.map_err(in_use)?;
    Ok(file)
}

/// Opens the file, or makes it where that is allowed and it is not there.
fn open_or_create(
    mut how: OpenOptions,
    path: &Path,
    create: bool,
    made: &mut bool,
) -> io::Result<File> {
    match how.open(path) {
        Err(error) if create && error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match how.clone().create_new(true).open(path) {
        // Somebody was faster, or it is a link to what is not there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => how.create(true).open(path),
        opened => {
            *made = opened.is_ok();
            opened
        }
    }
}

/// Whether blocks can be kept there.
fn check_kind(path: &Path, metadata: &Metadata) -> Result<FileType, FileError> {
    let kind = metadata.file_type();
    let found = if kind.is_dir() {
        "a directory"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        return Ok(kind);
    };
    Err(FileError::Kind {
        path: path.to_owned(),
        found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_this_process_has_open_already_is_said_to_be_its_own() {
        let own = holder_text(Some(std::process::id()));
        assert!(own.contains("this very one"), "{own}");
        assert_eq!(holder_text(Some(1)), "process 1");
    }

    #[test]
    fn looking_at_a_file_makes_none_and_finds_what_opening_would() {
        let path = std::env::temp_dir().join(format!("dpe-look-{}", std::process::id()));
        let sized = |size| FileOptions {
            size,
            ..FileOptions::new(BlockSize::B512)
        };
        assert_eq!(sized(Some(4096)).look(&path).ok(), Some(4096));
        assert!(sized(None).look(&path).is_err());
        assert!(matches!(
            sized(Some(4097)).look(&path),
            Err(FileError::Size { found: 4097, .. })
        ));
        assert!(!path.exists());
        std::fs::write(&path, [0; 1024]).expect("a file");
        assert_eq!(sized(None).look(&path).ok(), Some(1024));
        assert!(matches!(
            sized(Some(4096)).look(&path),
            Err(FileError::OtherSize { found: 1024, .. })
        ));
        std::fs::remove_file(&path).expect("it is ours");
        assert!(matches!(
            sized(None).look(Path::new("/dev/null")),
            Err(FileError::Kind { .. })
        ));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_not_left_behind_if_it_was_made_for_that() {
        let path = std::env::temp_dir().join(format!("dpe-made-{}", std::process::id()));
        // Longer than a file system allows, and still a length.
        let options = FileOptions {
            size: Some(i64::MAX as u64 / 4096 * 4096),
            ..FileOptions::new(BlockSize::B4096)
        };
        if FileMedia::open(&path, options).is_err() {
            assert!(!path.exists());
            std::fs::write(&path, b"").expect("a file");
            assert!(FileMedia::open(&path, options).is_err());
            assert!(path.exists(), "that one was there before");
        }
        std::fs::remove_file(&path).expect("it is ours");
    }
}

//! The FUSE door: each namespace a file that behaves as a block device does.
//!
//! What a program sees, beside reads and writes at any offset and of any length:
//!
//! | what | answer |
//! | --- | --- |
//! | read at or behind the end | 0 bytes |
//! | write over the end | up to the end; at the end and behind it `ENOSPC` |
//! | fsync, fdatasync | one NVMe Flush each; a write with `O_DSYNC` or `RWF_DSYNC` is a Write with FUA |
//! | close | nothing: it makes nothing durable, as anywhere |
//! | open with `O_TRUNC` | no effect; nor has truncate by name to 0, which the kernel does not tell from it |
//! | ftruncate, truncate | to the same size nothing, else `EINVAL` |
//! | fallocate within the file | nothing; behind the end `ENOSPC` |
//! | fallocate, punch a hole | Deallocate, and zeros; Write Zeroes where the namespace does not promise zeros |
//! | fallocate, zero a range | Write Zeroes |
//! | unlink | the name is gone until the next mount; open files go on |
//! | chmod, chown, utimens | remembered until the unmount |
//! | any other file | cannot be made: `EPERM` |
//! | an error of the controller's | [`crate::errno`]; `EIO` when it failed or does not answer |
//! | while the mount ends | `ENODEV` |
//! | after its end, through a file that is still open | `ECONNABORTED` or `ENOTCONN`, which the kernel says |

mod answer;
mod door;
mod files;
mod mount;
mod owner;
mod patience;
mod session;
mod turns;

pub use door::OPENED;
pub use mount::{Mount, MountError};
pub use session::{MountOptions, negotiate};

//! A lab file from the file system.

use std::path::Path;

use super::{Lab, LabError};
use crate::files;
use crate::limits;

impl Lab {
    /// Reads a lab file. Relative paths in it count from its directory.
    ///
    /// # Errors
    /// Everything that is wrong with it, with the file, the line, the key and what is allowed.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        match Self::load_all(path) {
            (lab, None) => Ok(lab),
            (_, Some(error)) => Err(error),
        }
    }

    /// As [`load`](Self::load), with what is right in a file of which some is wrong.
    pub(crate) fn load_all(path: &Path) -> (Self, Option<LabError>) {
        let text = match files::text(path, limits::LAB_FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(unreadable) => {
                let reason = unreadable.sentence("a lab file");
                return (Self::empty(), Some(LabError::unreadable(path, reason)));
            }
        };
        let (mut lab, error) = Self::parse_all(&text);
        let home = path.parent().unwrap_or(Path::new(""));
        if let Some(mount) = &mut lab.mount {
            mount.path = home.join(&mount.path);
        }
        for line in &mut lab.namespaces {
            line.device.resolve_paths(home);
        }
        let pages = [&mut lab.telemetry.v1, &mut lab.telemetry.v2];
        for page in pages.into_iter().flatten() {
            if page.as_os_str() != super::NO_TELEMETRY {
                *page = home.join(&*page);
            }
        }
        lab.file = Some(path.to_owned());
        (lab, error.map(|error| error.in_file(path)))
    }
}

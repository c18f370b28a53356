//! A lab file from the file system.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::{Lab, LabError};
use crate::limits;

impl Lab {
    /// Reads a lab file. Relative paths in it count from its directory.
    ///
    /// # Errors
    /// What is wrong with it, with the file, the line, the key and what is allowed.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        let text = read(path)?;
        let mut lab = Self::parse(&text).map_err(|error| error.in_file(path))?;
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
        Ok(lab)
    }
}

/// The text of a lab file.
fn read(path: &Path) -> Result<String, LabError> {
    let unreadable = |reason: String| LabError::unreadable(path, reason);
    let mut text = String::new();
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut file = file.take(limits::LAB_FILE_BYTES_MAX + 1);
    file.read_to_string(&mut text)
        .map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > limits::LAB_FILE_BYTES_MAX {
        let most = limits::LAB_FILE_BYTES_MAX;
        return Err(unreadable(format!("it is longer than {most} bytes")));
    }
    Ok(text)
}

//! The demo's first step: a real file goes into the drive and comes back.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use driver::{BlockDevice, BlockOptions, Device};
use local::Inline;
use spec::NamespaceId;

use crate::failure::Failure;
use crate::limits;

/// Where on the drive the file begins: off every block's and every page's edge, so that the driver's handling of unaligned
/// edges is part of it.
const OFFSET: u64 = 4097;

/// A file that is to go into the drive.
#[derive(Debug)]
pub(super) struct Original {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Original {
    /// Reads the named file, or this program's own.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => std::env::current_exe()
                .context("wanted this program's own file; name another with --file")
                .map_err(Failure::environment)?,
        };
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| {
                file.take(limits::DEMO_FILE_BYTES_MAX)
                    .read_to_end(&mut bytes)
            })
            .with_context(|| {
                let path = path.display();
                format!("wanted to read {path}; name another file with --file")
            })
            .map_err(Failure::environment)?;
        Ok(Self { path, bytes })
    }

    /// Sends it to the drive and back; gives the drive back and says how it went.
    pub(super) fn round_trip(
        &self,
        device: Device<Inline>,
    ) -> Result<(Device<Inline>, String), Failure> {
        let mut blocks = BlockDevice::open(device, NamespaceId::new(1), BlockOptions::default())
            .context("wanted the block layer on namespace 1")
            .map_err(Failure::environment)?;
        let failed = |what: &'static str| move |error| Failure::Short(anyhow!("{what}: {error}"));
        blocks
            .write_at(OFFSET, &self.bytes)
            .map_err(failed("writing the file into the drive"))?;
        blocks.flush().map_err(failed("flushing the drive"))?;
        let mut copy = vec![0; self.bytes.len()];
        blocks
            .read_at(OFFSET, &mut copy)
            .map_err(failed("reading the file back"))?;
        if let Some(at) = self.bytes.iter().zip(&copy).position(|(a, b)| a != b) {
            return Err(Failure::Short(anyhow!(
                "{} came back different: byte {at}: wanted {:#04x}, found {:#04x}",
                self.path.display(),
                self.bytes[at],
                copy[at]
            )));
        }
        let device = blocks
            .close()
            .context("wanted the drive back from the block layer")
            .map_err(Failure::environment)?;
        let said = format!(
            "{}: {} bytes written at byte {OFFSET} of the drive, read back, all equal",
            self.path.display(),
            self.bytes.len()
        );
        Ok((device, said))
    }
}

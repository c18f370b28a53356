//! Which libraries a binary asks for, and hence on which Debian packages it depends.

use anyhow::{Context, Result, bail};
use std::path::Path;

use crate::process::Run;

/// Libraries and the packages that bring them, the same on all machines of a release.
const PACKAGES: [(&str, &str); 5] = [
    ("libc.so.6", "libc6"),
    ("libm.so.6", "libc6"),
    ("ld-linux-x86-64.so.2", "libc6"),
    ("ld-linux-aarch64.so.1", "libc6"),
    ("libgcc_s.so.1", "libgcc-s1"),
];

/// The value of `Depends` for a binary of any machine.
///
/// # Errors
/// When readelf is missing, or a library is needed whose package is not known.
pub(super) fn depends(binary: &Path) -> Result<String> {
    let printed = Run::new("readelf")
        .args(["--dynamic", "--version-info", "--wide"])
        .arg(binary)
        .env("LC_ALL", "C")
        .capture()
        .context("readelf, of binutils, says what a binary needs")?;
    depends_of(&printed)
}

fn depends_of(printed: &str) -> Result<String> {
    let mut packages = Vec::new();
    for library in printed.lines().filter_map(needed) {
        match PACKAGES.iter().find(|(name, _)| *name == library) {
            Some((_, package)) if packages.contains(package) => {}
            Some((_, package)) => packages.push(*package),
            None => bail!("the binary needs {library}: add its Debian package to dist/elf.rs"),
        }
    }
    packages.sort_unstable();
    let newest = printed.lines().filter_map(glibc_version).max();
    let with_version = packages.iter().map(|&package| match newest {
        Some((major, minor)) if package == "libc6" => format!("libc6 (>= {major}.{minor})"),
        _ => package.to_owned(),
    });
    Ok(with_version.collect::<Vec<_>>().join(", "))
}

/// ` 0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]`
fn needed(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("(NEEDED)")?;
    rest.split_once('[')?
        .1
        .split_once(']')
        .map(|(name, _)| name)
}

/// `  0x0010:   Name: GLIBC_2.29  Flags: none  Version: 5`
fn glibc_version(line: &str) -> Option<(u32, u32)> {
    let version = line
        .split_once("Name: GLIBC_")?
        .1
        .split_whitespace()
        .next()?;
    let (major, minor) = version.split_once('.')?;
    // 2.2.5 is the oldest of x86-64: its third number never decides.
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0030:   Name: GCC_3.3  Flags: none  Version: 9
  0x0060: Version: 1  File: libc.so.6  Cnt: 9
  0x0070:   Name: GLIBC_2.9  Flags: none  Version: 14
  0x00e0:   Name: GLIBC_2.34  Flags: none  Version: 6
  0x00f0:   Name: GLIBC_2.2.5  Flags: none  Version: 4
";

    #[test]
    fn each_package_is_named_once_and_the_c_library_with_the_newest_version_asked_for() {
        assert_eq!(depends_of(PRINTED).unwrap(), "libc6 (>= 2.34), libgcc-s1");
    }

    #[test]
    fn a_library_without_a_known_package_is_refused() {
        let line = " 0x1 (NEEDED)  Shared library: [libfuse3.so.3]\n";
        let error = depends_of(line).unwrap_err().to_string();
        assert!(error.contains("libfuse3.so.3"), "{error}");
    }

    #[test]
    fn a_static_binary_depends_on_nothing() {
        assert_eq!(depends_of("There is no dynamic section\n").unwrap(), "");
    }
}

//! The kernel's list of mounts, `/proc/PID/mountinfo`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownMount {
    pub(crate) id: u64,
    /// The file system's number.
    pub(crate) device: String,
    /// The directory or file of the file system that is mounted.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) is_read_only: bool,
    pub(crate) filesystem: String,
}

/// The mounts that a process sees; `self` is this one.
pub(crate) fn known_mounts(process: &str) -> Result<Vec<KnownMount>, String> {
    let path = Path::new("/proc").join(process).join("mountinfo");
    let text =
        std::fs::read(path).map_err(|error| format!("listing the mounts failed: {error}"))?;
    let lines = text.split(|byte| *byte == b'\n');
    let mounts = lines.filter(|line| !line.is_empty()).map(known_mount);
    let mounts: Option<Vec<KnownMount>> = mounts.collect();
    mounts.ok_or_else(|| "the list of mounts cannot be read".to_owned())
}

fn known_mount(line: &[u8]) -> Option<KnownMount> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let mut fields = line.split(|byte| *byte == b' ');
    let id = text(fields.next()?).parse().ok()?;
    let device = text(fields.nth(1)?);
    let root = unescaped(fields.next()?);
    let point = unescaped(fields.next()?);
    let options = fields.next()?;
    let mut options = options.split(|byte| *byte == b',');
    let is_read_only = options.any(|option| option == b"ro");
    // Optional fields follow, and then a dash.
    let filesystem = text(fields.skip_while(|field| *field != b"-").nth(1)?);
    Some(KnownMount {
        id,
        device,
        root,
        point,
        is_read_only,
        filesystem,
    })
}

/// The kernel writes spaces and the like as three octal digits after a backslash.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, others)) = rest.split_first() {
        let code = others.get(..3).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match code {
            Some(code) if *first == b'\\' => {
                bytes.push(code);
                rest = &others[3..];
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402\134x rw,noatime master:1 - ext3 /dev/root ro";
        let mount = known_mount(line).unwrap();
        let expected = KnownMount {
            id: 36,
            device: "98:0".to_owned(),
            root: PathBuf::from("/mnt1"),
            point: PathBuf::from(r"/mnt 2\x"),
            is_read_only: false,
            filesystem: "ext3".to_owned(),
        };
        assert_eq!(mount, expected);
        assert_eq!(known_mount(b"36 35"), None);
    }
}

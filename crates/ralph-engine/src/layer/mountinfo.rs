//! The mounts that this process sees, as the kernel lists them.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const MOUNTS: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// The file system, as `major:minor`.
    pub(crate) device: String,
    /// The folder of the file system that is shown.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) kind: String,
}

/// Reads the mounts, in the order in which they were made.
pub(crate) fn read_mounts() -> io::Result<Vec<MountEntry>> {
    Ok(parse_mounts(&std::fs::read(MOUNTS)?))
}

/// The places below a folder where something is mounted, outer ones first.
pub(crate) fn mount_points_below(folder: &Path) -> Vec<PathBuf> {
    let mounts = read_mounts().unwrap_or_default().into_iter();
    let mut points: Vec<PathBuf> = mounts
        .map(|mount| mount.point)
        .filter(|point| point.starts_with(folder) && point != folder)
        .collect();
    points.sort();
    points.dedup();
    points
}

pub(super) fn parse_mounts(text: &[u8]) -> Vec<MountEntry> {
    text.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&byte| byte == b' ');
    let device = String::from_utf8(fields.nth(2)?.to_vec()).ok()?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(MountEntry {
        device,
        root,
        point,
        kind: String::from_utf8_lossy(kind).into_owned(),
    })
}

/// Space, tab, newline and backslash are written as `\040` and so on.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'\\', [a @ b'0'..=b'7', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                let value =
                    (u32::from(a - b'0') << 6) + (u32::from(b - b'0') << 3) + u32::from(c - b'0');
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
                tail
            }
            (byte, tail) => {
                bytes.push(*byte);
                tail
            }
        };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The mount that a path is on: the last of those with the longest way to it.
pub(super) fn mount_of<'a>(mounts: &'a [MountEntry], path: &Path) -> Option<&'a MountEntry> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_odd_paths_and_optional_fields() {
        let text = b"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            36 22 98:0 /a\\040b /mnt\\0111\\134x rw,noatime master:1 shared:7 - tmpfs none rw\n\nodd\n";
        let mounts = parse_mounts(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[1].device, "98:0");
        assert_eq!(mounts[1].root, Path::new("/a b"));
        assert_eq!(mounts[1].point, Path::new("/mnt\t1\\x"));
        assert_eq!(mounts[1].kind, "tmpfs");
        let found = mount_of(&mounts, Path::new("/mnt\t1\\x/y")).unwrap();
        assert_eq!(found.kind, "tmpfs");
        assert_eq!(mount_of(&mounts, Path::new("/home")).unwrap().kind, "ext4");
    }
}

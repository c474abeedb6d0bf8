//! A task file's bytes, a large one in parts side by side.
//!
//! Of reading a large file most is fresh memory being made, which one thread does no faster than
//! the disk's cache allows. Gives what was there at one moment only as far as any read does: whoever
//! asks has taken the stamp before.

use std::{fs::File, io, num::NonZeroUsize, os::unix::fs::FileExt as _, path::Path};

use crate::plain_file;

/// Below this size a part is not worth a thread.
const SMALLEST_PART: usize = 1024 * 1024;

pub(super) fn read(path: &Path, threads: NonZeroUsize) -> io::Result<Vec<u8>> {
    let file = plain_file::open(path)?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let parts = threads.get().min(size / SMALLEST_PART);
    if parts > 1
        && let Ok(bytes) = read_parts(&file, size, parts)
    {
        return Ok(bytes);
    }
    plain_file::read(path)
}

/// An error also where the file is no longer as long as it was.
fn read_parts(file: &File, size: usize, parts: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let part = size.div_ceil(parts);
    std::thread::scope(|scope| {
        let mut others = Vec::with_capacity(parts);
        let mut chunks = bytes.chunks_mut(part).zip((0_u64..).step_by(part));
        let first = chunks.next();
        for (chunk, at) in chunks {
            others.push(scope.spawn(move || file.read_exact_at(chunk, at)));
        }
        if let Some((chunk, at)) = first {
            file.read_exact_at(chunk, at)?;
        }
        for other in others {
            other.join().map_err(|_| io::ErrorKind::Other)??;
        }
        io::Result::Ok(())
    })?;
    match file.read_at(&mut [0], size as u64)? {
        0 => Ok(bytes),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_the_same_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let mut text = String::new();
        for n in 0..500_000 {
            text.push_str(&format!("{n}\n"));
        }
        std::fs::write(&path, &text).unwrap();
        for threads in [1, 2, 3] {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert!(read(&path, threads).unwrap() == text.as_bytes());
        }
    }

    #[test]
    fn a_file_that_grew_or_shrank_is_not_taken_for_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        let file = File::open(&path).unwrap();
        assert!(read_parts(&file, 9, 2).is_err());
        assert!(read_parts(&file, 11, 2).is_err());
        assert_eq!(read_parts(&file, 10, 2).unwrap(), b"0123456789");
    }
}

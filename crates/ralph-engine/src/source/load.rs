//! A task file's bytes, a large one in parts side by side.
//!
//! Of reading a large file most is fresh memory being made, which one thread does no faster than
//! the disk's cache allows. Gives what was there at one moment only as far as any read does: whoever
//! asks has taken the stamp before.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use ralph_core::task::format::{Crew as _, Job};

use super::threads::Threads;
use crate::plain_file;

/// Below this size a part is not worth a thread.
const SMALLEST_PART: usize = 1024 * 1024;

pub(super) fn read(path: &Path, crew: Threads) -> io::Result<Vec<u8>> {
    let file = plain_file::open(path)?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let parts = crew.size().min(size / SMALLEST_PART);
    if parts > 1
        && let Ok(bytes) = read_parts(&file, size, parts, crew)
    {
        return Ok(bytes);
    }
    plain_file::read(path)
}

/// An error also where the file is no longer as long as it was.
fn read_parts(file: &File, size: usize, parts: usize, crew: Threads) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let part = size.div_ceil(parts);
    // What no hand could be found for stays unread, and is an error.
    let unread = |_| Err(io::ErrorKind::WouldBlock.into());
    let mut read: Vec<io::Result<()>> = bytes.chunks(part).map(unread).collect();
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(parts);
    let chunks = bytes.chunks_mut(part).zip((0_u64..).step_by(part));
    for ((chunk, at), read) in chunks.zip(&mut read) {
        jobs.push(Box::new(move || *read = file.read_exact_at(chunk, at)));
    }
    crew.run(jobs);
    read.into_iter().collect::<io::Result<()>>()?;
    match file.read_at(&mut [0], size as u64)? {
        0 => Ok(bytes),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

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
            let crew = Threads(NonZeroUsize::new(threads).unwrap());
            assert!(read(&path, crew).unwrap() == text.as_bytes());
        }
    }

    #[test]
    fn a_file_that_grew_or_shrank_is_not_taken_for_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        let file = File::open(&path).unwrap();
        let crew = Threads(NonZeroUsize::MIN);
        assert!(read_parts(&file, 9, 2, crew).is_err());
        assert!(read_parts(&file, 11, 2, crew).is_err());
        assert_eq!(read_parts(&file, 10, 2, crew).unwrap(), b"0123456789");
    }
}

//! Where the last lines of a file begin. Reads from its end, and no more than it has to.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

const BLOCK: u64 = 64 * 1024;

/// The offset of the first of the last `lines` lines.
pub(crate) fn start_of_tail(file: &mut File, lines: usize) -> io::Result<u64> {
    let size = file.seek(SeekFrom::End(0))?;
    if lines == 0 {
        return Ok(size);
    }
    let mut breaks = 0;
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(end - start).read_to_end(&mut block)?;
        for (at, byte) in block.iter().enumerate().rev() {
            let at = start + at as u64;
            // The end of the last line begins no other.
            if *byte == b'\n' && at + 1 < size {
                breaks += 1;
                if breaks == lines {
                    return Ok(at + 1);
                }
            }
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn start(text: &str, lines: usize) -> u64 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        start_of_tail(&mut file, lines).unwrap()
    }

    #[test]
    fn the_last_lines_begin_behind_the_line_before_them() {
        assert_eq!(start("one\ntwo\nthree\n", 1), 8);
        assert_eq!(start("one\ntwo\nthree", 2), 4);
        assert_eq!(start("one\ntwo\n", 9), 0);
        assert_eq!(start("one\n", 0), 4);
        assert_eq!(start("", 3), 0);
    }

    #[test]
    fn lines_longer_than_a_block_are_found_whole() {
        let long = "x".repeat(200_000);
        assert_eq!(start(&format!("a\n{long}\nb\n"), 2), 2);
    }
}

//! The smallest agent there is, for measuring: reads its prompt, writes one file, claims to be done.
//!
//! `STUB_FLOOD_BYTES` has it print that many bytes first, in lines of `STUB_FLOOD_LINE` bytes; a
//! line of 0 is one without an end. `STUB_WORK_MS` has it take that long, as agents do. Does nothing else, so that what
//! is measured is not itself.

use std::{
    io::{self, Read as _, Write as _},
    time::Duration,
};

fn main() -> io::Result<()> {
    let mut prompt = Vec::new();
    io::stdin().lock().read_to_end(&mut prompt)?;
    let name = std::env::var("RALPH_TASK_ID").unwrap_or_else(|_| std::process::id().to_string());
    if let Some(milliseconds) = number("STUB_WORK_MS") {
        std::thread::sleep(Duration::from_millis(milliseconds as u64));
    }
    std::fs::write(format!("{name}.txt"), format!("{name}\n"))?;
    let mut out = io::stdout().lock();
    if let Some(bytes) = number("STUB_FLOOD_BYTES") {
        flood(&mut out, bytes, number("STUB_FLOOD_LINE").unwrap_or(0))?;
    }
    out.write_all(b"Task complete\n")?;
    out.flush()
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

fn flood(out: &mut impl io::Write, bytes: usize, line: usize) -> io::Result<()> {
    const CHUNK: usize = 1024 * 1024;
    let mut chunk = vec![b'x'; CHUNK];
    if let Some(lines) = CHUNK.checked_div(line) {
        chunk.truncate(lines * line);
        for end in chunk.iter_mut().skip(line - 1).step_by(line) {
            *end = b'\n';
        }
    }
    for _ in 0..bytes.div_ceil(chunk.len()) {
        out.write_all(&chunk)?;
    }
    out.write_all(b"\n")
}

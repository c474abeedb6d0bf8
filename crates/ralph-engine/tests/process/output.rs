//! What comes out of programs that flood, cut lines short or do not read.

use std::path::Path;

use ralph_engine::process::{
    Containment, Ended, LineEnding, LineReader, Output, OutputPipe, Stdin, spawn,
};
use tokio::io::AsyncReadExt;

use crate::support::{LIMIT, shell};

fn best() -> Containment {
    Containment::detect(None).containment
}

#[tokio::test]
async fn a_line_of_100_mb_is_cut_and_the_next_one_is_read() {
    let script = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo next";
    let mut running = spawn(&shell(script, Path::new("/")), best()).unwrap();
    let mut lines = LineReader::new(running.take_stdout().unwrap());
    let line = lines.next_line().await.unwrap().unwrap();
    assert_eq!(line.bytes.len(), 16_777_216);
    assert_eq!(line.dropped, 83_222_784);
    assert!(line.bytes.iter().all(|&b| b == b'x'));
    assert_eq!(lines.next_line().await.unwrap().unwrap().bytes, b"next");
    assert_eq!(lines.next_line().await.unwrap(), None);
    assert_eq!(running.wait().await.unwrap(), Ended::Code(0));
}

#[tokio::test]
async fn nul_and_bad_utf8_pass_and_a_cut_line_is_told() {
    let script = r#"printf 'a\000b\377\n{"type":'; kill -KILL $$"#;
    let mut running = spawn(&shell(script, Path::new("/")), best()).unwrap();
    let mut lines = LineReader::new(running.take_stdout().unwrap());
    assert_eq!(lines.next_line().await.unwrap().unwrap().bytes, b"a\0b\xff");
    let last = lines.next_line().await.unwrap().unwrap();
    assert_eq!(
        (last.bytes, last.ending),
        (&b"{\"type\":"[..], LineEnding::EndOfStream)
    );
    assert_eq!(running.wait().await.unwrap(), Ended::Signal(9));
}

async fn length(mut pipe: OutputPipe) -> (usize, Vec<u8>) {
    let mut end = Vec::new();
    let mut length = 0;
    let mut chunk = vec![0; 65536];
    loop {
        let got = pipe.read(&mut chunk).await.unwrap();
        if got == 0 {
            return (length, end);
        }
        length += got;
        end.extend_from_slice(&chunk[..got]);
        end.drain(..end.len().saturating_sub(9));
    }
}

#[tokio::test]
async fn a_prompt_of_10_mb_to_a_program_that_floods_first_does_not_hang() {
    for containment in crate::support::containments() {
        let script = "head -c 20000000 /dev/zero; wc -c";
        let spec = shell(script, Path::new("/")).stdin(Stdin::Bytes(vec![b'p'; 10_000_000]));
        let mut running = spawn(&spec, containment).unwrap();
        let read = length(running.take_stdout().unwrap());
        let (length, end) = tokio::time::timeout(LIMIT, read)
            .await
            .expect("no deadlock");
        assert_eq!((length, &end[..]), (20_000_009, &b"10000000\n"[..]));
        assert_eq!(running.wait().await.unwrap(), Ended::Code(0));
    }
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_still_ends_well() {
    let spec = shell("exec 0<&-; exit 0", Path::new("/")).stdin(Stdin::Bytes(vec![0; 10_000_000]));
    let mut running = spawn(&spec, best()).unwrap();
    assert_eq!(running.wait().await.unwrap(), Ended::Code(0));
}

#[tokio::test]
async fn merged_output_keeps_its_order() {
    let script = "echo 1; echo 2 >&2; echo 3; echo 4 >&2";
    let spec = shell(script, Path::new("/")).output(Output::Merged);
    let mut running = spawn(&spec, best()).unwrap();
    assert!(running.take_stderr().is_none());
    let mut text = String::new();
    running
        .take_stdout()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(text, "1\n2\n3\n4\n");
}

#[tokio::test]
async fn separate_output_comes_on_two_pipes() {
    let mut running = spawn(&shell("echo out; echo err >&2", Path::new("/")), best()).unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    running
        .take_stdout()
        .unwrap()
        .read_to_string(&mut out)
        .await
        .unwrap();
    running
        .take_stderr()
        .unwrap()
        .read_to_string(&mut err)
        .await
        .unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("out\n", "err\n"));
}

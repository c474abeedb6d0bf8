//! A journal that another process holds: for a while, and for too long.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
};

use super::*;

/// Another process in the middle of a write, until it is told to end that.
struct Writer(Child);

impl Writer {
    fn begin(dir: &Path) -> Self {
        let mut child = Command::new("sqlite3")
            .arg(dir.join("ralph.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sqlite3 is installed");
        let input = child.stdin.as_mut().unwrap();
        writeln!(input, "BEGIN IMMEDIATE; SELECT 'held';").unwrap();
        let mut line = String::new();
        let output = child.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

#[tokio::test]
async fn who_holds_the_journal_for_too_long_is_named_with_the_way_out() {
    let (dir, journal, repository) = journal().await;
    Box::new(journal).close().await.unwrap();
    let writer = Writer::begin(dir.path());
    // Readers do not wait.
    let short = Duration::from_millis(50);
    let mut journal = open_within(dir.path(), short).await.unwrap();
    assert!(journal.has_repository(&repository.0).await.unwrap());
    let (pid, file) = (writer.0.id(), dir.path().join("ralph.db"));
    let why = format!(
        "process {pid} (sqlite3 {file}) holds it: wait for that one, or end it with `kill {pid}`",
        file = file.display()
    );
    let failed = journal
        .set_paused(&"L1".into(), Some(at()))
        .await
        .unwrap_err();
    let expected = format!("the journal {} can't note a pause: {why}", file.display());
    assert_eq!(failed.to_string(), expected);
    let failed = journal
        .begin_iteration(&repository, &start("L1", "I1"))
        .await
        .unwrap_err();
    let expected = format!(
        "the journal {} can't begin an iteration: {why}",
        file.display()
    );
    assert_eq!(failed.to_string(), expected);
    writer.end();
    journal.set_paused(&"L1".into(), Some(at())).await.unwrap();
}

#[tokio::test]
async fn a_write_waits_for_the_one_before_it() {
    let (dir, mut journal, repository) = journal().await;
    let writer = Writer::begin(dir.path());
    let writing = tokio::spawn(async move {
        begin_loop(&mut journal, &repository, "L1").await;
        journal.listed_loop(&"L1".into()).await.unwrap().is_some()
    });
    tokio::task::yield_now().await;
    assert!(!writing.is_finished());
    writer.end();
    assert!(writing.await.unwrap());
}

#[tokio::test]
async fn who_is_in_the_way_of_bringing_a_journal_forward_is_named_too() {
    let dir = tempfile::tempdir().unwrap();
    schema::made_by(dir.path(), 8).await;
    let writer = Writer::begin(dir.path());
    let opened = open_within(dir.path(), Duration::from_millis(50)).await;
    let Err(error) = opened else {
        panic!("it was opened");
    };
    let pid = writer.0.id();
    let text = error.to_string();
    assert!(text.contains("can't be opened: process "), "{text}");
    assert!(
        text.ends_with(&format!("end it with `kill {pid}`")),
        "{text}"
    );
    writer.end();
    open(dir.path()).await.unwrap();
}

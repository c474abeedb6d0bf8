//! `logs --follow`: the log of the iteration that runs, as it grows, and those after it until the
//! loop ends.
//!
//! Only reads. What the journal says is looked at, not the folder: it knows which iteration belongs
//! to this loop and which comes next. An iteration's log is whole before the next one begins, and all
//! of them are before the lock is released.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
    time::Duration,
};

use ralph_core::{sanitize::one_line, termination::Stop};
use ralph_engine::{
    lock::Lock,
    store::{IterationRow, Journal, RepositoryId},
};

use super::{LogKind, log_file, nothing_yet, tail};
use crate::{
    error::CommandError,
    output::{self, Escapes},
    project::Project,
    view::{Tone, paint},
};

/// The pause after a look that found nothing new.
const LOOKS_EVERY: Duration = Duration::from_millis(150);
/// Read at a time, and the longest line that is held back until it is whole.
const CHUNK: usize = 64 * 1024;
/// Iterations that may have begun between two looks.
const MOST_MISSED: u32 = 50;

/// The part of an iteration to follow, and its form.
#[derive(Debug, Clone, Copy)]
pub(super) struct FollowForm {
    pub(super) kind: LogKind,
    pub(super) escapes: Escapes,
    /// Begin with this many of its last lines.
    pub(super) tail: Option<usize>,
}

/// Follows the loop of this worktree to its end.
pub(super) async fn follow(project: &Project, form: FollowForm) -> Result<(), CommandError> {
    let data = project.data_dir()?;
    let is_running = || Lock::is_held(&data, project.root());
    if !is_running() {
        return show_last(project, form).await;
    }
    let mut journal = None;
    let mut at: Option<Followed> = None;
    loop {
        // Asked first: what is written until the lock is released is read below.
        let goes_on = is_running();
        if journal.is_none() {
            // At the very first loop of a repository it is made only now.
            journal = project.journal().await?;
        }
        let found = match &mut journal {
            Some((journal, repository)) => {
                let after = at.as_ref().map(|followed| followed.n);
                next_rows(project, &mut **journal, repository, after).await?
            }
            None => Vec::new(),
        };
        let mut news = false;
        if let Some(followed) = &mut at {
            news |= followed.show_more()?;
        }
        for row in found {
            let first = at.is_none();
            if let Some(mut before) = at.take() {
                before.show_more()?;
                before.show_rest();
            }
            let mut followed = Followed::new(project, &row, form);
            heading(&row);
            if first {
                followed.begin_at_the_tail()?;
            }
            followed.show_more()?;
            at = Some(followed);
            news = true;
        }
        if at.as_ref().is_some_and(|one| one.reader == Reader::Gone) {
            return Ok(());
        }
        if !goes_on {
            if let Some(followed) = &mut at {
                followed.show_rest();
            }
            return say_how_it_ended(project).await;
        }
        if !news {
            tokio::time::sleep(LOOKS_EVERY).await;
        }
    }
}

/// Where nothing runs: says so, and shows the last one.
async fn show_last(project: &Project, form: FollowForm) -> Result<(), CommandError> {
    let last = match project.journal().await? {
        Some((mut journal, repository)) => journal.last_iterations(&repository, 1).await?.pop(),
        None => None,
    };
    let Some(row) = last else {
        return Err(nothing_yet(project));
    };
    output::print_to_stderr("no loop is running here; showing the last iteration\n");
    heading(&row);
    super::print_log(project, row.n, form)
}

/// The iterations of the loop that runs here which are not shown yet, oldest first; where none was,
/// only the newest.
async fn next_rows(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    after: Option<u64>,
) -> Result<Vec<IterationRow>, CommandError> {
    let newest = journal.last_iterations(repository, 1).await?;
    let is_new = |row: &IterationRow| after.is_none_or(|after| row.n > after);
    if !newest.iter().any(is_new) {
        return Ok(Vec::new());
    }
    let Some(this) = journal.last_loop(repository, &project.worktree()).await? else {
        return Ok(Vec::new());
    };
    if this.ended_at.is_some() && after.is_none() {
        // The loop that holds the lock has not begun to write; this one is over.
        return Ok(Vec::new());
    }
    let mut rows = journal.last_iterations(repository, MOST_MISSED).await?;
    rows.retain(|row| row.loop_id == this.id && is_new(row));
    if after.is_none() {
        rows.truncate(1);
    }
    rows.reverse();
    Ok(rows)
}

async fn say_how_it_ended(project: &Project) -> Result<(), CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return Ok(());
    };
    let last = journal.last_loop(&repository, &project.worktree()).await?;
    let stop = last.and_then(|row| serde_json::from_str::<Stop>(&row.stop?).ok());
    let why = stop.map_or_else(
        || "the loop's process is gone; `ralph run` continues the loop".to_owned(),
        |stop| format!("the loop ended: {}", one_line(&stop.sentence(), 500)),
    );
    output::print_to_stderr(&format!("\n{why}\n"));
    Ok(())
}

fn heading(row: &IterationRow) {
    let task = one_line(&row.task_id, 120);
    let text = format!("── iteration {}: {task}, attempt {} ──", row.n, row.attempt);
    output::print(&format!("{}\n", paint(Tone::Heading, &text)));
}

/// The log of one iteration, as far as it has been shown.
struct Followed {
    n: u64,
    path: std::path::PathBuf,
    form: FollowForm,
    file: Option<File>,
    /// A line that has no end yet.
    begun: Vec<u8>,
    reader: Reader,
}

/// The state of the reader of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    There,
    Gone,
}

impl Followed {
    fn new(project: &Project, row: &IterationRow, form: FollowForm) -> Self {
        let n = row.n;
        Self {
            n,
            path: log_file(project.root(), n, form.kind),
            form,
            file: None,
            begun: Vec::new(),
            reader: Reader::There,
        }
    }

    /// Leaves out what is before the last lines that were asked for.
    fn begin_at_the_tail(&mut self) -> Result<(), CommandError> {
        let Some(lines) = self.form.tail else {
            return Ok(());
        };
        if let Some(file) = self.open()? {
            let start = tail::start_of_tail(file, lines);
            let seek = start.and_then(|start| file.seek(SeekFrom::Start(start)));
            seek.map_err(|error| unreadable(&self.path, &error))?;
        }
        Ok(())
    }

    /// Shows what has been written since; whether there was anything.
    fn show_more(&mut self) -> Result<bool, CommandError> {
        let mut chunk = vec![0; CHUNK];
        let mut news = false;
        loop {
            let Some(file) = self.open()? else {
                return Ok(news);
            };
            let read = file.read(&mut chunk);
            let read = read.map_err(|error| unreadable(&self.path, &error))?;
            if read == 0 {
                return Ok(news);
            }
            news = true;
            self.begun.extend_from_slice(&chunk[..read]);
            let whole = match self.begun.iter().rposition(|byte| *byte == b'\n') {
                Some(at) => at + 1,
                // A line that never ends is shown in parts.
                None if self.begun.len() >= CHUNK => self.begun.len(),
                None => 0,
            };
            let rest = self.begun.split_off(whole);
            let lines = std::mem::replace(&mut self.begun, rest);
            self.show(&lines);
        }
    }

    /// The text after the last line break.
    fn show_rest(&mut self) {
        let rest = std::mem::take(&mut self.begun);
        self.show(&rest);
    }

    fn show(&mut self, bytes: &[u8]) {
        if output::write(bytes, self.form.escapes).is_err() {
            self.reader = Reader::Gone;
        }
    }

    /// The file, once it is there.
    fn open(&mut self) -> Result<Option<&mut File>, CommandError> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(unreadable(&self.path, &error)),
            }
        }
        Ok(self.file.as_mut())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::user(format!("can't read {}: {error}", path.display()))
}

//! `status --watch`: the same text, kept on the screen and up to date.
//!
//! Looks at the task file and the journal once a second, and reads them again only when they changed.
//! Needs a terminal, and leaves it as it was, whichever way it ends.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_engine::lock::Lock;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

use super::{
    facts::{self, Afterwards},
    show,
};
use crate::{
    error::CommandError,
    output,
    project::Project,
    view::paint::{Tone, paint},
};

const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// The other screen, without a cursor and without wrapping, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

pub(super) async fn watch(project: &Project, source: Option<&Path>) -> Result<(), CommandError> {
    // What is wrong with the project is said on the screen that stays.
    let first = text(project, source).await?;
    let screen = Screen::enter()?;
    let mut ends = Ends::listen().map_err(CommandError::internal)?;
    let mut resized = signal(SignalKind::window_change()).map_err(CommandError::internal)?;
    let mut quit = keys();
    let mut ticks = tokio::time::interval(LOOKS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut seen = look(project, source)?;
    let mut shown = first;
    screen.draw(&shown);
    loop {
        tokio::select! {
            () = ends.come() => break,
            _ = resized.recv() => screen.draw(&shown),
            _ = &mut quit => break,
            _ = ticks.tick() => {
                let now = look(project, source)?;
                if now != seen {
                    seen = now;
                    shown = current(project, source).await;
                    screen.draw(&shown);
                }
            }
        }
    }
    drop(screen);
    Ok(())
}

/// What is drawn; a file that is wrong for a moment, while somebody edits it, ends nothing.
async fn current(project: &Project, source: Option<&Path>) -> String {
    match text(project, source).await {
        Ok(text) => text,
        Err(error) => {
            let mut text = String::new();
            for sentence in error.sentences() {
                text.push_str(&ralph_core::sanitize::terminal_safe(&sentence));
                text.push('\n');
            }
            text
        }
    }
}

async fn text(project: &Project, source: Option<&Path>) -> Result<String, CommandError> {
    let facts = facts::gather(project, source, Afterwards::GoesOn).await?;
    Ok(show::render(&facts, Project::now()))
}

/// All that a change of would show: sizes and times of the files, who holds the lock, and the minute,
/// because text such as `5 min ago` grows old by itself.
type Look = (Vec<Option<(u64, u64, i64, i64)>>, bool, i64);

fn look(project: &Project, source: Option<&Path>) -> Result<Look, CommandError> {
    let data = project.data_dir()?;
    let mut paths: Vec<PathBuf> = ["ralph.db", "ralph.db-wal"].map(|f| data.join(f)).into();
    paths.push(project.parent_file());
    if let Ok(path) = project.find_source(source) {
        // The files of a folder are replaced, which changes the folder.
        paths.push(path);
    }
    let stamp = |path: &PathBuf| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    };
    let running = Lock::is_held(&data, project.root());
    let minute = Project::now().as_second() / 60;
    Ok((paths.iter().map(stamp).collect(), running, minute))
}

/// Told when a key asks to end. Keys are read by a thread that ends with the process: it starts
/// nothing, and standard input has no other reader.
fn keys() -> oneshot::Receiver<()> {
    let (asked, quit) = oneshot::channel();
    std::thread::spawn(move || {
        let mut key = [0_u8];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut key) {
                // Ctrl-C comes as a signal; Ctrl-D is how a reader says that it is done.
                Ok(1) if matches!(key[0], b'q' | b'Q' | 4) => break,
                Ok(1) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        let _ = asked.send(());
    });
    quit
}

/// The ways in which a watcher is asked to end.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Ends {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn come(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// The other screen of the terminal, with keys that are read one by one; dropped, all is as it was.
struct Screen {
    modes: Termios,
}

impl Screen {
    fn enter() -> Result<Self, CommandError> {
        let refuse = |stream: &str| {
            let message = format!("`ralph status --watch` needs a terminal, and {stream} is none");
            CommandError::user(message).hint("`ralph status` prints it once, `--json` for programs")
        };
        if !output::stdout_is_terminal() {
            return Err(refuse("the standard output"));
        }
        let stdin = rustix::stdio::stdin();
        let modes = termios::tcgetattr(stdin).map_err(|_| refuse("the standard input"))?;
        let mut keys = modes.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(stdin, OptionalActions::Now, &keys).map_err(CommandError::internal)?;
        output::print(ENTER);
        Ok(Self { modes })
    }

    /// Draws as many lines as there is room for; what is too wide the terminal cuts.
    fn draw(&self, text: &str) {
        let rows = usize::from(console::Term::stdout().size().0).max(3);
        let lines: Vec<&str> = text.lines().collect();
        let room = rows - 2;
        let mut drawn = "\x1b[H".to_owned();
        for line in lines.iter().take(room) {
            drawn.push_str(&format!("{line}\x1b[K\n"));
        }
        let more = match lines.len().saturating_sub(room) {
            0 => String::new(),
            more => format!("… {more} more lines; "),
        };
        let foot = paint(Tone::Faint, &format!("{more}q quits"));
        drawn.push_str(&format!("\x1b[K\n{foot}\x1b[J"));
        output::print(&drawn);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        output::print(LEAVE);
        let stdin = rustix::stdio::stdin();
        // A terminal that is gone needs no care.
        let _ = termios::tcsetattr(stdin, OptionalActions::Now, &self.modes);
    }
}

//! The other screen of the terminal, for what is kept on it and up to date until a key or a signal.
//!
//! Leaves the terminal as it was, whichever way it ends.

use std::time::Duration;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::{Interval, MissedTickBehavior, interval},
};

use super::{Tone, key_mode::KeyMode, paint};
use crate::hangup::Hangup;
use crate::{error::CommandError, output};

/// The other screen, without a cursor and without wrapping, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

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

/// The signals that ask ralph to end, heard from the moment that this is made: one that comes while it is
/// not awaited is not lost.
pub(crate) struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hangup: Hangup,
}

impl Ends {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: Hangup::listen()?,
        })
    }

    pub(crate) async fn come(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            () = self.hangup.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}

/// The other screen of the terminal, with keys that are read one by one; dropped, all is as it was.
struct Screen {
    _keys: KeyMode,
}

impl Screen {
    /// `command` is what was typed, for a refusal.
    fn enter(command: &str) -> Result<Self, CommandError> {
        let refuse = |stream: &str| {
            let message = format!("`{command} --watch` needs a terminal, and {stream} is not one");
            CommandError::user(message)
                .hint(format!("`{command}` prints it once, `--json` for programs"))
        };
        if !output::stdout_is_terminal() {
            return Err(refuse("the standard output"));
        }
        let keys = KeyMode::enter().map_err(|_| refuse("the standard input"))?;
        output::print(ENTER);
        Ok(Self { _keys: keys })
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

/// Keeps a text on the screen until a key or a signal. `next` is asked once a second for another one;
/// `None` where nothing has changed.
pub(crate) async fn keep(
    command: &str,
    mut shown: String,
    mut next: impl AsyncFnMut() -> Result<Option<String>, CommandError>,
) -> Result<(), CommandError> {
    let screen = Screen::enter(command)?;
    let mut ends = Ends::listen()?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut quit = keys();
    let mut ticks = every(Duration::from_secs(1));
    screen.draw(&shown);
    loop {
        tokio::select! {
            _ = ends.come() => return Ok(()),
            _ = &mut quit => return Ok(()),
            _ = resized.recv() => screen.draw(&shown),
            _ = ticks.tick() => if let Some(text) = next().await? {
                shown = text;
                screen.draw(&shown);
            },
        }
    }
}

/// Ticks; one that comes late puts off the next.
pub(crate) fn every(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Drop for Screen {
    fn drop(&mut self) {
        output::print(LEAVE);
    }
}

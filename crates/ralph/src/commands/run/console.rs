//! The keyboard of a loop whose screen moves: single keys while it works, and lines that are typed at the foot
//! of the screen.
//!
//! Only passes on: what a key asks for goes through the same queue as a command from another terminal. The
//! terminal is put back when the console is dropped.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use ralph_core::{
    command::{Answer, Command, When},
    escalation::Question,
    figures::count,
    id::QuestionId,
    sanitize::one_line,
};
use ralph_engine::{
    human::{Human, PersonReply},
    inbox::Inbox,
    report::{Foot, LiveScreen, ShownPause},
};
use rustix::process::{Signal, getpid, kill_process};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
};

use super::{
    person::{Choice, choice, choices},
    terminal_input::{Key, KeyDecoder, TerminalInput},
};
use crate::{
    commands::logs::tail::start_of_tail,
    project::Project,
    view::{
        key_mode::{self, KeyMode, is_in_foreground},
        screen::every,
    },
};

/// The interval at which the screen is redrawn, and at which it is seen that ralph has the terminal again.
const TICK: Duration = Duration::from_millis(250);

/// Lines of the log that a key shows, the columns beside them, and the bytes that are read for them.
const LOG_LINES: usize = 20;
const LOG_MARGIN: usize = 5;
const LOG_BYTES: u64 = 64 * 1024;

/// Longest line that can be typed.
const MAX_TYPED: usize = 2_000;

/// The person at a terminal that moves.
pub(super) struct Console {
    state: Arc<Mutex<ConsoleState>>,
    task: JoinHandle<()>,
}

/// Everything that a key depends on.
struct ConsoleState {
    screen: LiveScreen,
    inbox: Inbox,
    root: PathBuf,
    /// Questions that wait, oldest first.
    open: Vec<Question>,
    input: Option<InputLine>,
    /// The loop asks as soon as the line that is being typed has ended.
    next: Option<AskedQuestion>,
    /// Keys are read now.
    mode: Option<KeyMode>,
    stops: bool,
}

/// A line that is being typed.
struct InputLine {
    purpose: InputPurpose,
    text: String,
}

enum InputPurpose {
    Say,
    Choice(AskedQuestion),
    Guidance(AskedQuestion),
}

struct AskedQuestion {
    question: Question,
    /// The loop that waits for it; `None` where the person wants to answer by themselves.
    reply: Option<oneshot::Sender<PersonReply>>,
}

fn lock(state: &Mutex<ConsoleState>) -> MutexGuard<'_, ConsoleState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Console {
    pub(super) fn open(screen: LiveScreen, inbox: Inbox, root: &Path) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(ConsoleState {
            screen,
            inbox,
            root: root.to_owned(),
            open: Vec::new(),
            input: None,
            next: None,
            mode: None,
            stops: false,
        }));
        lock(&state).look_at_terminal();
        let input = TerminalInput::open()?;
        let mut suspend = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        let mut quit = signal(SignalKind::quit())?;
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut decoder = KeyDecoder::default();
            let mut ticks = every(TICK);
            loop {
                tokio::select! {
                    bytes = input.read() => match bytes {
                        Some(bytes) => {
                            let mut state = lock(&shared);
                            for key in decoder.decode(&bytes) {
                                state.press(key);
                            }
                        }
                        None => {
                            lock(&shared).close();
                            return;
                        }
                    },
                    _ = ticks.tick() => {
                        let mut state = lock(&shared);
                        state.look_at_terminal();
                        state.screen.tick(Project::now());
                    }
                    _ = suspend.recv() => {
                        lock(&shared).leave();
                        // Goes on here when a person continues it.
                        let _ = kill_process(getpid(), Signal::STOP);
                    }
                    _ = quit.recv() => {
                        lock(&shared).leave();
                        std::process::exit(128 + Signal::QUIT.as_raw());
                    }
                }
            }
        });
        Ok(Self { state, task })
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.task.abort();
        let mut state = lock(&self.state);
        state.input = None;
        state.screen.set_foot(Foot::Empty, Project::now());
        state.mode = None;
    }
}

#[async_trait(?Send)]
impl Human for Console {
    async fn ask(&mut self, question: &Question) -> PersonReply {
        let (reply, said) = oneshot::channel();
        lock(&self.state).ask(AskedQuestion {
            question: question.clone(),
            reply: Some(reply),
        });
        let _taken_back = TakeBack {
            state: Arc::clone(&self.state),
            id: question.id,
        };
        said.await.unwrap_or(PersonReply::Gone)
    }

    fn set_open_questions(&mut self, open: &[Question]) {
        let mut state = lock(&self.state);
        state.open = open.to_vec();
        state.show_foot();
    }
}

/// Takes a question off the screen that no one waits for any more.
struct TakeBack {
    state: Arc<Mutex<ConsoleState>>,
    id: QuestionId,
}

impl Drop for TakeBack {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        if state
            .next
            .as_ref()
            .is_some_and(|next| next.question.id == self.id)
        {
            state.next = None;
        }
        let asked = state.input.as_ref().and_then(InputLine::asked);
        if asked.is_some_and(|asked| asked.question.id == self.id) {
            state.end_input();
        }
    }
}

impl InputLine {
    fn new(purpose: InputPurpose) -> Self {
        Self {
            purpose,
            text: String::new(),
        }
    }

    fn asked(&self) -> Option<&AskedQuestion> {
        match &self.purpose {
            InputPurpose::Say => None,
            InputPurpose::Choice(asked) | InputPurpose::Guidance(asked) => Some(asked),
        }
    }

    fn prompt(&self) -> &'static str {
        match self.purpose {
            InputPurpose::Say => "Say (to the agent; Esc leaves it): ",
            InputPurpose::Choice(_) => "Choice: ",
            InputPurpose::Guidance(_) => "Guidance: ",
        }
    }
}

impl ConsoleState {
    /// Reads keys where ralph has the terminal, and leaves it alone where another program has it.
    fn look_at_terminal(&mut self) {
        let in_foreground = is_in_foreground();
        self.screen.set_in_foreground(in_foreground);
        match (in_foreground, self.mode.is_some()) {
            (true, false) => self.mode = KeyMode::enter().ok(),
            (false, true) => self.mode = None,
            (true, true) | (false, false) => {}
        }
        self.show_foot();
    }

    /// Leaves the terminal to others.
    fn leave(&mut self) {
        self.screen.clear();
        self.mode = None;
        key_mode::restore();
    }

    /// The terminal is gone, and so is the person.
    fn close(&mut self) {
        self.next = None;
        self.input = None;
        self.mode = None;
    }

    fn print(&self, text: &str) {
        self.screen.print(text, Project::now());
    }

    fn show_foot(&self) {
        let foot = match &self.input {
            _ if self.mode.is_none() => Foot::Empty,
            Some(input) => Foot::Input {
                prompt: input.prompt().to_owned(),
                text: input.text.clone(),
            },
            None => Foot::Keys {
                notice: notice(&self.open),
                keys: keys(self.screen.pause()),
            },
        };
        self.screen.set_foot(foot, Project::now());
    }

    fn press(&mut self, key: Key) {
        if let Some(input) = &mut self.input {
            match key {
                Key::Char(c) if input.text.chars().count() < MAX_TYPED => input.text.push(c),
                Key::Char(_) => {}
                Key::Backspace => drop(input.text.pop()),
                Key::ClearLine => input.text.clear(),
                Key::Enter => self.enter(),
                Key::Escape => self.escape(),
            }
        } else {
            match key {
                Key::Char('p' | 'P') => self.toggle_pause(),
                Key::Char('s' | 'S') => self.input = Some(InputLine::new(InputPurpose::Say)),
                Key::Char('l' | 'L') => self.show_log(),
                Key::Char('q' | 'Q') => self.stop(),
                Key::Char('a' | 'A') => self.answer_oldest(),
                Key::Char(_) | Key::Enter | Key::Backspace | Key::Escape | Key::ClearLine => {}
            }
        }
        self.show_foot();
    }

    fn toggle_pause(&self) {
        self.inbox.add(match self.screen.pause() {
            ShownPause::No => Command::Pause { when: When::InTurn },
            ShownPause::Asked | ShownPause::Paused => Command::Resume,
        });
    }

    fn stop(&mut self) {
        if !std::mem::replace(&mut self.stops, true) {
            let _ = kill_process(getpid(), Signal::INT);
        }
    }

    fn show_log(&self) {
        let Some(path) = self.screen.log() else {
            return self.print("no log is written yet\n");
        };
        let mut text = format!("last lines of {path} (`ralph logs` shows all)\n");
        match last_lines(&self.root.join(&path)) {
            Ok(lines) => {
                let room = self.screen.columns().saturating_sub(LOG_MARGIN);
                for line in lines.lines().filter(|line| !line.trim().is_empty()) {
                    text.push_str(&format!("  │ {}\n", one_line(line, room)));
                }
            }
            Err(error) => text.push_str(&format!("  it can't be read: {error}\n")),
        }
        self.print(&text);
    }

    fn answer_oldest(&mut self) {
        if let Some(question) = self.open.first().cloned() {
            self.ask(AskedQuestion {
                question,
                reply: None,
            });
        }
    }

    /// Puts a question at the foot of the screen; one that is there already is not asked twice.
    fn ask(&mut self, asked: AskedQuestion) {
        let same = match &mut self.input {
            Some(InputLine {
                purpose: InputPurpose::Choice(open) | InputPurpose::Guidance(open),
                ..
            }) if open.question.id == asked.question.id => Some(open),
            Some(_) => {
                self.next = Some(asked);
                return;
            }
            None => None,
        };
        if let Some(open) = same {
            open.reply = asked.reply;
            return;
        }
        let question = &asked.question;
        let mut text = String::new();
        if !self.screen.shows_question(question.id) {
            text.push_str(&format!(
                "\nquestion {} · {}: {}\n",
                question.id,
                question.task_id,
                one_line(question.in_short(), MAX_TYPED)
            ));
            for (i, option) in question.options().iter().enumerate() {
                text.push_str(&format!("  {}. {}\n", i + 1, one_line(option, MAX_TYPED)));
            }
        }
        text.push_str(&format!("{}\n", choices(question)));
        self.print(&text);
        self.input = Some(InputLine::new(InputPurpose::Choice(asked)));
        self.show_foot();
    }

    /// The line is typed.
    fn enter(&mut self) {
        let Some(input) = self.input.take() else {
            return;
        };
        let text = input.text.trim().to_owned();
        match input.purpose {
            InputPurpose::Say => {
                if !text.is_empty() {
                    let when = When::Now;
                    self.inbox.add(Command::Say { text, when });
                }
            }
            InputPurpose::Choice(asked) => {
                self.print(&format!("Choice: {}\n", one_line(&text, MAX_TYPED)));
                match choice(&text, &asked.question) {
                    Choice::Reply(reply) => self.reply(asked, reply),
                    Choice::Custom => {
                        self.input = Some(InputLine::new(InputPurpose::Guidance(asked)));
                    }
                    Choice::Unclear(why) => {
                        self.print(&format!("{why}\n"));
                        self.input = Some(InputLine::new(InputPurpose::Choice(asked)));
                    }
                }
            }
            InputPurpose::Guidance(asked) if text.is_empty() => {
                self.input = Some(InputLine::new(InputPurpose::Choice(asked)));
            }
            InputPurpose::Guidance(asked) => {
                let answer = Answer::Guidance { text };
                self.reply(asked, PersonReply::Answer(answer));
            }
        }
        self.begin_next();
    }

    /// The line is not wanted any more: a question is put off by that.
    fn escape(&mut self) {
        let input = self.input.take();
        match input.map(|input| input.purpose) {
            None | Some(InputPurpose::Say) => {}
            Some(InputPurpose::Choice(asked) | InputPurpose::Guidance(asked)) => {
                self.reply(asked, PersonReply::Later);
            }
        }
        self.begin_next();
    }

    fn end_input(&mut self) {
        self.input = None;
        self.begin_next();
        self.show_foot();
    }

    fn begin_next(&mut self) {
        if self.input.is_none()
            && let Some(next) = self.next.take()
        {
            self.ask(next);
        }
    }

    /// Tells the loop that waits; where none does, the answer waits in the queue until the iteration has ended.
    fn reply(&mut self, asked: AskedQuestion, reply: PersonReply) {
        let id = asked.question.id;
        if let Some(waits) = asked.reply {
            let _ = waits.send(reply);
            return;
        }
        let PersonReply::Answer(answer) = reply else {
            return;
        };
        self.open.retain(|question| question.id != id);
        self.print(&format!(
            "question {id}: the answer is taken when the iteration has ended\n"
        ));
        self.inbox.add(Command::Answer {
            of: Some(id.to_string()),
            answer,
            amend: None,
        });
    }
}

fn notice(open: &[Question]) -> String {
    match open {
        [] => String::new(),
        [one] => format!("question {} waits · a answer", one.id),
        all => format!(
            "{} wait · a answer",
            count(all.len(), "question", "questions")
        ),
    }
}

fn keys(pause: ShownPause) -> String {
    let pause = match pause {
        ShownPause::No => "p pause",
        ShownPause::Asked | ShownPause::Paused => "p continue",
    };
    format!("{pause} · s say · l log · q stop")
}

fn last_lines(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = start_of_tail(&mut file, LOG_LINES)?;
    let end = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(start.max(end.saturating_sub(LOG_BYTES))))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{super::person::tests::question, *};

    #[test]
    fn the_foot_says_which_keys_there_are_and_that_questions_wait() {
        assert_eq!(keys(ShownPause::No), "p pause · s say · l log · q stop");
        for pause in [ShownPause::Asked, ShownPause::Paused] {
            assert_eq!(keys(pause), "p continue · s say · l log · q stop");
        }
        let one = question(&[]);
        assert_eq!(notice(&[]), "");
        assert_eq!(
            notice(std::slice::from_ref(&one)),
            "question 1 waits · a answer"
        );
        assert_eq!(notice(&[one.clone(), one]), "2 questions wait · a answer");
    }

    #[test]
    fn a_log_is_read_from_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lines: String = (1..=50).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let read = last_lines(&path).unwrap();
        assert_eq!(read.lines().count(), 20);
        assert!(read.starts_with("line 31\n"), "{read}");
    }
}

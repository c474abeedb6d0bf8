//! The supervisor on parts in memory: an agent that does what a test says, a control and a tap.

use std::{cell::RefCell, rc::Rc};

use async_trait::async_trait;
use ralph_core::{agent::Mark, economics::ModelCall, event::Event, health::Choice};
use tokio::sync::mpsc;

use super::*;

/// Longer than anything takes, for what must happen at all.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

/// What a test has the agent do next.
enum Act {
    Say(AgentEvent),
    Conclude,
    Exit,
}

/// Does what a test says. Asked to stop, it goes on until the test lets it exit.
struct FakeAgent {
    acts: mpsc::UnboundedReceiver<Act>,
    events: Vec<AgentEvent>,
    used: Vec<ModelCall>,
    can_be_told: bool,
    has_concluded: bool,
    has_exited: bool,
    happenings: Happenings,
    /// Exits when it is asked to stop.
    obeys: bool,
    stopping: bool,
}

/// Everything that happened, in its order, in a word each.
type Happenings = Rc<RefCell<Vec<String>>>;

impl RunningAgent for FakeAgent {
    async fn next(&mut self) -> RunHeard {
        if self.has_exited || (self.stopping && self.obeys) {
            return RunHeard::Ended;
        }
        match self.acts.recv().await {
            Some(Act::Say(event)) => self.events.push(event),
            Some(Act::Conclude) => self.has_concluded = true,
            Some(Act::Exit) => {
                self.has_exited = true;
                return RunHeard::Other;
            }
            None => std::future::pending().await,
        }
        RunHeard::Output
    }

    fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        std::mem::take(&mut self.used)
    }

    fn say(&mut self, text: &str) -> NudgeState {
        if self.can_be_told {
            self.happenings.borrow_mut().push(format!("told {text}"));
            NudgeState::Sent
        } else {
            NudgeState::Impossible
        }
    }

    fn stop(&mut self) {
        self.happenings.borrow_mut().push("stop".to_owned());
        self.stopping = true;
    }

    fn has_concluded(&self) -> bool {
        self.has_concluded
    }

    fn has_exited(&self) -> bool {
        self.has_exited
    }

    fn is_hopeless(&self) -> bool {
        false
    }
}

/// Requests as a test sends them; answers are happenings.
struct FakeControl {
    requests: mpsc::UnboundedReceiver<ControlRequest>,
    waiting: Vec<ControlRequest>,
    happened: Happened,
}

#[async_trait(?Send)]
impl AgentControl for FakeControl {
    async fn ready(&mut self) {
        match self.requests.recv().await {
            Some(request) => self.waiting.push(request),
            None => std::future::pending().await,
        }
    }

    async fn read(&mut self, _: &mut dyn AgentTap) -> Vec<ControlRequest> {
        std::mem::take(&mut self.waiting)
    }

    async fn answer(&mut self, id: u64, reply: ControlReply, _: &mut dyn AgentTap) {
        self.happened.add(format!("answer {id} {reply:?}"));
    }
}

/// Writes down what happens, and lets a test wait for it.
#[derive(Clone)]
struct Happened {
    happenings: Happenings,
    heard: mpsc::UnboundedSender<()>,
}

impl Happened {
    fn add(&self, what: String) {
        self.happenings.borrow_mut().push(what);
        let _ = self.heard.send(());
    }
}

struct FakeTap {
    happened: Happened,
}

impl AgentTap for FakeTap {
    fn agent_event(&mut self, event: AgentEvent) {
        self.happened.add(match event {
            AgentEvent::Text { text } => text,
            AgentEvent::Nudge { text, state } => format!("nudge {text} {state:?}"),
            other => other.line(),
        });
    }

    fn event(&mut self, event: &Event) {
        let text = match event {
            Event::Warning { message } => message.clone(),
            other => format!("{other:?}"),
        };
        self.happened.add(text);
    }
}

/// Answers as a test says.
#[derive(Default)]
struct FakeWatcher {
    /// Steps after the words of the agent with this text.
    on_text: Vec<(&'static str, Vec<WatcherStep>)>,
    on_nudged: Vec<(NudgeState, Vec<WatcherStep>)>,
    on_spent: Vec<WatcherStep>,
    on_tree: Vec<WatcherStep>,
    on_choice: Option<Followed>,
    wakes_at: Option<Duration>,
    on_wake: Vec<WatcherStep>,
    seen: Vec<String>,
}

impl Watcher for FakeWatcher {
    fn observe(&mut self, seen: &Observation, now: RunMoment) -> Vec<WatcherStep> {
        self.seen.push(format!("{} tools", now.tools));
        let Beat::Text { mark: said } = seen.beat else {
            return Vec::new();
        };
        let mut rows = self.on_text.iter();
        let row = rows.find(|(text, _)| mark(&[text]) == said);
        row.map(|(_, steps)| steps.clone()).unwrap_or_default()
    }

    fn spent(&mut self, so_far: Dollars, _: RunMoment) -> Vec<WatcherStep> {
        self.seen.push(format!("spent {so_far}"));
        std::mem::take(&mut self.on_spent)
    }

    fn nudged(&mut self, state: NudgeState, _: RunMoment) -> Vec<WatcherStep> {
        self.seen.push(format!("nudged {state:?}"));
        let mut rows = self.on_nudged.iter();
        let row = rows.find(|(of, _)| *of == state);
        row.map(|(_, steps)| steps.clone()).unwrap_or_default()
    }

    fn wakes_at(&self, _: RunMoment) -> Option<Duration> {
        self.wakes_at
    }

    fn wake(&mut self, _: RunMoment) -> Vec<WatcherStep> {
        self.wakes_at = None;
        self.on_wake.clone()
    }

    fn saw(&mut self, tree: Option<u64>, _: RunMoment) -> Vec<WatcherStep> {
        self.seen.push(format!("tree {tree:?}"));
        self.on_tree.clone()
    }

    fn chosen(&mut self, _: Choice, _: RunMoment) -> Option<Followed> {
        self.on_choice.clone()
    }
}

struct FakeTree;

#[async_trait(?Send)]
impl TreeProbe for FakeTree {
    async fn fingerprint(&self) -> Option<u64> {
        Some(7)
    }
}

/// A run on parts in memory.
struct FakeRun {
    limits: RunLimits,
    can_be_told: bool,
    obeys: bool,
    done_file: Option<DoneFile>,
}

impl Default for FakeRun {
    fn default() -> Self {
        Self {
            limits: RunLimits {
                deadline: None,
                idle: LONG,
                idle_with_tool: LONG,
                grace: LONG,
            },
            can_be_told: true,
            obeys: true,
            done_file: None,
        }
    }
}

/// The test's side of a run.
struct Hand {
    acts: mpsc::UnboundedSender<Act>,
    requests: mpsc::UnboundedSender<ControlRequest>,
    heard: mpsc::UnboundedReceiver<()>,
}

impl Hand {
    fn act(&self, act: Act) {
        self.acts.send(act).unwrap();
    }

    fn says(&self, words: &str) {
        self.act(Act::Say(text(words)));
    }

    fn asks(&self, request: ControlRequest) {
        self.requests.send(request).unwrap();
    }

    /// Waits until another event was reported, or a request answered.
    async fn hears(&mut self) {
        self.heard.recv().await.unwrap();
    }
}

/// A run that is over: how it was cut, and what happened.
struct Over {
    cut: Option<Ending>,
    happenings: Vec<String>,
}

impl FakeRun {
    /// Runs it beside what the test does.
    async fn run(self, watchers: Vec<&mut dyn Watcher>, test: impl AsyncFnOnce(&mut Hand)) -> Over {
        let happenings = Happenings::default();
        let (acts, acts_in) = mpsc::unbounded_channel();
        let (requests, requests_in) = mpsc::unbounded_channel();
        let (heard_out, heard) = mpsc::unbounded_channel();
        let happened = Happened {
            happenings: happenings.clone(),
            heard: heard_out,
        };
        let mut control = FakeControl {
            requests: requests_in,
            waiting: Vec::new(),
            happened: happened.clone(),
        };
        let mut tap = FakeTap { happened };
        let mut supervisor = Supervisor {
            run: FakeAgent {
                acts: acts_in,
                events: Vec::new(),
                used: Vec::new(),
                can_be_told: self.can_be_told,
                has_concluded: false,
                has_exited: false,
                happenings: happenings.clone(),
                obeys: self.obeys,
                stopping: false,
            },
            limits: &self.limits,
            watchers: watchers.into_iter().map(|w| w as _).collect(),
            control: &mut control,
            tap: &mut tap,
            tree: Some(&FakeTree),
            began: Instant::now(),
            heard: Instant::now(),
            rested: Duration::ZERO,
            tools: ToolCalls::default(),
            spent: Dollars::NOTHING,
            nudges: Vec::new(),
            overdue_at: None,
            state: RunState::Going,
        };
        let mut hand = Hand {
            acts,
            requests,
            heard,
        };
        let both = async {
            tokio::join!(
                supervisor.supervise(self.done_file.as_ref()),
                test(&mut hand)
            );
        };
        tokio::time::timeout(LONG, both)
            .await
            .expect("it ends in time");
        let cut = match supervisor.state {
            RunState::Going => None,
            RunState::Ending(cut) => cut,
        };
        let happenings = happenings.borrow().clone();
        Over { cut, happenings }
    }
}

fn text(words: &str) -> AgentEvent {
    AgentEvent::Text {
        text: words.to_owned(),
    }
}

fn terminated() -> Ending {
    Ending::Terminated {
        reason: "enough".to_owned(),
    }
}

fn warning(message: &str) -> WatcherStep {
    WatcherStep::Tell(Box::new(Event::Warning {
        message: message.to_owned(),
    }))
}

fn say(id: u64) -> ControlRequest {
    let text = "hurry".to_owned();
    ControlRequest::Say { id, text }
}

#[tokio::test]
async fn events_are_reported_in_their_order_and_steps_follow_their_event() {
    let mut watcher = FakeWatcher {
        on_text: vec![("two", vec![warning("seen two")])],
        ..FakeWatcher::default()
    };
    let over = FakeRun::default()
        .run(vec![&mut watcher], async |hand| {
            for words in ["one", "two", "three"] {
                hand.says(words);
            }
            hand.act(Act::Exit);
        })
        .await;
    assert_eq!(over.happenings, ["one", "two", "seen two", "three"]);
    assert_eq!(over.cut, None);
}

#[tokio::test]
async fn a_stop_is_obeyed_once_while_the_agent_takes_its_time_and_other_requests_are_left() {
    let mut watcher = FakeWatcher {
        on_choice: Some(Followed {
            sentence: "followed".to_owned(),
            steps: Vec::new(),
        }),
        on_text: vec![("summing up", vec![warning("asked after the stop")])],
        ..FakeWatcher::default()
    };
    let scene = FakeRun {
        obeys: false,
        ..FakeRun::default()
    };
    let over = scene
        .run(vec![&mut watcher], async |hand| {
            hand.says("begun");
            hand.hears().await;
            // A pause first, then a signal.
            hand.asks(ControlRequest::Stop);
            hand.asks(ControlRequest::Stop);
            hand.asks(say(1));
            hand.hears().await;
            hand.asks(ControlRequest::Choose {
                id: 2,
                choice: Choice::MoreTime,
            });
            hand.hears().await;
            hand.says("summing up");
            hand.hears().await;
            hand.act(Act::Exit);
        })
        .await;
    assert_eq!(over.cut, Some(Ending::Stopped));
    assert_eq!(
        over.happenings,
        [
            "begun",
            "stop",
            "answer 1 NotFollowed",
            "answer 2 NotFollowed",
            "summing up"
        ]
    );
}

#[tokio::test]
async fn a_message_is_told_or_it_is_said_that_it_can_t_be() {
    let rows: [(bool, &[&str]); 2] = [
        (true, &["told hurry", "nudge hurry Sent", "answer 1 Told"]),
        (false, &["nudge hurry Impossible", "answer 1 CannotBeTold"]),
    ];
    for (can_be_told, expected) in rows {
        let scene = FakeRun {
            can_be_told,
            ..FakeRun::default()
        };
        let over = scene
            .run(Vec::new(), async |hand| {
                hand.asks(say(1));
                hand.hears().await;
                hand.hears().await;
                hand.act(Act::Exit);
            })
            .await;
        assert_eq!(over.happenings, expected);
    }
}

#[tokio::test]
async fn a_watcher_hears_what_became_of_its_own_message_and_no_other_does() {
    let mut asking = FakeWatcher {
        on_text: vec![("slow", vec![WatcherStep::Nudge("faster".to_owned())])],
        on_nudged: vec![(NudgeState::Delivered, vec![WatcherStep::Cut(terminated())])],
        ..FakeWatcher::default()
    };
    let mut other = FakeWatcher::default();
    let over = FakeRun::default()
        .run(vec![&mut other, &mut asking], async |hand| {
            hand.says("slow");
            hand.act(Act::Say(AgentEvent::Nudge {
                text: "faster".to_owned(),
                state: NudgeState::Delivered,
            }));
        })
        .await;
    assert_eq!(over.cut, Some(terminated()));
    let nudged: Vec<&String> = asking
        .seen
        .iter()
        .filter(|s| s.contains("nudged"))
        .collect();
    assert_eq!(nudged, ["nudged Sent", "nudged Delivered"]);
    assert!(!other.seen.iter().any(|s| s.contains("nudged")));
}

#[tokio::test]
async fn a_watcher_whose_message_can_t_be_told_hears_that() {
    let mut watcher = FakeWatcher {
        on_text: vec![("slow", vec![WatcherStep::Nudge("faster".to_owned())])],
        on_nudged: vec![(NudgeState::Impossible, vec![WatcherStep::Cut(terminated())])],
        ..FakeWatcher::default()
    };
    let scene = FakeRun {
        can_be_told: false,
        ..FakeRun::default()
    };
    let over = scene
        .run(vec![&mut watcher], async |hand| hand.says("slow"))
        .await;
    assert_eq!(over.cut, Some(terminated()));
}

#[tokio::test]
async fn the_first_cut_wins_and_nothing_is_asked_after_it() {
    let second = Ending::TimedOut { minutes: 1 };
    let mut first = FakeWatcher {
        on_text: vec![("now", vec![WatcherStep::Cut(terminated()), warning("late")])],
        ..FakeWatcher::default()
    };
    let mut other = FakeWatcher {
        on_text: vec![("now", vec![WatcherStep::Cut(second)])],
        ..FakeWatcher::default()
    };
    let over = FakeRun::default()
        .run(vec![&mut first, &mut other], async |hand| hand.says("now"))
        .await;
    assert_eq!(over.cut, Some(terminated()));
    assert_eq!(over.happenings, ["now", "stop"]);
}

#[tokio::test]
async fn an_agent_that_has_said_its_last_word_is_not_cut() {
    let mut watcher = FakeWatcher {
        on_text: vec![("late", vec![WatcherStep::Cut(terminated())])],
        ..FakeWatcher::default()
    };
    let over = FakeRun::default()
        .run(vec![&mut watcher], async |hand| {
            hand.act(Act::Conclude);
            hand.says("late");
            hand.hears().await;
            hand.act(Act::Exit);
        })
        .await;
    assert_eq!((over.cut, over.happenings), (None, vec!["late".to_owned()]));
}

#[tokio::test]
async fn one_that_does_not_exit_after_its_last_word_is_ended_and_its_ending_is_its_own() {
    let mut scene = FakeRun::default();
    scene.limits.idle = SHORT;
    let over = scene
        .run(Vec::new(), async |hand| hand.act(Act::Conclude))
        .await;
    assert_eq!((over.cut, over.happenings), (None, vec!["stop".to_owned()]));
}

#[tokio::test]
async fn silence_ends_a_run_and_a_tool_under_way_is_waited_for_longer() {
    let mut scene = FakeRun::default();
    scene.limits.idle = SHORT;
    let over = scene.run(Vec::new(), async |_| {}).await;
    assert_eq!(over.cut, Some(Ending::Silent { minutes: 0 }));

    let mut scene = FakeRun::default();
    scene.limits.idle = SHORT;
    scene.limits.deadline = Some(RunDeadline {
        at: Instant::now() + 20 * SHORT,
        minutes: 9,
    });
    let over = scene
        .run(Vec::new(), async |hand| {
            hand.act(Act::Say(AgentEvent::Tool {
                id: "1".to_owned(),
                name: "Bash".to_owned(),
                target: "make".to_owned(),
                arguments: Mark::EMPTY,
            }));
        })
        .await;
    assert_eq!(over.cut, Some(Ending::TimedOut { minutes: 9 }));
}

#[tokio::test]
async fn an_agent_that_stays_after_its_done_file_is_ended_and_has_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("done");
    let mut scene = FakeRun {
        done_file: Some(DoneFile::new(Some(path.clone()))),
        ..FakeRun::default()
    };
    scene.limits.grace = SHORT;
    let over = scene
        .run(Vec::new(), async |_| std::fs::write(&path, "").unwrap())
        .await;
    assert_eq!(over.cut, Some(Ending::Finished));
}

#[tokio::test]
async fn all_watchers_hear_what_is_spent_and_a_look_is_made_once() {
    let spent = WatcherStep::Spent(Dollars::whole(2));
    let mut cost = FakeWatcher {
        on_text: vec![("costs", vec![spent.clone(), spent])],
        ..FakeWatcher::default()
    };
    let mut other = FakeWatcher {
        on_spent: vec![WatcherStep::Look, WatcherStep::Look],
        on_tree: vec![WatcherStep::Cut(terminated())],
        ..FakeWatcher::default()
    };
    let over = FakeRun::default()
        .run(vec![&mut cost, &mut other], async |hand| hand.says("costs"))
        .await;
    assert_eq!(over.cut, Some(terminated()));
    let seen = |watcher: &FakeWatcher| -> Vec<String> {
        let seen = watcher.seen.iter().filter(|s| !s.ends_with("tools"));
        seen.cloned().collect()
    };
    assert_eq!(seen(&cost), ["spent $2.00", "tree Some(7)"]);
    assert_eq!(seen(&other), ["spent $2.00", "tree Some(7)"]);
}

#[tokio::test]
async fn a_watcher_is_woken_and_a_choice_is_followed_in_its_words() {
    let mut watcher = FakeWatcher {
        wakes_at: Some(SHORT),
        on_wake: vec![warning("woken")],
        on_choice: Some(Followed {
            sentence: "it is ended".to_owned(),
            steps: vec![WatcherStep::Cut(terminated())],
        }),
        ..FakeWatcher::default()
    };
    let mut deaf = FakeWatcher::default();
    let scene = FakeRun {
        obeys: false,
        ..FakeRun::default()
    };
    let over = scene
        .run(vec![&mut deaf, &mut watcher], async |hand| {
            hand.hears().await;
            hand.asks(ControlRequest::Choose {
                id: 4,
                choice: Choice::Terminate,
            });
            hand.hears().await;
            hand.act(Act::Exit);
        })
        .await;
    let answer = "answer 4 Followed { sentence: \"it is ended\" }";
    assert_eq!(over.happenings, ["woken", "stop", answer]);
    assert_eq!(over.cut, Some(terminated()));
}

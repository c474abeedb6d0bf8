//! Loops whose agent is at work, and a monitor with seconds instead of minutes.

use std::path::PathBuf;
use std::process::{Child, Command};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::support::{Live, Project, processes_at, write_program};

/// Writes half of the work, then hangs with a child; at the second run it does the rest.
pub(super) fn hangs_once(project: Project) -> Project {
    let half = project.outside("half");
    project.command(&format!(
        "if [ -e {half} ]; then echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"; exit; fi\n\
         echo x > half.txt; setsid sleep 1000 & touch {half}; echo begun; sleep 1000",
        half = half.display()
    ))
}

/// People are told by a program that writes down what about.
pub(super) fn with_messages(project: Project) -> Project {
    let program = project.outside("tell.sh");
    let told = project.outside("told");
    let line = format!("echo $RALPH_NOTIFY_EVENT >> {}", told.display());
    write_program(&program, &line);
    let config = json!({"notify": {"command": [program], "desktop": "off"}});
    project.config(&config.to_string())
}

pub(super) fn messages(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.outside("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until the agent is half way, and gives the loop's id.
pub(super) fn begun(live: &mut Live) -> String {
    let id = live.wait_for("loop_started")["loopId"].clone();
    while live.wait_for("agent")["text"] != "begun" {}
    id.as_str().unwrap().to_owned()
}

/// The number and the start of a process.
pub(super) fn started(live: &Live) -> (u32, u64) {
    identity(live.pid().as_raw_nonzero().get().unsigned_abs())
}

fn identity(pid: u32) -> (u32, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    (pid, rest.split(' ').nth(19).unwrap().parse().unwrap())
}

/// A monitor that is quick, told to look at the loops of this project's data folder.
pub(super) fn monitor(project: &Project, env: &[(&str, &str)]) -> Live {
    monitor_with(project, &[], env)
}

pub(super) fn monitor_with(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Live {
    let mut all = vec!["monitor", "--json", "--interval", "1"];
    all.extend(args);
    let mut command = quick(project.ralph(&all));
    command.envs(env.iter().copied());
    Live::start(command)
}

pub(super) fn quick(mut command: Command) -> Command {
    let times = [
        // More than a loop is ever silent while it works.
        ("RALPH_MONITOR_HANG_SECONDS", "8"),
        ("RALPH_MONITOR_ASK_WAIT_SECONDS", "1"),
        ("RALPH_MONITOR_ESCALATE_WAIT_MINUTES", "0.02"),
        ("RALPH_MONITOR_GRACE_SECONDS", "2"),
    ];
    command.envs(times);
    command
}

pub(super) fn health_file(project: &Project, id: &str) -> PathBuf {
    let folder = project.data_dir().join("ralph-loops").join(id);
    folder.join("health.json")
}

/// What a loop that hangs leaves: its last words are old.
pub(super) fn stale(project: &Project, id: &str, process: (u32, u64)) {
    let then = now() - SignedDuration::from_mins(10);
    write(project, id, process, then);
}

/// What a loop writes that works.
pub(super) fn fresh(project: &Project, id: &str, process: (u32, u64)) {
    // Ahead of the time, so that it stays fresh as long as the test takes.
    write(project, id, process, now() + SignedDuration::from_mins(10));
}

fn write(project: &Project, id: &str, (pid, begun): (u32, u64), at: Timestamp) {
    let health = json!({
        "loop_id": id, "pid": pid, "pid_started": begun, "worktree": project.repo.root(),
        "written_at": at, "doing": "agent", "quiet_until": null, "iteration": 1, "task_id": "A",
        "agent": "claude", "state": "healthy", "since": at, "last_heartbeat": at,
        "last_progress": null, "errors": 0, "steps": 0, "repeats": 0, "nudges": 0,
        "intervention": null, "answer_until": null, "breaker": "closed",
    });
    std::fs::write(health_file(project, id), health.to_string()).unwrap();
}

#[allow(clippy::disallowed_methods, reason = "a test has no other clock")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Whether the agent of a project, or what it started, is alive.
pub(super) fn has_agent(project: &Project) -> bool {
    let alive = processes_at(&project.repo.home());
    alive
        .iter()
        .any(|one| one.contains("agent.sh") || one.starts_with("sleep"))
}

/// What the journal says.
pub(super) fn data_of(project: &Project, sql: &str) -> String {
    let output = project
        .repo
        .command("sqlite3")
        .args(["-cmd", ".timeout 10000"])
        .arg(project.data_dir().join("ralph.db"))
        .arg(sql)
        .output()
        .expect("sqlite3 is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The kinds of all notes, in their order.
pub(super) fn notes(project: &Project) -> String {
    data_of(
        project,
        "SELECT group_concat(kind) FROM (SELECT kind FROM loop_note ORDER BY id)",
    )
}

/// The only loop there ever was.
pub(super) fn loop_id(project: &Project) -> String {
    data_of(project, "SELECT id FROM loop")
}

/// A process that has nothing to do with ralph.
pub(super) struct Sleeper(Child);

impl Sleeper {
    pub(super) fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    pub(super) fn identity(&self) -> (u32, u64) {
        identity(self.0.id())
    }

    pub(super) fn sleeps_on(mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! A loop whose journal is synced with a team's server: seen from another machine, steered from there, and never kept
//! waiting by a server that is gone.

use ralph_testkit::{
    TestRepo,
    postgres::{Cluster, Database},
};
use serde_json::{Value, json};

use crate::support::{Live, Project, good_script, story, wait_until};

/// A server with one tenant, and a role for it.
struct TeamServer {
    cluster: Cluster,
    database: Database,
    url: String,
}

impl TeamServer {
    fn start() -> Self {
        let cluster = Cluster::start();
        let database = cluster.database();
        let server = Self {
            url: database.url_of("ada", "for-ada"),
            cluster,
            database,
        };
        let place = TestRepo::bare_folder();
        place.file("password", "for-ada\n");
        let chmod = place.command("chmod").args(["600", "password"]).status();
        assert!(chmod.unwrap().success());
        let role = [
            "db",
            "role",
            "add",
            "ada",
            "--tenant",
            "acme",
            "--password-file",
            "password",
        ];
        let steps: [&[&str]; 3] = [&["db", "init"], &["db", "tenant", "add", "acme"], &role];
        for args in steps {
            let mut command = place.command(env!("CARGO_BIN_EXE_ralph"));
            let done = command
                .args(args)
                .env("RALPH_STORE_URL", server.database.url());
            let done = done.output().unwrap();
            assert!(done.status.success(), "{args:?}: {done:?}");
        }
        server
    }

    /// A machine whose journal goes there.
    fn machine(&self, project: Project) -> Project {
        project
            .env("RALPH_STORE_URL", &self.url)
            .env("RALPH_STORE_TENANT", "acme")
    }

    /// Another machine, which runs no loop.
    fn onlooker(&self) -> Project {
        self.machine(Project::of(TestRepo::bare_folder()))
    }
}

/// The JSON that a command prints.
#[track_caller]
fn asked(machine: &Project, args: &[&str]) -> Value {
    let done = machine.ralph(args).output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{args:?}: {out}{err}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out}{err}"))
}

const ASKS: &str = "<escalate type=\"deviation\">\n<summary>Spec is old</summary>\n\
    <context>v1 is deprecated.</context>\n<options>\n1. Use v2\n2. Use v1 anyway\n</options>\n\
    <question>Which API version?</question>\n</escalate>";

/// An agent that asks once about A, and works at B until the file `go` is there.
fn asks_and_waits() -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    let asked = project.outside("asked");
    project.command(&format!(
        "cat >> {prompts}\n\
         if [ $RALPH_TASK_ID = A ] && [ ! -e {asked} ]; then touch {asked}; printf '%s\\n' '{ASKS}'; exit; fi\n\
         if [ $RALPH_TASK_ID = B ]; then echo begun; while [ ! -e {go} ]; do sleep 0.02; done; fi\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
        asked = asked.display(),
    ))
}

/// An agent that works at A until the file `go` is there.
fn waits() -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let go = project.outside("go");
    project.command(&format!(
        "cat > /dev/null\necho begun; while [ ! -e {} ]; do sleep 0.02; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go.display(),
    ))
}

fn begun(live: &mut Live) {
    while live.wait_for("agent")["text"] != "begun" {}
}

#[test]
fn a_loop_is_seen_paused_answered_and_resumed_from_another_machine() {
    let server = TeamServer::start();
    let (a, b) = (server.machine(asks_and_waits()), server.onlooker());
    let mut live = a.start(&[]);
    begun(&mut live);
    wait_until("the question is on the server", || {
        asked(&b, &["team", "questions", "--json"])["questions"] != json!([])
    });
    let loops = asked(&b, &["team", "loops", "--open", "--json"]);
    let id = loops["loops"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(loops["loops"][0]["state"], "running");
    assert_eq!(loops["loops"][0]["branch"], "ralph/work");
    let questions = asked(&b, &["team", "questions", "--json"]);
    let question = &questions["questions"][0];
    assert_eq!(question["taskId"], "A");
    assert_eq!(question["loopId"], id.as_str());
    assert_eq!(
        question["escalation"]["options"],
        json!(["Use v2", "Use v1 anyway"])
    );
    let overview = asked(&b, &["team", "--json"]);
    assert_eq!(overview["openLoops"], 1);
    assert_eq!(overview["openQuestions"], 1);

    // Its agent works: it is paused after that.
    let paused = asked(&b, &["team", "pause", &id[..13], "--json"]);
    assert_eq!(paused["state"], "done", "{paused}");
    std::fs::write(a.outside("go"), "").unwrap();
    wait_until("the other machine sees that it pauses", || {
        asked(&b, &["team", "loops", "--json"])["loops"][0]["state"] == "paused"
    });
    let name = question["id"].as_str().unwrap();
    let answered = asked(
        &b,
        &["team", "answer", name, "Use v3, it is out.", "--json"],
    );
    assert_eq!(answered["state"], "done", "{answered}");
    assert_eq!(answered["subject"], "question 1 about A");
    let said = answered["sentence"].as_str().unwrap();
    assert!(said.starts_with("question 1 about A is answered"), "{said}");
    let resumed = asked(&b, &["team", "resume", &id, "--json"]);
    assert_eq!(resumed["state"], "done", "{resumed}");
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A escalated", "B verified", "A verified"]);
    let prompts = std::fs::read_to_string(a.outside("prompts")).unwrap();
    assert!(prompts.contains("Use v3, it is out."), "{prompts}");

    // The end went up with the last round.
    let ended = asked(&b, &["team", "loops", "--json"]);
    assert_eq!(ended["loops"][0]["state"], "completed");
    assert_eq!(ended["loops"][0]["verified"], 2);
    let refused = b.ralph(&["team", "pause", &id]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("has ended\nhint: `ralph team loops --open`"),
        "{said}"
    );
    // Who answered is in the trail of the server.
    let trail = b.ralph(&["db", "audit", "--json"]).output().unwrap();
    let trail = String::from_utf8(trail.stdout).unwrap();
    assert!(
        trail
            .lines()
            .any(|line| line.contains("\"action\":\"answer\"")),
        "{trail}"
    );
    let verified = asked(&b, &["db", "audit", "--verify", "--json"]);
    assert_eq!(verified["ok"], true);
}

#[test]
fn the_first_sync_is_said_and_what_is_hidden_here_never_leaves_the_machine() {
    let server = TeamServer::start();
    let secret = "kL9vQ2xT7mWz4RbN8sYp";
    let a = server.machine(
        Project::with_stories(&[story("A")])
            .script(&json!({"default": [{"do": [
                {"write": {"path": "{id}.txt", "text": "x\n"}},
                {"say": format!("I read {secret} somewhere. Task {{id}} complete")},
            ]}]}))
            .env("SHOP_API_KEY", secret),
    );
    let ran = a.run(&[]).expect(0);
    let said: Vec<String> = ran
        .named("notice")
        .iter()
        .map(|notice| notice["message"].as_str().unwrap().to_owned())
        .collect();
    let first = said
        .iter()
        .find(|said| said.contains("from now on, tenant acme"));
    let first = first.unwrap_or_else(|| panic!("{}", ran.all()));
    assert!(
        first.ends_with("records, costs, checkpoints, questions (`store.include`)"),
        "{first}"
    );
    assert!(!first.contains("for-ada"), "{first}");
    let dump = server
        .database
        .sql("SELECT string_agg(t::text, ' ') FROM ralph.iteration t");
    assert!(dump.contains("somewhere"), "{dump}");
    assert!(!dump.contains(secret), "{dump}");
    // The second run has nothing to say about it.
    let again = a.run(&[]).expect(0);
    assert!(
        !again.all().contains("from now on, tenant acme"),
        "{}",
        again.all()
    );
}

#[test]
fn a_server_that_is_gone_never_stops_a_loop_and_is_caught_up_with() {
    let mut server = TeamServer::start();
    let a = server.machine(waits());
    let mut live = a.start(&[]);
    begun(&mut live);
    let b = server.onlooker();
    wait_until("the loop is on the server", || {
        asked(&b, &["team", "loops", "--json"])["loops"] != json!([])
    });
    server.cluster.crash();
    std::fs::write(a.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    let warned = ran.named("warning");
    let warned: Vec<&str> = warned
        .iter()
        .map(|w| w["message"].as_str().unwrap())
        .collect();
    let said = |text: &str| text.starts_with("not synced: ") && text.contains("the loop goes on");
    let told = warned.iter().filter(|text| said(text)).count()
        + ran.stderr().matches("not synced: ").count();
    assert_eq!(told, 1, "{}", ran.all());

    // From the data folder alone.
    let status = asked(&a, &["status", "--json"]);
    let waiting = status["sync"]["waiting"].as_u64().unwrap();
    assert!(waiting > 0, "{status}");
    assert!(status["sync"]["error"].is_string(), "{status}");
    let text = a.ralph(&["status"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("sync ")).unwrap();
    assert!(line.contains("changes wait, the oldest for "), "{line}");
    let failed = a.ralph(&["sync"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");

    server.cluster.start_again();
    let caught_up = asked(&a, &["sync", "--json"]);
    assert_eq!(caught_up["waiting"], 0, "{caught_up}");
    let loops = asked(&b, &["team", "loops", "--json"]);
    assert_eq!(loops["loops"][0]["state"], "completed");
    assert_eq!(loops["loops"][0]["verified"], 2);
    let status = asked(&a, &["status", "--json"]);
    assert_eq!(status["sync"]["waiting"], 0);
    assert_eq!(status["sync"]["error"], Value::Null);
}

#[test]
fn without_the_server_a_loop_spends_no_more_than_what_its_machine_was_granted() {
    let mut server = TeamServer::start();
    let stories: Vec<Value> = ["A", "B", "C", "D"].map(story).to_vec();
    let project = Project::with_stories(&stories);
    let go = project.outside("go");
    let script = json!({"default": [{"do": [
        {"say": "begun"},
        {"run": format!("while [ ! -e {} ]; do sleep 0.02; done", go.display())},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"usage": {"input": 100, "output": 20, "cost": 0.25}},
        {"say": "Task {id} complete"},
    ]}]});
    let a = server.machine(project.script(&script));
    let set = ["db", "budget", "set", "1", "--per", "total"];
    let mut set = a.ralph(&set);
    assert!(set.output().unwrap().status.success());
    // Sync has given the machine its name by then: it is that which a share is granted to.
    asked(&a, &["sync", "--json"]);
    let mut live = a.start(&[]);
    while live.wait_for("agent")["text"] != "begun" {}
    let granted = server
        .database
        .sql("SELECT sum(granted) FROM ralph.budget_share");
    assert_eq!(granted.trim(), "500000", "half, where costs are unknown");
    server.cluster.crash();
    std::fs::write(&go, "").unwrap();
    let ran = live.wait().expect(5);
    assert_eq!(a.landed(), ["A"], "{}", ran.all());
    let said = ran.one("loop_ended")["sentence"].to_string();
    assert!(
        said.contains("this machine's share, $0.50, of the organisation's budget of $1.00")
            && said.contains("the server can't be reached for more"),
        "{said}"
    );
}

#[test]
fn logs_and_prompts_leave_the_machine_only_where_they_are_asked_for() {
    let server = TeamServer::start();
    let count = || {
        server
            .database
            .sql("SELECT count(*) FROM ralph.iteration_log")
    };
    let a = server.machine(Project::with_stories(&[story("A"), story("B")]).script(&good_script()));
    a.run(&["--once"]).expect(0);
    assert_eq!(count(), "0");
    assert!(!a.repo.exists(".ralph/logs/iteration-1.prompt"));
    let a = a.env("RALPH_STORE_INCLUDE", "[records, logs, prompts]");
    a.run(&["--once"]).expect(0);
    asked(&a, &["sync", "--json"]);
    let kinds = server
        .database
        .sql("SELECT kind FROM ralph.iteration_log WHERE body LIKE '%Write B%' ORDER BY kind");
    assert!(kinds.contains("prompt"), "{kinds}");
    assert!(
        a.repo
            .read(".ralph/logs/iteration-2.prompt")
            .starts_with("== run 1\n")
    );
}

#[test]
fn an_agent_can_tell_other_machines_nothing() {
    let server = TeamServer::start();
    let project = Project::with_stories(&[story("A")]);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let a = server.machine(project.command(&format!(
        "cat > /dev/null\n\
         for words in 'team pause 0' 'team answer 1 x' 'sync' 'db budget set 1 --per day' 'db tenant add evil'; do\n\
         {ralph} $words 2>&1; echo \"code $?\"; done > result.txt\n\
         echo x > A.txt; echo 'Task A complete'",
    )));
    a.run(&[]).expect(0);
    let result = a.repo.git(["show", "HEAD:result.txt"]);
    assert_eq!(
        result.matches("is refused inside a run").count(),
        5,
        "{result}"
    );
    assert_eq!(result.matches("code 2").count(), 5, "{result}");
}

//! A journal on the server of a team, and nothing in SQLite.

use ralph_testkit::{
    TestRepo,
    postgres::{Cluster, Database},
    proxy::{Endpoint, Proxy},
};
use serde_json::{Value, json};

use crate::support::{Live, Project, good_script, prd, story, wait_until};

const ROLE: &str = "laptop";

/// A store that is set up, with tenant `acme` and a role for it.
pub(crate) struct Server {
    cluster: Cluster,
    pub(crate) database: Database,
    password: String,
}

impl Server {
    pub(crate) fn new(keeper: &Project) -> Self {
        let cluster = Cluster::start();
        let database = cluster.database();
        let mut server = Self {
            cluster,
            database,
            password: String::new(),
        };
        server.keep(keeper, &["init"]);
        server.keep(keeper, &["tenant", "add", "acme"]);
        let file = keeper.outside("password");
        let path = file.to_str().unwrap();
        server.keep(keeper, &["role", "add", ROLE, "--password-file", path]);
        server.password = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        server
    }

    /// `ralph db` as the server's keeper.
    fn keep(&self, keeper: &Project, args: &[&str]) {
        let mut command = keeper.ralph(&["db"]);
        command
            .args(args)
            .env("RALPH_STORE_URL", self.database.url());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    pub(crate) fn url(&self) -> String {
        self.database.url_of(ROLE, &self.password)
    }

    fn proxy(&self) -> (Proxy, String) {
        let proxy = Proxy::unix(Endpoint::Unix(self.cluster.socket()));
        let folder = proxy.socket_folder();
        let url = self.database.url_at(folder, 5432, ROLE, &self.password);
        (proxy, url)
    }
}

/// Has the project's journal on the server.
pub(crate) fn on_server(project: Project, url: &str) -> Project {
    project
        .env("RALPH_STORE_MODE", "direct")
        .env("RALPH_STORE_TENANT", "acme")
        .env("RALPH_STORE_URL", url)
}

fn two_stories() -> Project {
    Project::with_stories(&[story("A"), story("B")])
}

/// What a command prints as JSON.
fn told(project: &Project, args: &[&str]) -> Value {
    let output = project.ralph(args).arg("--json").output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_loop_whose_journal_is_on_a_server_lands_its_work_and_commands_read_it_there() {
    let project = two_stories().script(&json!({"default": [{"do": [
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"usage": {"input": 100, "output": 20, "cost": 0.25}},
        {"say": "Task {id} complete"},
    ]}]}));
    let server = Server::new(&project);
    let project = on_server(project, &server.url());
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(!project.data_dir().join("ralph.db").exists());
    assert_eq!(told(&project, &["status"])["tasks"]["completed"], 2);
    assert_eq!(told(&project, &["cost"])["total"]["spentUsd"], 0.5);
    let loops = told(&project, &["loops"]);
    assert_eq!(loops["loops"][0]["verified"], 2, "{loops}");
    for args in [
        &["logs"][..],
        &["report"],
        &["checkpoint", "list"],
        &["checkpoint", "verify"],
        &["tokens"],
        &["health"],
        &["escalations"],
        &["monitor", "--once"],
        &["revert", "--iteration", "2"],
    ] {
        let output = project.ralph(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    assert_eq!(told(&project, &["status"])["tasks"]["completed"], 1);
}

#[test]
fn a_loop_that_was_killed_goes_on_from_the_journal_on_the_server_and_lands_once() {
    let project = two_stories().script(&good_script());
    let server = Server::new(&project);
    let project = on_server(project, &server.url());
    for place in ["agent-ended", "land-intended", "committed", "landed"] {
        let ran = project.run_with("RALPH_FAILPOINT", place);
        assert_eq!(ran.code(), -9, "{place}: {}", ran.all());
    }
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    project.assert_nothing_alive();
}

#[test]
fn a_server_that_goes_away_while_an_agent_works_is_waited_for_with_the_agent_kept() {
    let project = Project::new();
    let go = project.outside("go");
    project.repo.prd(&prd(&[story("A")])).commit("tasks");
    let project = project.command(&format!(
        "echo begun; while ! [ -e {go} ]; do sleep 0.05; done; echo x > A.txt; echo 'Task A complete'",
        go = go.display()
    ));
    let server = Server::new(&project);
    let (proxy, url) = server.proxy();
    let project = on_server(project, &url);
    let mut live = project.start(&[]);
    while live.wait_for("agent")["text"] != "begun" {}
    proxy.refuse(true);
    proxy.cut();
    std::fs::write(&go, "").unwrap();
    let before = proxy.accepted();
    // It tries again and again.
    wait_until("the loop waits for the server", || {
        proxy.accepted() > before + 2
    });
    proxy.refuse(false);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.landed(), ["A"]);
    assert!(
        ran.stderr().contains("can't be reached: waiting for it"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn a_server_that_stays_away_ends_the_loop_with_1_and_the_next_run_goes_on() {
    let project = Project::new();
    let (go, runs) = (project.outside("go"), project.outside("runs"));
    let stories = prd(&[story("A"), story("B")]);
    project.repo.prd(&stories).commit("tasks");
    let project = project.command(&format!(
        "echo $RALPH_TASK_ID >> {runs}; echo begun; while ! [ -e {go} ]; do sleep 0.05; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        runs = runs.display(),
    ));
    let server = Server::new(&project);
    let (proxy, url) = server.proxy();
    let project = on_server(project, &url);
    let mut command = project.run_command(&[]);
    // In place of 10 minutes.
    command.env("RALPH_LIMIT", "server:300");
    let mut live = Live::start(command);
    while live.wait_for("agent")["text"] != "begun" {}
    proxy.refuse(true);
    proxy.cut();
    std::fs::write(&go, "").unwrap();
    let ran = live.wait().expect(1);
    let said = ran.stderr();
    assert!(said.contains("can't be reached: waiting for it"), "{said}");
    assert!(said.contains("hint: nothing is lost"), "{said}");
    assert_eq!(project.landed(), [""; 0]);
    project.assert_nothing_alive();
    proxy.refuse(false);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    let ended = "SELECT count(*), count(ended_at), max(n) FROM ralph.iteration";
    let rows = server.database.sql(ended);
    let agents = std::fs::read_to_string(runs).unwrap().lines().count();
    assert_eq!(rows.trim(), format!("{agents}|{agents}|{agents}"));
}

#[test]
fn a_team_sees_and_steers_a_loop_whose_journal_is_on_the_server() {
    let project = two_stories();
    let (go, prompts) = (project.outside("go"), project.outside("prompts"));
    let project = project.command(&format!(
        "cat >> {prompts}; echo begun; while ! [ -e {go} ]; do sleep 0.05; done\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"",
        go = go.display(),
        prompts = prompts.display(),
    ));
    let server = Server::new(&project);
    let project = on_server(project, &server.url());
    let other = Project::of(TestRepo::bare_folder())
        .env("RALPH_STORE_TENANT", "acme")
        .env("RALPH_STORE_URL", server.url());
    let mut live = project.start(&[]);
    while live.wait_for("agent")["text"] != "begun" {}
    let loops = told(&other, &["team", "loops", "--open"]);
    let id = loops["loops"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(loops["loops"][0]["state"], "running", "{loops}");
    let paused = told(&other, &["team", "pause", &id]);
    assert_eq!(paused["state"], "done", "{paused}");
    let words = told(&other, &["team", "say", &id, "Use short names."]);
    assert_eq!(words["state"], "done", "{words}");
    std::fs::write(&go, "").unwrap();
    wait_until("the team sees that it pauses", || {
        told(&other, &["team", "loops"])["loops"][0]["state"] == "paused"
    });
    let resumed = told(&other, &["team", "resume", &id]);
    assert_eq!(resumed["state"], "done", "{resumed}");
    live.wait().expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    let prompts = std::fs::read_to_string(prompts).unwrap();
    assert!(prompts.contains("Use short names."), "{prompts}");
    let loops = told(&other, &["team", "loops"]);
    assert_eq!(loops["loops"][0]["verified"], 2, "{loops}");
    let deeds = "SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM ralph.audit WHERE actor_kind = 'person'";
    assert_eq!(server.database.sql(deeds).trim(), "pause resume say");
}

/// What is done to a server, how it is mended, and what is said of it.
type ServerDamage = (&'static str, &'static str, i32, &'static str);

#[test]
fn a_server_that_can_not_be_used_is_named_in_one_line_and_nothing_is_half_done() {
    let project = two_stories().script(&good_script());
    let server = Server::new(&project);
    let head = project.repo.git(["rev-parse", "HEAD"]);
    let project = on_server(project, &server.url());
    let damages: [ServerDamage; 3] = [
        (
            "INSERT INTO ralph.schema_version (version, description, checksum) VALUES (99, 'later', '')",
            "DELETE FROM ralph.schema_version WHERE version = 99",
            2,
            "was set up by a newer ralph (schema 99",
        ),
        (
            "REVOKE ralph_app FROM laptop",
            "GRANT ralph_app TO laptop",
            2,
            "role laptop may not ",
        ),
        (
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
             CREATE TRIGGER full_disk BEFORE INSERT ON ralph.loop EXECUTE FUNCTION full_disk()",
            "DROP TRIGGER full_disk ON ralph.loop",
            1,
            " is full",
        ),
    ];
    for (broken, mended, code, said) in damages {
        server.database.sql(broken);
        let output = project.run_command(&[]).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{broken}: {text}");
        let errors: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        assert!(
            errors.len() == 1 && errors[0].contains(said),
            "{broken}: {text}"
        );
        assert_eq!(server.database.sql("SELECT count(*) FROM ralph.loop"), "0");
        server.database.sql(mended);
    }
    assert_eq!(project.repo.git(["rev-parse", "HEAD"]), head);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn what_is_wrong_with_the_server_is_one_line_and_nothing_is_changed() {
    let project = two_stories().script(&good_script());
    let server = Server::new(&project);
    let head = project.repo.git(["rev-parse", "HEAD"]);
    let bad_password = server.database.url_of(ROLE, "wrong");
    let nowhere = format!("postgres://{ROLE}:x@%2Fnowhere/ralph");
    let project = on_server(project, &server.url());
    for (name, value, code, said) in [
        ("RALPH_STORE_TENANT", "nobody", 2, "no tenant nobody"),
        ("RALPH_STORE_URL", &*bad_password, 2, "wrong password"),
        ("RALPH_STORE_URL", &*nowhere, 1, "can't reach the store"),
        ("RALPH_STORE_MODE", "everywhere", 2, "store.mode"),
    ] {
        let mut command = project.run_command(&[]);
        let output = command.env(name, value).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}={value}: {text}");
        assert!(text.contains(said), "{name}={value}: {text}");
    }
    assert_eq!(project.repo.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_budget_of_the_team_ends_a_loop_before_it_is_overspent() {
    let project = Project::with_stories(&[story("A"), story("B"), story("C"), story("D")]).script(
        &json!({"default": [{"do": [
            {"write": {"path": "{id}.txt", "text": "{id}\n"}},
            {"usage": {"input": 100, "output": 20, "cost": 0.25}},
            {"say": "Task {id} complete"},
        ]}]}),
    );
    let server = Server::new(&project);
    let url = server.url();
    let project = on_server(project, &url);
    let mut set = project.ralph(&["db", "budget", "set", "1", "--per", "total"]);
    let output = set
        .env("RALPH_STORE_URL", server.database.url())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let ran = project.run(&[]).expect(5);
    // As with any budget, what reaches it is stopped.
    assert_eq!(project.landed(), ["A", "B", "C"], "{}", ran.all());
    let said = ran.one("loop_ended")["sentence"].to_string();
    assert!(said.contains("organisation's budget of $1.00"), "{said}");
    let all = ran.all();
    assert!(
        all.contains("`ralph db budget set` where it is a team's"),
        "{all}"
    );
    let held = "SELECT sum(granted) <= 1000000, sum(granted) = (SELECT sum(taken) FROM ralph.budget_period)
                FROM ralph.budget_share";
    assert_eq!(server.database.sql(held).trim(), "t|t");
}

//! Many loops at once on one journal, in a file and on a server, with people who look on: nothing is lost, nothing counts twice,
//! and nobody is told that the database is locked.
//!
//! `RALPH_CROWD_LOOPS` says how many loops there are, and `RALPH_CROWD_TASKS` how many tasks each of them
//! has, for a longer round.

use std::{
    path::Path,
    process::Output,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ralph_testkit::TestRepo;
use serde_json::{Value, json};

use crate::{
    direct::{Server, on_server},
    support::{Live, Project, story},
};

/// On a machine that is busy with other things too.
const LIMIT: Duration = Duration::from_secs(600);

fn loops() -> usize {
    wanted("RALPH_CROWD_LOOPS").unwrap_or(8)
}

fn tasks() -> usize {
    wanted("RALPH_CROWD_TASKS").unwrap_or(2)
}

fn wanted(name: &str) -> Option<usize> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|e| panic!("{name}={text}: {e}")),
    )
}

/// A repository of its own, with the journal of all.
fn project(data_dir: &Path) -> Project {
    let stories: Vec<Value> = (1..=tasks()).map(|n| story(&format!("T{n}"))).collect();
    let script = json!({"default": [{"do": [
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"usage": {"input": 100, "output": 20, "cost": 0.25}},
        {"say": "Task {id} complete"},
    ]}]});
    Project::with_stories(&stories)
        .script(&script)
        .env("RALPH_DATA_DIR", data_dir)
}

/// What `sqlite3` answers, line by line.
fn ask(data_dir: &Path, sql: &str) -> Vec<String> {
    let output = std::process::Command::new("sqlite3")
        .arg(data_dir.join("ralph.db"))
        .arg(sql)
        .output()
        .expect("sqlite3 is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error.is_empty(),
        "{sql}: {error}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Fails if a command did not go well, or said anything of a lock.
#[track_caller]
fn assert_undisturbed(what: &str, output: &Output) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(
        output.status.success(),
        "{what}: {}: {stdout}{stderr}",
        output.status
    );
    for word in ["locked", "busy", "journal"] {
        assert!(!stderr.contains(word), "{what} says {word}: {stderr}");
    }
    assert!(!stdout.contains("is locked"), "{what}: {stdout}");
}

/// Runs one loop to its end; somebody tells it something meanwhile.
fn run_one(project: &Project, all: &Barrier) -> String {
    all.wait();
    let mut live = Live::start_within(project.run_command(&[]), LIMIT);
    let started = live.wait_for("loop_started");
    let said = project.ralph(&["say", "use short names"]).output().unwrap();
    assert_undisturbed("ralph say", &said);
    let ran = live.wait();
    let output = Output {
        status: ran.status,
        stdout: ran.stdout,
        stderr: ran.stderr,
    };
    assert_undisturbed("ralph run", &output);
    started["loopId"].as_str().unwrap().to_owned()
}

/// Looks at everything, again and again, until all is over.
fn look_on(projects: &[Project], over: &AtomicBool, from: usize) -> usize {
    let questions: [&[&str]; 3] = [&["status"], &["loops", "--all"], &["cost"]];
    let mut looks = 0;
    while !over.load(Ordering::Relaxed) {
        let project = &projects[(from + looks) % projects.len()];
        let args = questions[looks % questions.len()];
        let output = project.ralph(args).output().unwrap();
        assert_undisturbed(&format!("ralph {args:?}"), &output);
        looks += 1;
    }
    looks
}

fn assert_whole(data_dir: &Path, ids: &mut [String]) {
    let tasks = tasks();
    ids.sort();
    assert_eq!(ask(data_dir, "PRAGMA integrity_check"), ["ok"]);
    assert_eq!(ask(data_dir, "PRAGMA foreign_key_check"), [""; 0]);
    assert_eq!(ask(data_dir, "SELECT id FROM loop ORDER BY id"), *ids);
    // What each loop came to, by its row, by its iterations and by its calls to models.
    let whole = format!(
        "{tasks}|{tasks}|{}|{}|{}|1",
        tasks * 250_000,
        tasks * 100,
        tasks * 20
    );
    let each = "SELECT DISTINCT iterations, verified, cost_millionths, input_tokens, output_tokens,
                                ended_at IS NOT NULL FROM loop";
    assert_eq!(ask(data_dir, each), [whole]);
    let numbered = "SELECT DISTINCT c, lowest, highest, verified FROM
        (SELECT COUNT(*) AS c, MIN(n) AS lowest, MAX(n) AS highest,
                SUM(verdict = 'verified' AND record IS NOT NULL) AS verified
         FROM iteration GROUP BY repository_id, loop_id)";
    let numbers = format!("{tasks}|1|{tasks}|{tasks}");
    assert_eq!(ask(data_dir, numbered), [numbers]);
    let calls = loops() * tasks;
    let recorded = "SELECT COUNT(*), SUM(input), SUM(output), SUM(spent) FROM token_record";
    let sums = format!("{calls}|{}|{}|{}", calls * 100, calls * 20, calls * 250_000);
    assert_eq!(ask(data_dir, recorded), [sums.as_str()]);
    // Every kind of sum comes to the same: over all days, and over each of them.
    let summed =
        "SELECT repository_id = '', dimension, day = '', SUM(calls), SUM(input), SUM(output),
                         SUM(spent)
                  FROM token_total WHERE length(day) IN (0, 10) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    let kinds = ["loop", "loop_part", "loop_task", "model", "task", "total"];
    let mut expected: Vec<String> = kinds
        .iter()
        .flat_map(|kind| [0, 1].map(|all| format!("0|{kind}|{all}|{sums}")))
        .collect();
    expected.extend([0, 1].map(|all| format!("1|total|{all}|{sums}")));
    assert_eq!(ask(data_dir, summed), expected);
    assert_queue_and_chains(data_dir);
}

fn assert_queue_and_chains(data_dir: &Path) {
    let chains = "SELECT COUNT(*) FROM checkpoint c WHERE NOT CASE n
            WHEN 1 THEN prev_hash IS NULL
            ELSE EXISTS (SELECT 1 FROM checkpoint p WHERE p.loop_id = c.loop_id
                         AND p.n = c.n - 1 AND p.hash = c.prev_hash) END";
    assert_eq!(ask(data_dir, chains), ["0"]);
    // One for each iteration, and that of the stop.
    let at_least = "SELECT COUNT(*) FROM (SELECT loop_id, COUNT(*) AS c FROM checkpoint GROUP BY 1)
                    WHERE c > ";
    let many = loops().to_string();
    let sql = format!("{at_least} {}", tasks());
    assert_eq!(ask(data_dir, &sql), [many.as_str()]);
    let obeyed = "SELECT COUNT(*), SUM(done_at IS NOT NULL) FROM command";
    assert_eq!(ask(data_dir, obeyed), [format!("{many}|{many}")]);
    assert_eq!(ask(data_dir, "SELECT COUNT(*) FROM guidance"), [many]);
}

#[test]
fn many_loops_share_a_journal_and_nothing_is_lost() {
    let loops = loops();
    let shared = TestRepo::bare_folder();
    let data_dir = shared.data_dir();
    let projects: Vec<Project> = (0..loops).map(|_| project(&data_dir)).collect();
    let (all, over) = (Barrier::new(loops), AtomicBool::new(false));
    let mut ids: Vec<String> = std::thread::scope(|scope| {
        let lookers = [0, loops / 2].map(|from| {
            let (projects, over) = (&projects, &over);
            scope.spawn(move || look_on(projects, over, from))
        });
        let runs: Vec<_> = projects
            .iter()
            .map(|project| scope.spawn(|| run_one(project, &all)))
            .collect();
        let ids: Vec<_> = runs.into_iter().map(|run| run.join()).collect();
        over.store(true, Ordering::Relaxed);
        let looks = lookers.map(|looker| looker.join().unwrap());
        assert!(looks.iter().all(|looks| *looks > 4), "{looks:?}");
        ids.into_iter().map(Result::unwrap).collect()
    });
    assert_whole(&data_dir, &mut ids);
    let told = projects[0].told(&["checkpoint", "verify"]);
    assert!(told.contains("the hash chain is intact"), "{told}");
}

#[test]
fn many_loops_share_a_journal_on_a_server_and_nothing_is_lost() {
    let (loops, tasks) = (loops(), tasks());
    let keeper = Project::of(TestRepo::bare_folder());
    let server = Server::new(&keeper);
    let shared = TestRepo::bare_folder();
    let url = server.url();
    let direct = |_| on_server(project(&shared.data_dir()), &url);
    let projects: Vec<Project> = (0..loops).map(direct).collect();
    let all = Barrier::new(loops);
    std::thread::scope(|scope| {
        for project in &projects {
            scope.spawn(|| run_one(project, &all));
        }
    });
    assert!(!shared.data_dir().join("ralph.db").exists());
    let sql = |text: &str| server.database.sql(text);
    let each = format!("{tasks}|{tasks}|{}|{}|t", tasks * 250_000, tasks * 100);
    let whole = "SELECT DISTINCT iterations, verified, cost_millionths, input_tokens, ended_at IS NOT NULL FROM ralph.loop";
    assert_eq!(sql(whole).trim(), each);
    let calls = loops * tasks;
    let numbered =
        "SELECT count(*), min(n), max(n), count(DISTINCT (repository_id, n)) FROM ralph.iteration";
    assert_eq!(sql(numbered).trim(), format!("{calls}|1|{tasks}|{calls}"));
    let summed = "SELECT sum(calls), sum(spent) FROM ralph.token_total
                  WHERE dimension = 'total' AND repository_id = '' AND day = ''";
    assert_eq!(sql(summed).trim(), format!("{calls}|{}", calls * 250_000));
    let obeyed =
        "SELECT count(*), count(done_at) FROM ralph.command WHERE body::json ->> 'command' = 'say'";
    assert_eq!(sql(obeyed).trim(), format!("{loops}|{loops}"));
    let chained = "SELECT count(*) FROM ralph.checkpoint c WHERE n > 1 AND NOT EXISTS (
                     SELECT 1 FROM ralph.checkpoint p WHERE p.loop_id = c.loop_id AND p.n = c.n - 1 AND p.hash = c.prev_hash)";
    assert_eq!(sql(chained).trim(), "0");
    let told = projects[0].told(&["db", "audit", "--verify"]);
    assert!(told.starts_with("ok "), "{told}");
}

#[test]
fn many_processes_that_find_an_older_journal_bring_it_forward_once() {
    let shared = TestRepo::bare_folder();
    let data_dir = shared.data_dir();
    let project = project(&data_dir);
    project.run(&["--once"]).expect(0);
    // As the ralph before left it.
    let older = "DROP TRIGGER token_total_begins; DROP TRIGGER token_total_grows;
                 DROP TABLE token_month; DELETE FROM _sqlx_migrations WHERE version = 9";
    ask(&data_dir, older);
    let many: Vec<_> = (0..12)
        .map(|_| project.order(&["cost", "--since", "2020-01-01"]))
        .collect();
    for one in many {
        let output = one.wait_with_output().unwrap();
        assert_undisturbed("ralph cost", &output);
        assert!(String::from_utf8_lossy(&output.stdout).contains("$0.25"));
    }
    let months = "SELECT dimension, spent FROM token_month ORDER BY 1";
    assert_eq!(ask(&data_dir, months), ["loop|250000", "task|250000"]);
    let names = std::fs::read_dir(&data_dir).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let backups = names.filter(|name| name.contains("backup") || name.contains("half"));
    assert_eq!(backups.count(), 1);
}

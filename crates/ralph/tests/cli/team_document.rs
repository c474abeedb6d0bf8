//! The ten commands of docs/team.md, given as they stand there: on a server and on two laptops.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use ralph_testkit::{TestRepo, postgres::program};
use serde_json::json;

use crate::team_ground::TeamServer;

const DOCUMENT: &str = include_str!("../../../../docs/team.md");

/// The commands, each with the machine on which it is given.
fn commands() -> Vec<(&'static str, &'static str)> {
    let block = DOCUMENT.split("```console\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    block
        .lines()
        .map(|line| line.split_once("$ ").unwrap())
        .collect()
}

/// A shell that stays, as in a terminal.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn on(machine: &TestRepo, vars: &[(&str, &str)], path: &str) -> Self {
        let mut child = machine
            .command("sh")
            .envs(vars.iter().copied())
            .env("PATH", path)
            .env_remove("RALPH_DATA_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// What a command says, of one that goes well.
    #[track_caller]
    fn give(&mut self, command: &str) -> String {
        writeln!(
            self.input,
            "{{ {command}\n}} 2>&1 </dev/null\necho \"code $?\""
        )
        .unwrap();
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "{command}: {said}"
            );
            if let Some(code) = line.strip_prefix("code ") {
                assert_eq!(code.trim(), "0", "{command}: {said}");
                return said;
            }
            said.push_str(&line);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_ten_commands_of_the_document_work_as_they_stand_there() {
    let commands = commands();
    assert_eq!(commands.len(), 10);
    let server = TeamServer::empty();
    let socket = server.cluster.socket_folder().display().to_string();
    let address = |role: &str| format!("postgresql://{role}@{}/ralph", socket.replace('/', "%2F"));

    let machines = ["server", "ada", "bob"].map(|name| (name, TestRepo::new()));
    let tools = TestRepo::bare_folder();
    let home = machines[0].1.root().display().to_string();
    // Between two real machines it asks for a key; here the server's folder is at hand.
    tools.script(
        "scp",
        &format!("#!/bin/sh\n[ \"$1\" = -p ] && exec cp -p \"{home}/${{2#server:}}\" \"$3\"\n"),
    );
    let ralph = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap();
    let postgres = program("psql");
    let path = [tools.root(), ralph, postgres.parent().unwrap()]
        .map(|folder| folder.display().to_string());
    let path = format!("{}:{}", path.join(":"), std::env::var("PATH").unwrap());

    let ada = &machines[1].1;
    ada.prd(
        &json!({"project": "Shop", "branchName": "ralph/shop", "userStories": [{
            "id": "US-001", "title": "Add a cart", "acceptanceCriteria": ["cart.txt is there"],
            "verify": ["test -f cart.txt"], "passes": false,
        }]}),
    );
    let script = json!({"default": [{"do": [
        {"write": {"path": "cart.txt", "text": "x\n"}}, {"say": "Task {id} complete"},
    ]}]});
    std::fs::write(ada.outside().join("script.json"), script.to_string()).unwrap();
    let agent = format!(
        "agent: script:{}\n",
        ada.outside().join("script.json").display()
    );
    ada.file("ralph.yaml", agent).commit("tasks");

    let (keeper, store) = (address("postgres"), address("acme"));
    let vars = [
        ("KEEPER", keeper.as_str()),
        ("STORE", &store),
        ("PGHOST", &socket),
        ("PGUSER", "postgres"),
    ];
    let mut shells: Vec<(&str, Shell)> = machines
        .iter()
        .map(|(name, place)| (*name, Shell::on(place, &vars, &path)))
        .collect();
    let mut said = Vec::new();
    for (machine, command) in &commands {
        let (_, shell) = shells.iter_mut().find(|(name, _)| name == machine).unwrap();
        said.push(shell.give(command));
    }
    for told in &said {
        assert!(!told.contains("is not used"), "{told}");
    }
    let last = said.pop().unwrap();
    assert!(
        last.starts_with(
            "tenant acme: 1 machine, 0 open loops, 0 open questions, $0.00 this month\n"
        ),
        "{last}"
    );
    let (_, bob) = shells.last_mut().unwrap();
    let loops = bob.give("ralph team loops");
    assert!(
        loops.contains("completed") && loops.contains("1/1"),
        "{loops}"
    );
}

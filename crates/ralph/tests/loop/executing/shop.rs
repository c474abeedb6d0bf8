//! A project named `shop` as the workflow's own tool makes it, and an agent in Python that does as it
//! is told, or otherwise.

use serde_json::{Value, json};

use crate::support::{Live, Project, Ran};

/// What every agent here begins with. `whole()` is one that does all that its prompt asks for.
const AGENT: &str = r#"
import json, os, pathlib, subprocess, sys, time
D = pathlib.Path('.artefacts/shop')
TASK, N = os.environ['RALPH_TASK_ID'], int(os.environ['RALPH_ITERATION'])
RUN = os.environ['RALPH_RUN']
pathlib.Path(sys.argv[1], f'prompt-{N}-{RUN}').write_text(sys.stdin.read())
def load(name): return json.loads((D / name).read_text())
def save(name, value): (D / name).write_text(json.dumps(value, indent=2))
def work(): pathlib.Path(TASK + '.txt').write_text(TASK + '\n')
def log(status='completed', task=TASK, **more):
    entry = {'iteration': N, 'task_id': task, 'status': status, 'summary': 'did ' + task,
             'files_modified': [task + '.txt'], 'obstacles': []}
    save('state.json', load('state.json') + [entry | more])
def mark(*ids):
    tasks = load('tasks.json')
    for task in tasks['tasks']:
        if task['id'] in ids: task.update(status='completed', attempts=task['attempts'] + 1)
    save('tasks.json', tasks)
def meet(**obstacle):
    found = load('obstacles.json')
    found['obstacles'].append(obstacle)
    save('obstacles.json', found)
def commit():
    subprocess.run(['git', 'add', '-A'], check=True)
    subprocess.run(['git', 'commit', '-qm', 'by the agent'], check=True)
def done(): (D / 'done.md').write_text('finished\n')
def whole(): work(); log(); mark(TASK); commit(); done()
"#;

/// A task as the workflow writes it, verified by its file being there.
pub(super) fn task(id: &str, after: &[&str]) -> Value {
    json!({
        "id": id, "title": format!("Write {id}"), "description": format!("{id}.txt is wanted"),
        "verify": [format!("test -f {id}.txt")],
        "status": "pending", "dependencies": after, "attempts": 0, "max_attempts": 3, "blocked": false,
    })
}

pub(super) fn tasks(list: &[Value]) -> String {
    let file = json!({"project_name": "shop", "version": 1, "tasks": list});
    serde_json::to_string_pretty(&file).unwrap() + "\n"
}

/// Whether git knows the files of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracked {
    Yes,
    /// Neither added nor ignored.
    No,
    Ignored,
}

pub(super) struct Shop {
    pub(super) project: Project,
}

impl Shop {
    /// Has agents work in the project's own folder.
    pub(super) fn in_place(mut self) -> Self {
        self.project = self.project.in_place();
        self
    }

    /// Two tasks, the second after the first, in files that git tracks.
    pub(super) fn new(python: &str) -> Self {
        Self::with(
            &[task("T1", &[]), task("T2", &["T1"])],
            Tracked::Yes,
            python,
        )
    }

    pub(super) fn with(list: &[Value], tracked: Tracked, python: &str) -> Self {
        let project = Project::new();
        if tracked == Tracked::Ignored {
            project
                .repo
                .file(".gitignore", ".artefacts/\n")
                .commit("ignore");
        }
        project.repo.file(".artefacts/shop/tasks.json", tasks(list));
        if tracked == Tracked::Yes {
            project.repo.commit("tasks");
        }
        Self { project }.agent(python)
    }

    /// Works with this agent from now on.
    pub(super) fn agent(self, python: &str) -> Self {
        let program = self.project.outside("agent.py");
        std::fs::write(&program, format!("{AGENT}\n{python}\n")).unwrap();
        let outside = self.project.repo.outside().display().to_string();
        let shell = format!("exec python3 {} {outside}", program.display());
        let project = self.project.command(&shell);
        Self { project }
    }

    pub(super) fn env(self, name: &str, value: &str) -> Self {
        let project = self.project.env(name, value);
        Self { project }
    }

    pub(super) fn execute(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    pub(super) fn start(&self, args: &[&str]) -> Live {
        Live::start(self.project.execute_command("shop", args))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> &Self {
        self.project
            .repo
            .file(format!(".artefacts/shop/{name}"), text);
        self
    }

    pub(super) fn read(&self, name: &str) -> String {
        self.project.repo.read(format!(".artefacts/shop/{name}"))
    }

    pub(super) fn json(&self, name: &str) -> Value {
        let text = self.read(name);
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}"))
    }

    pub(super) fn is_there(&self, name: &str) -> bool {
        self.project.repo.exists(format!(".artefacts/shop/{name}"))
    }

    /// `id status attempts` of every task.
    pub(super) fn standing(&self) -> Vec<String> {
        let file = self.json("tasks.json");
        let tasks = file["tasks"].as_array().unwrap().iter();
        tasks
            .map(|t| format!("{} {} {}", t["id"], t["status"], t["attempts"]).replace('"', ""))
            .collect()
    }

    /// `iteration task status` of every entry of the log.
    pub(super) fn log(&self) -> Vec<String> {
        let file = self.json("state.json");
        let entries = file.as_array().unwrap().iter();
        entries
            .map(|e| {
                format!("{} {} {}", e["iteration"], e["task_id"], e["status"]).replace('"', "")
            })
            .collect()
    }

    /// What the agent of an iteration was told.
    pub(super) fn prompt(&self, iteration: u32, run: u32) -> String {
        let path = self.project.outside(&format!("prompt-{iteration}-{run}"));
        std::fs::read_to_string(path).unwrap()
    }

    /// Reads the files as the workflow's own tool would: by the fields that it writes itself.
    #[track_caller]
    pub(super) fn assert_readable_by_the_workflows_tool(&self) {
        let output = self
            .project
            .repo
            .command("python3")
            .args(["-c", READER])
            .arg(self.project.repo.path(".artefacts/shop"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}

const READER: &str = r#"
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
tasks = json.loads((folder / 'tasks.json').read_text())
assert list(tasks) == ['project_name', 'version', 'tasks'], list(tasks)
assert tasks['project_name'] == 'shop' and tasks['version'] == 1
ids = {task['id'] for task in tasks['tasks']}
for task in tasks['tasks']:
    fields = set(task) - {'verify', 'acceptance'}
    assert fields == {'id', 'title', 'description', 'status', 'dependencies', 'attempts',
                      'max_attempts', 'blocked'}, fields
    assert task['status'] in ('pending', 'in_progress', 'completed', 'blocked')
    assert type(task['attempts']) is int and type(task['max_attempts']) is int
    assert type(task['blocked']) is bool and set(task['dependencies']) <= ids
state = json.loads((folder / 'state.json').read_text())
for entry in state:
    assert set(entry) == {'iteration', 'task_id', 'status', 'summary', 'files_modified',
                          'obstacles'}, entry
    assert type(entry['iteration']) is int and entry['task_id'] in ids
    assert entry['status'] in ('completed', 'attempted') and type(entry['summary']) is str
    assert all(type(text) is str for text in entry['files_modified'] + entry['obstacles'])
obstacles = json.loads((folder / 'obstacles.json').read_text())
assert list(obstacles) == ['obstacles']
for one in obstacles['obstacles']:
    assert set(one) == {'id', 'task_id', 'message', 'resolved', 'iteration'}, one
    assert type(one['resolved']) is bool and type(one['iteration']) is int
assert len({one['id'] for one in obstacles['obstacles']}) == len(obstacles['obstacles'])
assert not (folder / 'done.md').exists()
"#;

//! Honest work of many shapes, none of which may be refused: renames, untracking, renormalising, generated files,
//! lock files, submodules, linked worktrees, monorepos, big files, dependencies, commits of the agent's own, and
//! the many ways to say that a task is done. Each landed iteration is one honest run; there are at least
//! [`AT_LEAST`] of them, in both kinds of workspace.

mod dependencies;
mod formats;
mod places;
mod shapes;

use serde_json::{Map, Value, json};

use crate::scene::{MODES, assert_whole, deed, patient, refusals, story_by};
use crate::support::{Project, Ran, prd};

/// The honest runs that there must be in all.
const AT_LEAST: usize = 200;

/// One loop of honest agents, one after the other in the same repository.
struct Group {
    name: &'static str,
    /// Makes the files of the base, in a shell.
    base: &'static str,
    config: &'static str,
    /// For each iteration, the agent's work in a shell and the command that verifies it.
    runs: &'static [(&'static str, &'static str)],
    /// Must hold in the folder and in a fresh clone, once all have landed.
    after: &'static str,
}

/// Ids of so many tasks, in their order.
fn ids(count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("H{n:02}")).collect()
}

impl Group {
    fn project(&self, mode: &str) -> Project {
        self.project_of(mode, &|does| does.to_owned())
    }

    /// The project with other words for what its agents do.
    fn project_of(&self, mode: &str, reword: &dyn Fn(&str) -> String) -> Project {
        let project = patient(Project::new(), mode);
        shell(&project, self.base, self.name);
        let ids = ids(self.runs.len());
        let runs = ids.iter().zip(self.runs);
        let stories: Vec<Value> = runs
            .clone()
            .map(|(id, (_, verify))| story_by(id, &[verify]))
            .collect();
        let tasks: Map<String, Value> = runs
            .map(|(id, (does, _))| {
                (
                    id.clone(),
                    json!([deed(&format!("set -e; {}", reword(does)))]),
                )
            })
            .collect();
        project.repo.prd(&prd(&stories));
        project.repo.file("ralph.yaml", self.config).commit("base");
        project.script(&json!({"tasks": tasks}))
    }

    /// Works in the person's own folder within a sandbox, where the git folder can only be read.
    fn check_in_place_with_walls(&self) {
        let reword = |does: &str| {
            let plain = does.replace("git mv", "mv").replace("git rm -rq", "rm -r");
            plain.replace("git rm -q", "rm")
        };
        let project = self.project_of("in_place", &reword);
        self.check_of(&project.env("RALPH_SAFETY_SANDBOX", "auto"), "in_place");
    }

    fn check(&self, mode: &str) {
        self.check_of(&self.project(mode), mode);
    }

    fn check_of(&self, project: &Project, mode: &str) {
        let how = format!("{mode}, {}", self.name);
        let ran = project.run(&[]);
        assert_all_landed(project, &ran, self.runs.len(), &how);
        if mode == "in_place" {
            // What verify commands leave untracked stays in the folder.
            project.repo.git(["clean", "-fdq"]);
        }
        assert_whole(project, &how);
        assert_in_folder_and_clone(project, self.after, &how);
    }
}

/// Fails if an honest run was refused, failed, or did not land.
#[track_caller]
fn assert_all_landed(project: &Project, ran: &Ran, count: usize, how: &str) {
    let refused: Vec<String> = refusals(ran)
        .into_iter()
        .filter(|r| !r.is_empty())
        .collect();
    assert_eq!(refused, [""; 0], "{how}: refused");
    let verdicts: Vec<String> = ids(count)
        .iter()
        .map(|id| format!("{id} verified"))
        .collect();
    assert_eq!(ran.verdicts(), verdicts, "{how}: {}", ran.all());
    assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    assert_eq!(project.landed(), ids(count), "{how}");
}

#[track_caller]
fn assert_in_folder_and_clone(project: &Project, check: &str, how: &str) {
    shell(project, check, &format!("{how}: in the folder"));
    let clone = project.outside("clone");
    let path = clone.display().to_string();
    project.repo.git(["clone", "-q", ".", &path]);
    let output = project
        .repo
        .command("sh")
        .args(["-exc", check])
        .current_dir(&clone)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{how}: in a clone: {said}");
}

/// Runs lines of shell in the project's folder; one that fails fails the test.
#[track_caller]
fn shell(project: &Project, lines: &str, how: &str) {
    let output = project
        .repo
        .command("sh")
        .args(["-exc", lines])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{how}: {said}");
}

#[test]
fn there_are_enough_of_them() {
    let in_groups: usize = shapes::GROUPS.iter().map(|group| group.runs.len()).sum();
    let others = places::RUNS + dependencies::RUNS;
    let all = MODES.len() * (in_groups + others) + formats::RUNS;
    assert!(all >= AT_LEAST, "{all} honest runs");
}

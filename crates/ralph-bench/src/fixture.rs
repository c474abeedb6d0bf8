//! The programs that are measured, and the projects that they are measured in. All programs stand beside
//! this one: built together, in release.

use std::path::{Path, PathBuf};

use ralph_testkit::TestRepo;

use crate::BenchResult;

pub(crate) struct Programs {
    pub(crate) ralph: PathBuf,
    pub(crate) stub: PathBuf,
}

impl Programs {
    pub(crate) fn beside_this_program() -> BenchResult<Self> {
        let own = std::env::current_exe()?;
        let folder = own.parent().ok_or("this program lies in no folder")?;
        let find = |name: &str| -> BenchResult<PathBuf> {
            let path = folder.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                Err(format!("{} is missing: start scripts/bench", path.display()).into())
            }
        };
        Ok(Self {
            ralph: find("ralph")?,
            stub: find("stub-agent")?,
        })
    }
}

/// A project whose only verify command is `true`, with `count` tasks in a file that git tracks.
pub(crate) fn project(count: usize) -> TestRepo {
    let repo = TestRepo::new();
    repo.file(
        "ralph.yaml",
        "verification:\n  commands:\n    - [\"true\"]\n",
    );
    repo.file("prd.json", task_file(count)).commit("tasks");
    repo
}

/// A PRD of `count` stories, each with what people write into one.
pub(crate) fn task_file(count: usize) -> String {
    let mut text = String::from("{\n  \"project\": \"Bench\",\n  \"userStories\": [\n");
    for n in 1..=count {
        // Every tenth waits for the one before it: order and links are part of the work.
        let waits = if n % 10 == 0 {
            format!("\"{}\"", task_id(n - 1))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "    {{\n      \"id\": \"{id}\",\n      \"title\": \"Write file number {n}\",\n      \
             \"description\": \"As a user I want the file {id}.txt so that there is one.\",\n      \
             \"acceptanceCriteria\": [\"{id}.txt exists\", \"Typecheck passes\"],\n      \
             \"priority\": {priority},\n      \"dependsOn\": [{waits}],\n      \"passes\": false,\n      \
             \"notes\": \"\"\n    }}{comma}\n",
            id = task_id(n),
            priority = n.div_ceil(10),
            comma = if n == count { "" } else { "," },
        ));
    }
    text.push_str("  ]\n}\n");
    text
}

pub(crate) fn task_id(n: usize) -> String {
    format!("US-{n:06}")
}

/// The number of commits the current branch has.
pub(crate) fn commits(repo: &TestRepo) -> BenchResult<usize> {
    Ok(repo.git(["rev-list", "--count", "HEAD"]).parse()?)
}

pub(crate) fn command_agent(program: &Path) -> String {
    format!("command:{}", program.display())
}

//! The check of the journal: whether it is there, whole, and of this ralph.

use std::path::Path;

use ralph_engine::{
    loop_files,
    loop_runner::copies_of_journal,
    store::{self, JournalLook},
};

use super::Check;
use crate::project::{Project, block_on};

const NAME: &str = "journal";

pub(super) fn check(project: &Project) -> Check {
    let Ok(folder) = project.data_dir() else {
        return Check::note(NAME, "there is no folder for it");
    };
    match block_on(async { Ok(store::look(&folder).await) }) {
        Ok(found) => judge(&folder, &found),
        Err(error) => Check::problem(NAME, error.sentences().join(": ")),
    }
}

fn judge(folder: &Path, found: &JournalLook) -> Check {
    let path = folder.join("ralph.db");
    let loops = loop_files::count(folder);
    match found {
        JournalLook::Absent | JournalLook::Empty if loops > 0 => Check::warning(
            NAME,
            format!(
                "{} is empty, but there are files of earlier loops ({loops}): it was deleted or emptied",
                path.display()
            ),
        )
        .hint(format!(
            "{}; without one, `ralph run` begins a new journal and keeps the logs of the old one aside",
            put_back(folder)
        )),
        JournalLook::Absent | JournalLook::Empty => Check::ok(NAME, "it holds no loop yet"),
        JournalLook::Whole => Check::ok(NAME, "it is whole"),
        JournalLook::Newer(why) => {
            Check::problem(NAME, why).hint("nothing was changed; install the newer ralph again")
        }
        JournalLook::Damaged(why) => {
            Check::problem(NAME, format!("{} is damaged: {why}", path.display())).hint(format!(
                "stop all loops, move it away together with `ralph.db-wal`, and {}; without one, `ralph run` \
                 begins a new journal and keeps the logs of the old one aside",
                put_back(folder)
            ))
        }
    }
}

fn put_back(folder: &Path) -> String {
    match copies_of_journal(folder).as_slice() {
        [] => "put a copy back if you have one".to_owned(),
        copies => format!("put a copy back ({} is one)", copies.join(", ")),
    }
}

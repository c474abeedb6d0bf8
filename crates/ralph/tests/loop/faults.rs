//! The disk is full or fails, at the start and in the middle, wherever something is written: the exit code is 1, the
//! message says what is kept and what to do, and the next run ends where an undisturbed one would have.

use serde_json::Value;

use crate::crash::{assert_as_if_undisturbed, tracked};
use crate::support::{Live, Project, Ran, is_storm};

/// Fails unless a run ended as it must where the disk is at fault.
#[track_caller]
fn assert_told(ran: &Ran, how: &str) {
    assert_eq!(ran.code(), 1, "{how}: {}", ran.all());
    let (cause, remedy) = if how.contains("EIO") {
        ("Input/output error", "look after the disk")
    } else {
        ("No space left on device", "make room on the disk")
    };
    let said = ran.stderr();
    let in_sqlite = said.contains("database or disk is full") || said.contains("disk I/O error");
    assert!(said.contains(cause) || in_sqlite, "{how}: {said}");
    assert!(said.contains(&format!("hint: {remedy}")), "{how}: {said}");
    if ran.named("loop_started").is_empty() {
        return;
    }
    let ended = ran.one("loop_ended");
    assert_eq!(ended["exitCode"], 1, "{how}: {ended}");
    assert_eq!(ended["stop"]["why"], "failed", "{how}: {ended}");
    let kept = if ran.named("iteration_started").is_empty() {
        "no task was begun"
    } else {
        "everything that landed is on ralph/work"
    };
    assert!(said.contains(kept), "{how}: {said}");
    assert!(
        ended["hint"].as_str().unwrap().contains(kept),
        "{how}: {ended}"
    );
}

/// Lets the disk fail at a place from one pass of it on, then lets ralph go on with a good one.
fn fails_at(code: &str, place: &str, pass: u32) {
    let how = format!("{code}:{place}:{pass}");
    let project = tracked();
    let ran = project.run_with("RALPH_FAULT", &how);
    assert_told(&ran, &how);
    project.assert_nothing_alive();
    let landed = project.landed();
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    assert_as_if_undisturbed(&project, &how);
    assert!(project.landed().starts_with(&landed), "{how}: {landed:?}");
}

/// The first pass is at the start, the second in the middle, the third after a task has landed; in a storm all
/// passes between them.
fn fails_everywhere(place: &str, passes: [u32; 3]) {
    let [first, middle, late] = passes;
    if is_storm() {
        for pass in first..=late {
            fails_at("ENOSPC", place, pass);
            fails_at("EIO", place, pass);
        }
        return;
    }
    fails_at("ENOSPC", place, first);
    fails_at("EIO", place, middle);
    fails_at("ENOSPC", place, late);
}

#[test]
fn in_the_journal() {
    fails_everywhere("journal", [1, 6, 14]);
}

#[test]
fn in_the_task_file() {
    fails_everywhere("file", [1, 2, 3]);
}

#[test]
fn in_gits_objects() {
    fails_everywhere("git-object", [1, 2, 6]);
}

#[test]
fn in_the_logs() {
    fails_everywhere("log", [1, 4, 8]);
}

#[test]
fn in_the_progress_file() {
    fails_everywhere("progress", [1, 2, 3]);
}

#[test]
fn the_files_of_a_loop_are_taken_up_again_once_they_can_be_written() {
    let project = tracked();
    let ran = project
        .run_with("RALPH_FAULT", "ENOSPC:status:1-4")
        .expect(0);
    let told = |name: &str| -> Vec<String> {
        let events = ran.named(name).into_iter();
        let messages = events.map(|e| e["message"].as_str().unwrap().to_owned());
        messages.filter(|m| m.contains("status.json")).collect()
    };
    let (warnings, notices) = (told("warning"), told("notice"));
    assert_eq!(warnings.len(), 1, "said once: {warnings:?}");
    assert!(
        warnings[0].contains("No space left on device"),
        "{warnings:?}"
    );
    assert_eq!(notices, ["status.json of this loop is written again"]);
    let loop_id = ran.one("loop_started")["loopId"]
        .as_str()
        .unwrap()
        .to_owned();
    let folder = project.data_dir().join("ralph-loops").join(loop_id);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("status.json")["state"], "completed");
    assert_eq!(read("status.json")["current_iteration"], 6);
    assert_eq!(read("report.json")["exit_code"], 0);
}

/// A disk of its own for a folder of the project, with so little room left; then all of it. Everything happens in
/// one mount namespace, and the folder is as it was left afterwards.
fn on_a_full_disk(folder: &str, kilobytes: u32) -> (Project, Vec<Ran>) {
    let project = tracked().in_place();
    // Made before, so that only the disk is in question.
    project.ralph(&["status"]).output().unwrap();
    let place = match folder {
        "data" => project.data_dir(),
        inside => project.repo.path(inside),
    };
    std::fs::create_dir_all(&place).unwrap();
    let kept = project.outside("kept");
    let agent = project.agent_word();
    let script = format!(
        "set -e\n\
         mkdir -p {kept}; cp -a {place}/. {kept}/\n\
         mount -t tmpfs -o size=64m tmpfs {place}; cp -a {kept}/. {place}/\n\
         left=$(df -k --output=avail {place} | tail -1)\n\
         head -c $(( (left - {kilobytes}) * 1024 )) /dev/zero > {place}/filler\n\
         code=0; \"$1\" run --json --agent {agent} > {out}-1 2> {err}-1 || code=$?; echo $code > {code}-1\n\
         rm {place}/filler\n\
         code=0; \"$1\" run --json --agent {agent} > {out}-2 2> {err}-2 || code=$?; echo $code > {code}-2\n\
         rm -rf {kept}; mkdir {kept}; cp -a {place}/. {kept}/\n",
        place = place.display(),
        kept = kept.display(),
        out = project.outside("out").display(),
        err = project.outside("err").display(),
        code = project.outside("code").display(),
    );
    let mut command = project.repo.command("unshare");
    let ralph = project.ralph(&[]);
    command
        .args(["-Urm", "sh", "-c", &script, "sh"])
        .arg(ralph.get_program())
        .envs(
            ralph
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(project.repo.root());
    Live::start(command).wait().expect(0);
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::rename(&kept, &place).unwrap();
    let read = |name: &str| std::fs::read(project.outside(name)).unwrap();
    let runs = [1, 2].map(|nth| {
        let code = String::from_utf8(read(&format!("code-{nth}"))).unwrap();
        let code: i32 = code.trim().parse().unwrap();
        Ran {
            status: std::os::unix::process::ExitStatusExt::from_raw(code << 8),
            stdout: read(&format!("out-{nth}")),
            stderr: read(&format!("err-{nth}")),
        }
    });
    (project, runs.into())
}

/// Whatever gave out first: a full disk is told as one, and nothing is lost.
fn runs_on_a_full_disk(folder: &str, sizes: &[u32]) {
    let mut faults = 0;
    for kilobytes in sizes {
        let how = format!("{kilobytes} KB left in {folder}");
        let (project, runs) = on_a_full_disk(folder, *kilobytes);
        if runs[0].code() != 0 {
            faults += 1;
            assert_told(&runs[0], &how);
        }
        assert_eq!(runs[1].code(), 0, "{how}: {}", runs[1].all());
        assert_as_if_undisturbed(&project, &how);
    }
    assert!(faults > 0, "no disk was full");
}

#[test]
fn on_a_full_disk_of_the_journal() {
    runs_on_a_full_disk("data", &[0, 40, 120, 200]);
}

#[test]
fn on_a_full_disk_of_gits_objects() {
    runs_on_a_full_disk(".git/objects", &[0, 12, 24, 48]);
}

#[test]
fn on_a_full_disk_of_the_logs() {
    runs_on_a_full_disk(".ralph/logs", &[0, 4, 16]);
}

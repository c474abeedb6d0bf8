//! Limits that the kernel keeps by a control group, really met. Few machines hand one to a test, so each test starts a
//! kernel of its own: Linux as a program (Debian's `user-mode-linux`), with the files of this machine to read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::other_user::ORDINARY;
use crate::support::{Project, good_script, story};

/// The time in which such a machine has to start, work and end.
const PATIENCE: Duration = Duration::from_secs(180);

/// Threads count for the group, and the watch over processes does not see them.
const THREADS: &str = "/usr/bin/python3 - <<'END'
import threading, time
try:
    for i in range(60):
        threading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()
    print('all')
except RuntimeError as error:
    print(error)
    raise SystemExit(1)
END
";

/// A file in memory counts for the group, and is no process's.
const FILE_IN_MEMORY: &str = "dd if=/dev/zero of=/tmp/large bs=1M count=200";

/// What came of a run in the other machine.
struct MachineRan {
    code: i32,
    text: String,
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The first program of the machine: it has control groups of version 2 and a copy of the project in memory, hands a
/// part of the groups to the user, and runs the loop.
fn first_program(project: &Project, results: &Path, user: Option<u32>) -> String {
    let outside = quoted(project.repo.outside().to_str().unwrap());
    let made = project.run_command(&["--once"]);
    let words = [made.get_program()].into_iter().chain(made.get_args());
    let words: Vec<String> = words.map(|word| quoted(word.to_str().unwrap())).collect();
    let vars = made.get_envs().filter_map(|(name, value)| {
        let assignment = format!("{}={}", name.to_str()?, value?.to_str()?);
        Some(quoted(&assignment))
    });
    let vars: Vec<String> = vars.collect();
    let become_user = user.map_or_else(String::new, |user| {
        format!("setpriv --reuid {user} --regid {user} --clear-groups")
    });
    let hand_over = user.map_or_else(String::new, |user| {
        format!(
            "mkdir -p $groups/handed/own; echo +memory +pids > $groups/handed/cgroup.subtree_control
             chown -R {user}:{user} $groups/handed {outside}; chmod 755 {outside}
             echo $$ > $groups/handed/own/cgroup.procs"
        )
    });
    format!(
        "#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin; groups=/sys/fs/cgroup
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 $groups && echo +memory +pids > $groups/cgroup.subtree_control
mount -t hostfs none /mnt -o {results}
mount -t tmpfs -o size=600m tmpfs /media && cp -a {outside}/. /media && mount --bind /media {outside}
ip link set lo up
{hand_over}
cd {root} && {become_user} env -i {vars} {words} > /mnt/said 2>&1
echo $? > /mnt/code
find $groups -name 'ralph-*' > /mnt/left
exec /usr/bin/python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
",
        results = results.display(),
        root = quoted(project.repo.root().to_str().unwrap()),
        vars = vars.join(" "),
        words = words.join(" "),
    )
}

fn run_in_machine(project: &Project, user: Option<u32>) -> MachineRan {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    std::fs::create_dir(&results).unwrap();
    let init = folder.path().join("init");
    std::fs::write(&init, first_program(project, &results, user)).unwrap();
    std::fs::set_permissions(&init, std::fs::Permissions::from_mode(0o755)).unwrap();
    let console = std::fs::File::create(folder.path().join("console")).unwrap();
    let mut machine = Command::new("linux.uml")
        .args(["mem=1G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"])
        .args(["con=null", "con0=null,fd:1"])
        .arg(format!("init={}", init.display()))
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(console.try_clone().unwrap())
        .stderr(console)
        .spawn()
        .expect("linux.uml starts: install Debian's user-mode-linux");
    let began = Instant::now();
    while machine.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            machine.kill().unwrap();
            machine.wait().unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let read = |path: &str| std::fs::read(folder.path().join(path)).unwrap_or_default();
    let text = |path: &str| String::from_utf8_lossy(&read(path)).into_owned();
    let (said, console) = (text("results/said"), text("console"));
    let code = text("results/code").trim().parse();
    let code = code.unwrap_or_else(|_| panic!("it did not end: {said}\n{console}"));
    assert_eq!(text("results/left"), "", "no group is left");
    MachineRan { code, text: said }
}

fn project(verify: &str) -> Project {
    let mut story = story("A");
    story["verify"] = json!([verify]);
    Project::with_stories(&[story])
        .env("RALPH_WORKSPACE_MODE", "in_place")
        .env("RALPH_SAFETY_SANDBOX", "auto")
        .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
}

#[test]
fn the_kernel_starts_no_more_than_the_processes_that_are_allowed() {
    // An agent is told so by an error, and can go on; a verify command fails by that name.
    // It is over before ralph looks for the first time, which would end it: a shell starts quickly, also here.
    let agent =
        format!("cat > /dev/null; {{ {THREADS}}} > A.txt\necho \"Task $RALPH_TASK_ID complete\"");
    for (allowed, said_to_agent) in [("8", "can't start new thread"), ("100", "all")] {
        let limited = project(&format!("grep -q \"^{said_to_agent}$\" A.txt"))
            .command(&agent)
            .env("RALPH_SAFETY_MAX_PROCESSES", allowed);
        let ran = run_in_machine(&limited, None);
        assert_eq!(ran.code, 0, "{allowed}: {}", ran.text);
    }
    let limited = project(THREADS)
        .script(&good_script())
        .env("RALPH_SAFETY_MAX_PROCESSES", "8");
    let ran = run_in_machine(&limited, None);
    let said = "the kernel started no more of its processes: `safety.max_processes` allows 8";
    assert!(ran.text.contains(said), "{}", ran.text);
    assert_eq!(ran.code, 3, "{}", ran.text);
}

#[test]
fn the_kernel_ends_a_verify_command_for_want_of_the_memory_that_is_allowed() {
    // As root, and as a user who was handed a part of the groups.
    for user in [None, Some(ORDINARY)] {
        let verify = format!("{FILE_IN_MEMORY} && test -f A.txt");
        let limited = project(&verify)
            .script(&good_script())
            .env("RALPH_SAFETY_MAX_MEMORY_GB", "0.05");
        let ran = run_in_machine(&limited, user);
        let said = "the kernel ended one of its processes for want of memory: `safety.max_memory_gb` allows 51 MB";
        assert!(ran.text.contains(said), "{user:?}: {}", ran.text);
        assert_eq!(ran.code, 3, "{user:?}: {}", ran.text);
    }
}

//! Ways out of a sandbox that must be closed, each really tried, as root and as an ordinary user.
//!
//! A probe prints `OPEN` where it got through. The canaries are a file outside, a listener outside and
//! a variable of ralph's own process: after each probe the file must be as it was.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::ground::{CANARY, Machine, PRIVATE, abstract_name};
use crate::layer::tests::support::{Ground, as_root_and_as_user, plain, run_spec};
use crate::process::SandboxMeans;
use crate::programs::find_program;

/// The means that keep a program from a way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Whatever the means.
    All,
    /// Only a sandbox of namespaces: Landlock does not promise it.
    Namespaces,
    /// Wherever the system is the machine's: that of a container is its own, and goes with it.
    System,
    /// Wherever the set that bounds capabilities is emptied: `bwrap` leaves it to root, who can't gain any.
    Bounds,
    /// Wherever the first process is ralph's keeper: elsewhere it is part of the sandbox.
    Keeper,
}

impl Keeps {
    fn is_promised(self, means: SandboxMeans) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces => means.has_own_root(),
            Self::System => means != SandboxMeans::Container,
            Self::Bounds => {
                matches!(means, SandboxMeans::Namespaces | SandboxMeans::Container)
            }
            Self::Keeper => {
                matches!(means, SandboxMeans::Namespaces | SandboxMeans::Landlock)
            }
        }
    }
}

struct Probe {
    name: String,
    keeps: Keeps,
    script: String,
}

fn probe(keeps: Keeps, name: impl Into<String>, script: impl Into<String>) -> Probe {
    Probe {
        name: name.into(),
        keeps,
        script: script.into(),
    }
}

/// A call that Python makes by its number or by a name of the C library; `OPEN` where it does not fail.
fn call(keeps: Keeps, name: &str, code: &str) -> Probe {
    let script = format!(
        "/usr/bin/python3 - <<'END'\nimport ctypes, os, socket, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         def ok(result):\n    return result is None or result >= 0\n\
         try:\n    if ok({code}): print('OPEN')\nexcept OSError as e:\n    print(e)\nEND"
    );
    probe(keeps, name, script)
}

fn reading() -> Vec<Probe> {
    let mut probes: Vec<Probe> = PRIVATE
        .iter()
        .map(|path| {
            let script = format!("grep -q {CANARY} \"$HOME/{path}\" && echo OPEN");
            probe(Keeps::All, format!("reads ~/{path}"), script)
        })
        .collect();
    let others = [
        ("another project", r#"cat "$DIR/other/secret.txt""#),
        ("the journal", r#"cat "$DIR/data/ralph.db""#),
        (
            "another project, by a link",
            r#"ln -s "$DIR/other" in; cat in/secret.txt"#,
        ),
        ("another project, upwards", "cat ../other/secret.txt"),
        (
            "another project, by its root",
            r#"cat "/proc/self/root$DIR/other/secret.txt""#,
        ),
        (
            "another project, by the first process",
            r#"cat "/proc/1/root$DIR/other/secret.txt""#,
        ),
        (
            "another project, by the folder of the first process",
            "cat /proc/1/cwd/../other/secret.txt",
        ),
        (
            "another project, by any process",
            r#"cat /proc/[0-9]*/cwd/../other/secret.txt"#,
        ),
        (
            "another project, by any root",
            r#"cat /proc/[0-9]*/root"$DIR"/other/secret.txt"#,
        ),
        (
            "another project, by open files",
            "cat /proc/[0-9]*/fd/*/other/secret.txt /dev/fd/*/other/secret.txt",
        ),
        (
            "another project, by a search",
            r#"find / -xdev -name secret.txt -exec cat {} + "#,
        ),
        (
            "another project, by an archive",
            r#"tar -cf - -C "$DIR" other | tar -xOf -"#,
        ),
        (
            "another project, hard linked",
            r#"ln "$DIR/other/secret.txt" own; cat own"#,
        ),
        (
            "another project, by git",
            r#"git -C "$DIR/other" show HEAD:secret.txt; git diff --no-index /dev/null "$DIR/other/secret.txt""#,
        ),
        (
            "the home, by its user",
            r#"cat "$(getent passwd "$(id -u)" | cut -d: -f6)/.ssh/id_ed25519" ~/.ssh/id_ed25519"#,
        ),
        (
            "variables of the keeper",
            r#"tr '\0' '\n' </proc/1/environ; tr '\0' '\n' </proc/$PPID/environ"#,
        ),
        (
            "variables of all processes",
            r#"cat /proc/[0-9]*/environ | tr '\0' '\n'"#,
        ),
        (
            "the memory of the keeper",
            r#"/usr/bin/python3 -c 'open("/proc/1/mem", "rb")' && echo canary-7f3a91"#,
        ),
    ];
    probes.extend(others.map(|(name, script)| {
        let script = format!("{{ {script}; }} 2>/dev/null | grep -q -a {CANARY} && echo OPEN");
        let keeps = if name == "the memory of the keeper" {
            Keeps::Keeper
        } else {
            Keeps::All
        };
        probe(keeps, format!("reads {name}"), script)
    }));
    probes
}

const WRITES: &[(&str, &str)] = &[
    ("another project", r#"echo x >"$DIR/other/secret.txt""#),
    (
        "beside another project's file",
        r#"echo x >"$DIR/other/new.txt""#,
    ),
    ("the journal", r#"echo x >"$DIR/data/ralph.db""#),
    ("/etc", "echo x >/etc/ralph-probe"),
    ("/etc/ld.so.preload", "echo x >/etc/ld.so.preload"),
    ("/etc/profile.d", "echo x >/etc/profile.d/ralph-probe.sh"),
    ("/etc/cron.d", "echo x >/etc/cron.d/ralph-probe"),
    ("/usr", "echo x >/usr/ralph-probe"),
    ("/usr/local/bin", "echo x >/usr/local/bin/ralph-probe"),
    ("/opt", "echo x >/opt/ralph-probe"),
    ("/", "echo x >/ralph-probe"),
    (
        "/var/spool",
        "mkdir -p /var/spool/cron && echo x >/var/spool/cron/ralph-probe",
    ),
    ("/var/lib", "echo x >/var/lib/ralph-probe"),
    ("/run", "mkdir -p /run && echo x >/run/ralph-probe"),
    ("/boot", "mkdir -p /boot && echo x >/boot/ralph-probe"),
    ("/srv", "mkdir -p /srv && echo x >/srv/ralph-probe"),
    ("/mnt", "mkdir -p /mnt && echo x >/mnt/ralph-probe"),
    (
        "/dev/mem",
        "test -c /dev/mem && dd if=/dev/zero of=/dev/mem count=0",
    ),
    ("/dev/kmsg", "test -c /dev/kmsg && echo x >/dev/kmsg"),
    (
        "a disk",
        "for disk in /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0; do dd if=$disk of=/dev/null count=1 && break; done",
    ),
    (
        "a node of a disk that it makes",
        "mknod disk b 254 0 && dd if=disk of=/dev/null count=1",
    ),
    (
        "/sys/kernel/uevent_helper",
        "echo /bin/true >/sys/kernel/uevent_helper",
    ),
    (
        "/sys/power/state",
        "test -w /sys/power/state && echo x >/sys/power/state",
    ),
    (
        "a cgroup",
        "mkdir /sys/fs/cgroup/ralph-probe || mkdir /sys/fs/cgroup/memory/ralph-probe",
    ),
    (
        "a cgroup's release agent",
        "echo /bin/true >/sys/fs/cgroup/release_agent || echo /bin/true >/sys/fs/cgroup/memory/release_agent",
    ),
];

/// The folders of the system among them.
const SYSTEM_FOLDERS: [&str; 8] = [
    "/etc", "/usr", "/opt", "/var", "/run", "/boot", "/srv", "/mnt",
];

const KERNEL_SETTINGS: &[&str] = &[
    "kernel/core_pattern",
    "kernel/modprobe",
    "kernel/hotplug",
    "kernel/hostname",
    "kernel/domainname",
    "kernel/sysrq",
    "kernel/panic",
    "kernel/randomize_va_space",
    "kernel/yama/ptrace_scope",
    "kernel/unprivileged_bpf_disabled",
    "kernel/usermodehelper/bset",
    "vm/drop_caches",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "fs/file-max",
    "fs/binfmt_misc/register",
    "fs/protected_symlinks",
    "net/ipv4/ip_forward",
];

fn writing() -> Vec<Probe> {
    let mut probes: Vec<Probe> = PRIVATE
        .iter()
        .step_by(2)
        .map(|path| {
            // A home of its own may be written: whether the user's is changed is looked at from outside.
            let script = format!(
                "mkdir -p \"$(dirname \"$HOME/{path}\")\"; echo changed >\"$HOME/{path}\"; rm -f \"$HOME/{path}\""
            );
            probe(Keeps::All, format!("writes ~/{path}"), script)
        })
        .collect();
    probes.extend(WRITES.iter().map(|(name, script)| {
        let is_system = SYSTEM_FOLDERS.iter().any(|folder| name.starts_with(folder));
        probe(
            if is_system || *name == "/" {
                Keeps::System
            } else {
                Keeps::All
            },
            format!("writes {name}"),
            format!("{{ {script}; }} && echo OPEN"),
        )
    }));
    // New files in the home are looked for from outside.
    for place in [
        ".config/autostart",
        ".local/bin",
        ".ssh",
        "Documents",
        ".config/systemd/user",
    ] {
        let script = format!("mkdir -p \"$HOME/{place}\"; echo x >\"$HOME/{place}/ralph-probe\"");
        probes.push(probe(
            Keeps::All,
            format!("makes a file in ~/{place}"),
            script,
        ));
    }
    let marks = [
        ("modes", "chmod 666"),
        ("times", "touch -d 2001-01-01"),
        (
            "attributes",
            "python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.probe\", b\"x\")'",
        ),
    ];
    probes.extend(marks.map(|(name, tool)| {
        let script = format!("{tool} \"$DIR/other/secret.txt\" && echo OPEN");
        probe(
            Keeps::Namespaces,
            format!("changes the {name} of another project's file"),
            script,
        )
    }));
    probes.extend(KERNEL_SETTINGS.iter().map(|name| {
        // Opened and left as it is: a sandbox that fails here must not harm the machine.
        let script = format!("true >/proc/sys/{name} && echo OPEN");
        probe(Keeps::All, format!("writes the setting {name}"), script)
    }));
    probes.push(probe(
        Keeps::All,
        "writes sysrq-trigger",
        "test -c /proc/sysrq-trigger || { echo h >/proc/sysrq-trigger && echo OPEN; }",
    ));
    probes
}

/// Commands that undo the sandbox, gain rights, or reach what belongs to the machine. Services such as docker, podman,
/// systemd and D-Bus are reached by their sockets, jobs of cron and at by their folders.
const UNDOING: &[&str] = &[
    "umount /usr",
    "umount -l /usr",
    "umount /proc",
    "umount -l /",
    "mount -o remount,rw /",
    "mount -o remount,rw /usr",
    "mount -o remount,bind,rw /usr",
    "mount -o remount,bind,rw /etc",
    "mount --bind / /tmp",
    "mount -t tmpfs tmpfs /usr",
    "mount -t proc proc /proc",
    "mount -t devtmpfs dev /dev",
    "mount -t sysfs sys /sys",
    "unshare -m true",
    "unshare -p -f true",
    "unshare -n true",
    "unshare -C true",
    "chroot / true",
    "nsenter -t 1 -m true",
    "nsenter -t 1 -a true",
    "unshare -Urm umount /usr",
    "unshare -Urm umount -l /usr",
    "unshare -Urm mount -o remount,rw /usr",
    "unshare -Urm mount -o remount,bind,rw /usr",
    "unshare -Urm mount -o remount,bind,rw /etc",
    "unshare -Urm mount -o remount,bind,rw /sys",
    "unshare -Urm mount -t devtmpfs dev /tmp",
    "unshare -Urm mount -t ext4 /dev/vda /tmp",
    r#"unshare -Urm sh -c 'mount --bind /etc /tmp && touch /tmp/ralph-probe'"#,
    r#"unshare -Urm sh -c 'mount --rbind / /tmp && touch /tmp/usr/ralph-probe'"#,
    r#"unshare -Urmpf --mount-proc sh -c 'echo x >/proc/sys/kernel/core_pattern'"#,
    r#"unshare -Urm sh -c 'umount /etc/shadow; grep -q root /etc/shadow'"#,
    r#"unshare -Ur sh -c 'cat /etc/shadow | grep -q root'"#,
    r#"unshare -Urn sh -c 'echo 1 >/proc/sys/kernel/panic'"#,
    "su -c true",
    "setpriv --reuid 1 true",
    "setpriv --reuid 0 --clear-groups sh -c 'test -w /etc/shadow'",
    "capsh --caps=cap_sys_admin+eip --",
    "dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames",
    r#"losetup -f "$REPO/tracked.txt""#,
    "hostname ralph-probe-of-root",
    "date -s 2001-01-01",
    "dmesg",
    "ip link add probe type dummy",
    r#"test "$(sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/self/status)" = 0"#,
    "ls /var/spool",
    "ls /var/log",
    "ls /boot",
    "ls /srv",
    "ls /media",
];

fn undoing() -> Vec<Probe> {
    let mut probes: Vec<Probe> = UNDOING
        .iter()
        .map(|way| {
            // A user namespace alone is allowed inside: the sandboxes of agents are made of it.
            // The folders of a container are its own.
            let keeps = if way.starts_with("ls /") {
                Keeps::System
            } else {
                Keeps::All
            };
            probe(
                keeps,
                *way,
                format!("{{ {way}; }} >/dev/null 2>&1 </dev/null && echo OPEN"),
            )
        })
        .collect();
    probes.push(probe(
        Keeps::Namespaces,
        "sees other processes",
        "test \"$(ls -d /proc/[0-9]* | wc -l)\" -gt 30 && echo OPEN",
    ));
    probes
}

fn services() -> Vec<Probe> {
    let mut probes: Vec<Probe> = ["docker.sock", "bus", "ssh-agent"]
        .map(|name| {
            let code =
                format!("socket.socket(socket.AF_UNIX).connect(os.environ['DIR'] + '/run/{name}')");
            call(Keeps::Namespaces, &format!("connects to {name}"), &code)
        })
        .into();
    probes.push(call(
        Keeps::All,
        "connects to a socket without a file",
        "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['LISTENER'])",
    ));
    for variable in ["XDG_RUNTIME_DIR", "RALPH_TEST_CANARY"] {
        let script = format!("test -n \"${variable}\" && echo OPEN");
        probes.push(probe(Keeps::All, format!("has {variable}"), script));
    }
    probes
}

const CALLS: &[(&str, &str)] = &[
    (
        "io_uring_setup",
        "libc.syscall(425, 8, ctypes.create_string_buffer(256))",
    ),
    ("io_uring_enter", "libc.syscall(426, 0, 0, 0, 0, 0, 0)"),
    ("io_uring_register", "libc.syscall(427, 0, 0, 0, 0)"),
    (
        "io_uring_setup of x32",
        "libc.syscall(0x40000000 + 425, 8, ctypes.create_string_buffer(256))",
    ),
    ("getpid of x32", "libc.syscall(0x40000000 + 39)"),
    ("keyctl", "libc.syscall(250, 0, -3, 1)"),
    (
        "add_key",
        "libc.syscall(248, b'user', b'probe', b'x', 1, -3)",
    ),
    (
        "request_key",
        "libc.syscall(249, b'user', b'probe', None, -3)",
    ),
    (
        "bpf",
        "libc.syscall(321, 0, ctypes.create_string_buffer(128), 128)",
    ),
    (
        "perf_event_open",
        "libc.syscall(298, ctypes.create_string_buffer(b'\\x01' + b'\\0' * 127), 0, -1, -1, 0)",
    ),
    ("userfaultfd", "libc.syscall(323, 0)"),
    ("init_module", "libc.syscall(175, b'x', 1, b'')"),
    ("finit_module", "libc.syscall(313, 0, b'', 0)"),
    ("delete_module", "libc.syscall(176, b'dummy', 0)"),
    ("kexec_load", "libc.syscall(246, 0, 0, None, 0)"),
    (
        "open_by_handle_at",
        "libc.syscall(304, os.open('/', 0), ctypes.create_string_buffer(b'\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02' + b'\\0' * 7), 0)",
    ),
    (
        "reboot",
        "libc.syscall(169, 0xfee1dead, 672274793, 0x89abcdef)",
    ),
    ("acct", "libc.acct(None)"),
    (
        "settimeofday",
        "libc.settimeofday(ctypes.create_string_buffer(16), None)",
    ),
    (
        "clock_settime",
        "libc.syscall(227, 0, ctypes.create_string_buffer(16))",
    ),
    ("swapon", "libc.syscall(167, b'/dev/zero', 0)"),
    ("swapoff", "libc.syscall(168, b'/dev/zero')"),
    (
        "syslog",
        "libc.syscall(103, 3, ctypes.create_string_buffer(64), 64)",
    ),
    (
        "a socket to the host of a machine",
        "socket.socket(40, socket.SOCK_STREAM).fileno()",
    ),
    (
        "a raw packet socket",
        "socket.socket(17, socket.SOCK_RAW).fileno()",
    ),
    (
        "a raw internet socket",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno()",
    ),
    (
        "an express data path socket",
        "socket.socket(44, socket.SOCK_RAW).fileno()",
    ),
    (
        "typing into a terminal",
        "__import__('fcntl').ioctl(os.openpty()[0], 0x5412, b'x') and 0",
    ),
    (
        "ptrace of the first process",
        "libc.ptrace(16, 1, None, None)",
    ),
    (
        "a higher limit of files",
        "__import__('resource').setrlimit(__import__('resource').RLIMIT_NOFILE, (1 << 30, 1 << 30))",
    ),
    ("a higher priority", "os.nice(-5)"),
    ("root's user", "os.setuid(0) if os.getuid() != 0 else -1"),
    ("another user", "os.setuid(4242)"),
    ("another group", "os.setgid(4242)"),
    ("other groups", "os.setgroups([4242])"),
    (
        "gaining rights again",
        "-1 if libc.prctl(39, 0, 0, 0, 0) == 1 else 0",
    ),
    (
        "a capability",
        "-1 if 'CapEff:\\t0000000000000000' in open('/proc/self/status').read() else 0",
    ),
    (
        "a capability for programs that it starts",
        "-1 if 'CapBnd:\\t0000000000000000' in open('/proc/self/status').read() or os.getuid() != 0 else 0",
    ),
    (
        "a capability in a program that it starts",
        "-1 if b'CapEff:\\t0000000000000000' in __import__('subprocess').check_output(['cat', '/proc/self/status']) else 0",
    ),
    (
        "no filter of calls",
        "-1 if 'Seccomp:\\t2' in open('/proc/self/status').read() else 0",
    ),
];

fn calls() -> Vec<Probe> {
    // The first process is a stranger's where there is no PID namespace.
    let probes = CALLS.iter().map(|(name, code)| {
        let keeps = match *name {
            "a capability" | "a capability in a program that it starts" => Keeps::Namespaces,
            "a capability for programs that it starts" => Keeps::Bounds,
            "ptrace of the first process" => Keeps::Keeper,
            _ => Keeps::All,
        };
        call(keeps, name, code)
    });
    probes.collect()
}

fn all_probes() -> Vec<Probe> {
    let lists = [reading(), writing(), undoing(), services(), calls()];
    lists.into_iter().flatten().collect()
}

fn nothing_gets_out(ground: &Ground, means: SandboxMeans) {
    nothing_gets_out_of(&Machine::new(ground, means), means);
}

fn nothing_gets_out_of(machine: &Machine<'_>, means: SandboxMeans) {
    let mut probes = all_probes();
    // They stop a first process that is part of the sandbox, and with it the sandbox itself.
    probes.retain(|probe| probe.keeps != Keeps::Keeper || probe.keeps.is_promised(means));
    let mut open = Vec::new();
    for probe in &probes {
        let (said, _) = machine.run(&probe.script);
        if said.contains("OPEN") && probe.keeps.is_promised(means) {
            open.push(format!("{}: {said}", probe.name));
        }
        assert_untouched(machine, &probe.name);
    }
    assert!(
        open.is_empty(),
        "{} of {}:\n{}",
        open.len(),
        probes.len(),
        open.join("\n")
    );
}

/// The canaries outside must be as they were.
fn assert_untouched(machine: &Machine<'_>, probe: &str) {
    let dir = &machine.ground.dir;
    for path in PRIVATE {
        let now = fs::read_to_string(machine.home.join(path)).unwrap_or_default();
        assert_eq!(now, CANARY, "{probe}: {path}");
    }
    assert!(!has_probe(dir), "{probe}");
    for path in ["other/secret.txt", "data/ralph.db"] {
        let now = fs::read_to_string(dir.join(path)).unwrap_or_default();
        assert_eq!(now, CANARY, "{probe}: {path}");
    }
}

/// The same in one container: to start one for each would take minutes. What probes leave there for each other
/// only helps them.
fn nothing_gets_out_of_a_container(ground: &Ground) {
    let means = SandboxMeans::Container;
    let machine = Machine::new(ground, means);
    let mut probes = all_probes();
    // One of the others stops the first process.
    probes.retain(|probe| probe.keeps.is_promised(means));
    for (index, probe) in probes.iter().enumerate() {
        ground.write(&format!("probes/{index}.sh"), &probe.script);
    }
    let count = probes.len();
    let script = format!(
        "i=0; while [ $i -lt {count} ]; do echo \"== $i\"; sh probes/$i.sh 2>&1; i=$((i + 1)); done; echo == done"
    );
    let (said, _) = machine.run(&script);
    let answers: Vec<&str> = said.split("== ").skip(1).collect();
    assert_eq!(answers.len(), count + 1, "{said}");
    let open: Vec<String> = probes
        .iter()
        .zip(answers)
        .filter(|(_, said)| said.contains("OPEN"))
        .map(|(probe, said)| format!("{}: {said}", probe.name))
        .collect();
    assert_eq!(open, [""; 0]);
    assert_untouched(&machine, "all");
    assert!(count >= 150, "{count}");
}

/// Tells whether a probe left a file in a folder outside.
fn has_probe(dir: &Path) -> bool {
    let mut folders: Vec<PathBuf> = ["home", "other", "data", "run"]
        .map(|name| dir.join(name))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == "ralph-probe" {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    false
}

#[test]
fn the_probes_are_many_and_each_has_a_name_of_its_own() {
    let probes = all_probes();
    let names: BTreeSet<&str> = probes.iter().map(|probe| probe.name.as_str()).collect();
    assert_eq!(names.len(), probes.len());
    assert!(probes.len() >= 150, "{}", probes.len());
}

#[test]
fn the_programs_and_folders_of_the_probes_are_on_this_machine() {
    // A probe that can't be tried would show nothing.
    let path = std::env::var_os("PATH").unwrap();
    for way in UNDOING {
        let mut words = way.split_whitespace();
        let program = words.next().unwrap();
        let found = find_program(program, std::env::split_paths(&path));
        assert!(
            found.is_some(),
            "{program} is missing: scripts/test installs it"
        );
        if program == "ls" {
            let folder = Path::new(words.next().unwrap());
            assert!(folder.is_dir(), "{}", folder.display());
        }
    }
}

as_root_and_as_user! {
    no_probe_gets_out_of_a_sandbox_of_namespaces: plain => |ground| {
        nothing_gets_out(ground, SandboxMeans::Namespaces);
    };

    no_probe_gets_out_where_programs_of_root_can_only_be_root: plain => |ground| {
        if ground.is_root {
            nothing_gets_out_of(&Machine::reduced(ground), SandboxMeans::Namespaces);
        }
    };

    no_probe_gets_further_than_landlock_promises_and_root_has_no_such_sandbox: plain => |ground| {
        if ground.is_root {
            let home = ground.dir.join("home");
            fs::create_dir_all(&home).unwrap();
            let tried = Machine::probe(ground, &home, SandboxMeans::Landlock);
            assert!(tried.unwrap_err().contains("root"));
        } else {
            nothing_gets_out(ground, SandboxMeans::Landlock);
        }
    };

    no_probe_gets_out_of_a_sandbox_by_bwrap: plain => |ground| {
        nothing_gets_out(ground, SandboxMeans::Bwrap);
    };

    no_probe_gets_out_of_a_container: plain => |ground| {
        nothing_gets_out_of_a_container(ground);
    };

    outside_of_a_sandbox_the_probes_do_get_through: plain => |ground| {
        // Else they would show nothing. Those that change the machine are not tried here.
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let plain = [
            "reads another project",
            "reads the journal",
            "reads another project, by a link",
            "reads another project, upwards",
            "reads another project, by its root",
            "connects to docker.sock",
            "connects to bus",
            "connects to ssh-agent",
            "connects to a socket without a file",
            "ls /var/spool",
            "ls /var/log",
            "ls /srv",
        ];
        let tried = all_probes();
        let tried = tried
            .iter()
            .filter(|probe| probe.name.starts_with("reads ~/") || plain.contains(&&*probe.name));
        let mut count = 0;
        for probe in tried {
            let spec = ground.spec("/bin/sh").args(["-c", &probe.script]);
            let spec = spec
                .env("HOME", &machine.home)
                .env("LISTENER", abstract_name(&ground.dir));
            let (said, _) = run_spec(&spec, ground.containment()).unwrap();
            assert!(said.contains("OPEN"), "{}: {said}", probe.name);
            count += 1;
        }
        assert_eq!(count, PRIVATE.len() + plain.len());
    };
}

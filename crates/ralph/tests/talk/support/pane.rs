//! A terminal: a tmux server of its own with one pane, which the test types into and reads. A test may have several.

use std::path::PathBuf;
use std::process::Command;

use super::{Process, Scene, wait};

pub(crate) struct Pane {
    socket: PathBuf,
}

impl Pane {
    /// Starts a program in a new terminal, with nothing of the environment of this process.
    pub(crate) fn start(scene: &Scene, program: &[String]) -> Self {
        Self::start_of(scene, program, (160, 45))
    }

    /// The same in a terminal of so many columns and rows.
    pub(crate) fn start_of(
        scene: &Scene,
        program: &[String],
        (columns, rows): (usize, usize),
    ) -> Self {
        let mut sockets = (1..).map(|n| scene.folder().join(format!("tmux-{n}")));
        let pane = Self {
            socket: sockets.find(|socket| !socket.exists()).unwrap(),
        };
        let env = scene.env().into_iter().map(|(k, v)| format!("{k}={v}"));
        let repo = scene.repo();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut args: Vec<String> = ["new-session", "-d", "-x", &columns, "-y", &rows, "-c"]
            .map(str::to_owned)
            .to_vec();
        args.extend([repo.to_str().unwrap(), "--", "env", "-i"].map(str::to_owned));
        args.extend(env);
        args.extend(["TERM=screen-256color", "PS1=ready> "].map(str::to_owned));
        args.extend_from_slice(program);
        pane.tmux(&args);
        pane
    }

    fn tmux<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> String {
        let output = Command::new("tmux")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(args)
            .output()
            .expect("tmux is needed for this test");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the terminal shows, and showed before.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// The rows that the terminal shows now, without blank ones at the end.
    pub(crate) fn visible(&self) -> Vec<String> {
        self.rows(&["capture-pane", "-p"])
    }

    /// The same with rows in one that the terminal broke at its edge.
    pub(crate) fn joined(&self) -> Vec<String> {
        self.rows(&["capture-pane", "-p", "-J"])
    }

    fn rows(&self, args: &[&str]) -> Vec<String> {
        let shown = self.tmux(args);
        let rows = shown.lines().map(|row| row.trim_end().to_owned());
        let mut rows: Vec<String> = rows.collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Waits until the terminal shows this somewhere.
    #[track_caller]
    pub(crate) fn wait_to_see(&self, text: &str) {
        wait(
            || {
                self.visible()
                    .iter()
                    .any(|row| row.contains(text))
                    .then_some(())
            },
            || format!("no {text:?} in:\n{}", self.visible().join("\n")),
        );
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        wait(
            || self.screen().contains(text).then_some(()),
            || format!("no {text:?} in:\n{}", self.screen()),
        );
    }

    /// A key by its name: `C-c`, `Enter`.
    pub(crate) fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    /// Types a line, and sends it once it is seen: a key that follows fast is taken for pasted text
    /// by some programs.
    #[track_caller]
    pub(crate) fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.wait_for(text);
        self.key("Enter");
    }

    /// What tmux knows of its pane.
    pub(crate) fn ask(&self, format: &str) -> String {
        let said = self.tmux(&["display-message", "-p", format]);
        said.trim_end().to_owned()
    }

    /// The other screen, whether the cursor shows, mouse, cursor keys, keypad: as in a fresh terminal.
    #[track_caller]
    pub(crate) fn assert_plain(&self) {
        let flags =
            "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag} #{keypad_flag}";
        assert_eq!(self.ask(flags), "0 1 0 0 0");
    }

    /// Has the shell write the terminal's modes to a file.
    pub(crate) fn keep_modes(&self, scene: &Scene, name: &str) -> String {
        self.line(&format!("stty -a > ../{name}; echo kept-$((1+1))-{name}"));
        self.wait_for(&format!("kept-2-{name}"));
        std::fs::read_to_string(scene.folder().join(name)).unwrap()
    }

    /// Whether who has the terminal reads keys as they come.
    pub(crate) fn is_raw(&self) -> bool {
        let terminal = std::fs::File::open(self.ask("#{pane_tty}")).unwrap();
        let modes = rustix::termios::tcgetattr(&terminal).unwrap().local_modes;
        !modes.contains(rustix::termios::LocalModes::ICANON)
    }

    /// The process that has the terminal.
    pub(crate) fn foreground(&self) -> Process {
        let shell = self.ask("#{pane_pid}");
        let stat = std::fs::read_to_string(format!("/proc/{shell}/stat")).unwrap();
        // Behind the name, which ends with the last bracket: state, parent, group, session, terminal,
        // foreground group.
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        let pid: i32 = rest.split(' ').nth(5).unwrap().parse().unwrap();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        Process {
            pid,
            command: String::from_utf8_lossy(&command).replace('\0', " "),
        }
    }

    /// Closes the terminal.
    pub(crate) fn close(&self) {
        self.tmux(&["kill-server"]);
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}

//! What the terminal does while a program has it, with small programs that behave badly.

use ralph_engine::process::Containment;
use rustix::process::Signal;

use crate::support::{Pane, Scene, marked, ralph};

/// Changes all that it can, leaves a process behind in a session of its own, and waits for its end.
const RUDE: &str = r"
stty raw -echo
printf '\033[?1049h\033[?25l\033[?1h\033=\033[?1000h\033[?1006h\033[?2004h\033[>1u\033[31m'
setsid sleep 1000 &
printf 'IT-IS-UP'
while :; do sleep 1000; done
";

#[test]
fn whatever_a_killed_program_did_to_the_terminal_is_undone_in_every_containment() {
    let allowed = Containment::ALL.into_iter().filter(|c| c.probe().is_ok());
    let allowed: Vec<_> = allowed.collect();
    assert!(allowed.contains(&Containment::Subreaper));
    assert!(allowed.contains(&Containment::ProcessGroup));
    for containment in allowed {
        let script = match containment {
            Containment::PidNamespace | Containment::UserNamespace | Containment::Subreaper => {
                RUDE.to_owned()
            }
            // A process that leaves its session leaves the group, and this containment with it.
            Containment::ProcessGroup => RUDE.replace("setsid ", ""),
        };
        let scene = Scene::with_script(&script);
        let pane = scene.shell();
        let before = pane.keep_modes(&scene, "before");
        pane.line(&format!(
            "RALPH_CONTAINMENT={containment} {}",
            scene.talk("")
        ));
        pane.wait_for("IT-IS-UP");
        pane.foreground().signal(Signal::KILL);
        pane.wait_for("script was killed by signal 9");
        pane.wait_for("code=137");
        pane.assert_plain();
        assert_eq!(pane.keep_modes(&scene, "after"), before, "{containment}");
        scene.assert_all_dead();
    }
}

#[test]
fn what_stood_on_the_screen_stays_there() {
    let scene = Scene::with_script("echo the-agents-$((1+1))-words; exit 3\n");
    let pane = scene.shell();
    pane.line(&scene.talk(""));
    pane.wait_for("code=3");
    let screen = pane.screen();
    let at = |text: &str| {
        screen
            .find(text)
            .unwrap_or_else(|| panic!("{text}:\n{screen}"))
    };
    assert!(at("the-agents-2-words") < at("script exited with code 3"));
}

#[test]
fn ctrl_c_is_the_agents() {
    let scene = Scene::with_script("trap 'exit 7' INT\necho IT-IS-UP\nwhile :; do sleep 1; done\n");
    let pane = scene.shell();
    pane.line(&scene.talk(""));
    pane.wait_for("IT-IS-UP");
    pane.key("C-c");
    pane.wait_for("script exited with code 7");
    pane.wait_for("code=7");
    scene.assert_all_dead();
}

/// Says when it goes on after a stop, and what it then hears.
const READS: &str = r#"
trap 'echo AWAKE' CONT
echo IT-IS-UP
word=
# A trap waits for the end of a read, which can end in the middle of a line.
until read -t 0.1 -r part; do word=$word$part; done
echo "heard-$word$part"
"#;

#[test]
fn ctrl_z_gives_the_shell_the_terminal_until_it_is_given_back() {
    // A keeper tells of the stop, or a signal to ralph does.
    let strongest = Containment::detect(None).containment;
    for containment in [strongest, Containment::ProcessGroup] {
        let scene = Scene::with_script(READS);
        let pane = scene.shell();
        let before = pane.keep_modes(&scene, "before");
        pane.line(&format!(
            "RALPH_CONTAINMENT={containment} {}",
            scene.talk("")
        ));
        pane.wait_for("IT-IS-UP");
        pane.key("C-z");
        pane.wait_for("Stopped");
        assert_eq!(pane.keep_modes(&scene, "between"), before);
        pane.line("fg");
        pane.wait_for("AWAKE");
        pane.line("one-word");
        pane.wait_for("heard-one-word");
        pane.wait_for("script has exited");
        assert_eq!(pane.keep_modes(&scene, "after"), before);
        scene.assert_all_dead();
    }
}

#[test]
fn ctrl_z_changes_nothing_where_no_shell_could_go_on() {
    let scene = Scene::with_script(READS);
    let pane = Pane::start(&scene, &without_a_shell(&scene, "exec sleep 1000"));
    pane.wait_for("IT-IS-UP");
    pane.key("C-z");
    pane.wait_for("AWAKE");
    pane.line("one-word");
    pane.wait_for("heard-one-word");
    pane.wait_for("script has exited");
}

#[test]
fn nothing_outlives_a_terminal_that_is_closed() {
    let scene = Scene::with_script(RUDE);
    let pane = Pane::start(&scene, &without_a_shell(&scene, "exec sleep 1000"));
    pane.wait_for("IT-IS-UP");
    assert!(marked(&scene.mark()).len() >= 3);
    pane.close();
    scene.assert_all_dead();
}

#[test]
fn who_comes_after_ralph_can_read_from_the_terminal_as_before() {
    // Non-blocking is a mode of the open terminal, which all have in common.
    let scene = Scene::with_script(
        "exec perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_RDWR|O_NONBLOCK) or die; exit 5'\n",
    );
    let next = "echo code=$?; head -n 1 | sed s/^/got-/; exec sleep 1000";
    let pane = Pane::start(&scene, &without_a_shell(&scene, next));
    pane.wait_for("code=5");
    pane.line("a-line");
    pane.wait_for("got-a-line");
}

/// ralph in the group of what started it, with nobody to give it the terminal back; then what is next
/// there.
fn without_a_shell(scene: &Scene, next: &str) -> Vec<String> {
    let line = format!("{} agent talk; {next}", ralph().display());
    ["env", &scene.mark(), "bash", "-c", &line]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn an_agent_that_a_person_talks_to_runs_in_the_sandbox() {
    let script = "cat \"$HOME/.ssh/key\"; ls -d \"$HOME/.ssh\"; tty < /dev/tty; echo seen-$((1+1)); echo x > out.txt\n";
    for (sandbox, found) in [("auto", false), ("off", true)] {
        let scene = Scene::with_script(script);
        scene.write("home/.ssh/key", "canary-5d1c08\n");
        let pane = scene.shell();
        let vars = format!("RALPH_SAFETY_SANDBOX={sandbox} RALPH_SAFETY_ALLOW_WRITE=[]");
        pane.line(&format!("{vars} {}", scene.talk("")));
        pane.wait_for("code=0");
        let screen = pane.screen();
        assert!(screen.contains("seen-2"), "{sandbox}:\n{screen}");
        assert_eq!(
            screen.contains("canary-5d1c08"),
            found,
            "{sandbox}:\n{screen}"
        );
        assert!(scene.repo().join("out.txt").is_file(), "{sandbox}");
    }
}

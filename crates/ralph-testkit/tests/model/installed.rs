//! The agents that `scripts/agents` installed: there, at their pins, and in need of nothing.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use ralph_testkit::agents;
use tempfile::TempDir;

#[test]
fn each_agent_starts_at_its_pin_in_an_empty_environment() {
    let (second, version) = agents::second_claude();
    let installed: [(PathBuf, &[&str]); 8] = [
        (agents::node(), &["v22.23.3"]),
        (agents::claude(), &["2.1.197"]),
        (second, &[&version]),
        // The older one where a registry lacks parts of the newer.
        (agents::pi(), &["1.5.0", "0.87.1"]),
        (agents::codex(), &["0.166.0"]),
        (agents::opencode(), &["1.18.33"]),
        (agents::gemini(), &["0.61.0"]),
        (agents::openspec(), &["1.13.2"]),
    ];
    for (program, pins) in installed {
        assert!(program.is_absolute(), "{}", program.display());
        let home = TempDir::new().unwrap();
        let output = Command::new(&program)
            .arg("--version")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {output:?}", program.display());
        let is_pinned = pins.iter().any(|pin| said.contains(pin));
        assert!(is_pinned, "{} says {said}", program.display());
    }
}

//! What the model gets of a prompt: what ralph sent, and nothing that a program made of it.

use super::{CODEX, GEMINI, OPENCODE, Other};
use crate::support::Scene;

/// Looks like a command of the repository's, names a file of it, and is longer than an argument can be.
fn prompt() -> String {
    let long = "Every word of this counts.\n".repeat(8_000);
    format!("/zap it\nSee @secret.txt and @Secr, x@y.z, \"@quoted\".\n{long}The end.")
}

/// The texts of the user in the first request of a run with that prompt, in a repository that has what
/// the prompt could be taken for.
fn asked(other: &Other) -> Vec<String> {
    let scene = Scene::new("conversations: [{turns: [{say: Task T1 complete}]}]");
    for (file, text) in [
        ("secret.txt", "CONTENT OF A FILE"),
        (
            ".gemini/commands/zap.toml",
            "prompt = \"A COMMAND WAS RUN\"",
        ),
        (".opencode/command/zap.md", "A COMMAND WAS RUN"),
        (".codex/prompts/zap.md", "A COMMAND WAS RUN"),
    ] {
        let file = scene.repo().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let ran = scene.run(other.agent(), other.env(&scene), &prompt());
    assert_eq!(
        ran.report.ending.outcome(),
        "completed",
        "{:#?}",
        ran.report
    );
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 1);
    for unwanted in ["CONTENT OF A FILE", "A COMMAND WAS RUN"] {
        assert!(!requests[0].text().contains(unwanted), "{unwanted}");
    }
    let texts = requests[0].user_texts();
    texts.into_iter().map(str::to_owned).collect()
}

#[test]
fn codex_gives_the_model_the_prompt_as_it_is() {
    assert!(asked(&CODEX).contains(&prompt()));
}

#[test]
fn opencode_gives_the_model_the_prompt_as_it_is() {
    assert!(asked(&OPENCODE).contains(&prompt()));
}

#[test]
fn gemini_gives_the_model_the_prompt_with_its_at_signs_escaped_and_explained() {
    let expected = format!(
        "(In this message, read `\\@` as a plain at sign.)\n\n{}",
        prompt().replace('@', "\\@")
    );
    assert!(asked(&GEMINI).contains(&expected));
}

#[test]
fn gemini_runs_no_command_that_a_prompt_begins_with() {
    let scene = Scene::new("conversations: [{turns: [{say: Task T1 complete}]}]");
    let commands = scene.repo().join(".gemini/commands");
    std::fs::create_dir_all(&commands).unwrap();
    std::fs::write(commands.join("zap.toml"), "prompt = \"A COMMAND WAS RUN\"").unwrap();
    let _ = scene.run(GEMINI.agent(), GEMINI.env(&scene), "/zap it");
    let requests = scene.model.requests();
    let texts = requests[0].user_texts();
    assert!(
        texts.iter().any(|text| text.trim() == "/zap it"),
        "{texts:#?}"
    );
    assert!(!requests[0].text().contains("A COMMAND WAS RUN"));
}

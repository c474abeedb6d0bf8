//! What the prompt and the repository must not be able to do to Pi.

use ralph_core::agent::{AgentEvent, Ending, NudgeState};

use super::{MODES, pi, put};
use crate::support::{Env, LIMIT, Scene, limits, read};

const HI: &str = "conversations: [{turns: [{say: Task T1 complete}]}]";

/// As always, and with what Pi loads extensions by: its bundle looks for that beside itself first, and
/// an installation that has nothing but the bundle does not have it.
fn env(scene: &Scene) -> Env {
    let mut env = super::env(scene);
    let loader =
        "exports.createJiti = () => ({ import: async (path) => (await import(path)).default });";
    put(scene, "modules/jiti/index.js", loader);
    let modules = scene.home().join("pi-agent/modules");
    env.push(("NODE_PATH".into(), modules.display().to_string()));
    env
}

/// Commands of the user's that a prompt could name.
fn with_commands(scene: &Scene) {
    put(scene, "prompts/expand.md", "EXPANDED\n");
    put(
        scene,
        "skills/swap/SKILL.md",
        "---\nname: swap\ndescription: swaps\n---\nSWAPPED BODY\n",
    );
    put(
        scene,
        "extensions/run.js",
        "export default function (pi) { pi.registerCommand(\"run\", { description: \"runs\", handler: async () => {} }); }",
    );
}

#[test]
fn a_prompt_that_looks_like_a_command_goes_to_the_model_as_it_stands() {
    for mode in MODES {
        for prompt in [
            "/expand it",
            " \n/skill:swap it",
            "/run it",
            "@nothing.txt -x",
        ] {
            let scene = Scene::new(HI);
            let env = env(&scene);
            with_commands(&scene);
            let ran = scene.run(pi(mode, ""), env, prompt);
            assert_eq!(ran.report.ending, Ending::Finished, "{mode} {prompt:?}");
            let requests = scene.model.requests();
            let said = requests[0].user_texts().join("\n");
            assert!(said.ends_with(prompt), "{mode} {prompt:?}: {said:?}");
            assert!(
                !said.contains("EXPANDED") && !said.contains("SWAPPED"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_nudge_that_looks_like_a_command_goes_to_the_model_as_it_stands() {
    let scene = Scene::new(
        "conversations: [{turns: [{tools: [{bash: \"while [ ! -e go ]; do sleep 0.05; done\"}]}, {say: Task T1 complete}]}]",
    );
    let env = env(&scene);
    with_commands(&scene);
    let mut live = scene.start(pi("rpc", ""), env, "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge("/expand it");
    std::fs::write(scene.repo().join("go"), "").unwrap();
    let ran = live.join();
    let delivered = AgentEvent::Nudge {
        text: "/expand it".into(),
        state: NudgeState::Delivered,
    };
    assert!(ran.events.contains(&delivered), "{:#?}", ran.events);
    let requests = scene.model.wait_for_requests(2, LIMIT);
    assert!(requests[1].text().contains("/expand it"));
    assert!(!requests[1].text().contains("EXPANDED"));
}

#[test]
fn an_extension_of_the_repository_runs_only_where_the_project_is_trusted() {
    for mode in MODES {
        for (more, expected) in [("", ""), ("  trust_project: true\n", "loaded")] {
            let scene = Scene::new(HI);
            let folder = scene.repo().join(".pi/extensions");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(
                folder.join("own.js"),
                "import { writeFileSync } from \"node:fs\";\nexport default function (pi) { writeFileSync(\"proof.txt\", \"loaded\"); }",
            )
            .unwrap();
            // Pi remembers that it was trusted once; ralph does not go by that.
            let env = env(&scene);
            let repo = scene.repo().canonicalize().unwrap();
            put(&scene, "trust.json", &format!("{{{repo:?}: true}}"));
            let ran = scene.run(pi(mode, more), env, "Do the thing.");
            assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
            assert_eq!(
                read(&scene.repo().join("proof.txt")),
                expected,
                "{mode} {more}"
            );
        }
    }
}

#[test]
fn a_dialog_is_cancelled_because_nobody_is_there() {
    let scene = Scene::new(HI);
    let env = env(&scene);
    put(
        &scene,
        "extensions/ask.js",
        "import { writeFileSync } from \"node:fs\";\nexport default function (pi) { pi.on(\"before_agent_start\", async (event, ctx) => { const ok = await ctx.ui.confirm(\"Really?\", \"Go on?\"); writeFileSync(\"answer.txt\", String(ok)); }); }",
    );
    let ran = scene.run(pi("rpc", ""), env, "Do the thing.");
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(read(&scene.repo().join("answer.txt")), "false");
    let notice = AgentEvent::Notice {
        text: "an extension asks, and nobody is there: Really?".into(),
    };
    assert!(ran.events.contains(&notice), "{:#?}", ran.events);
}

#[test]
fn an_extension_that_takes_the_prompt_leaves_no_result_to_wait_for() {
    let scene = Scene::new(HI);
    let env = env(&scene);
    put(
        &scene,
        "extensions/take.js",
        "export default function (pi) { pi.on(\"input\", async () => ({ action: \"handled\" })); }",
    );
    let ran = scene.run(pi("rpc", ""), env, "Do the thing.");
    let message = "an extension of Pi's took the prompt".into();
    assert_eq!(ran.report.ending, Ending::Error { message });
    assert_eq!(scene.model.requests().len(), 0);
}

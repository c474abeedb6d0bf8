//! The files of the plugin and the package, as they stand in `integrations/`. A test holds the list to the folders.

/// The names of files below `integrations/`, each with its text.
macro_rules! embedded {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../integrations/", $folder, "/", $name)))),+]
    };
}

/// The name of a file, and its text.
pub(super) type EmbeddedFile = (&'static str, &'static str);

pub(super) const CLAUDE_FILES: &[EmbeddedFile] = embedded!("claude":
    ".claude-plugin/marketplace.json",
    ".claude-plugin/plugin.json",
    "README.md",
    "agents/ralph-loop-monitor.md",
    "hooks/hooks.json",
    "skills/cancel-ralph/SKILL.md",
    "skills/checkpoint/SKILL.md",
    "skills/checkpoint-management/SKILL.md",
    "skills/cost-report/SKILL.md",
    "skills/health-monitoring-patterns/SKILL.md",
    "skills/health-status/SKILL.md",
    "skills/ralph-help/SKILL.md",
    "skills/ralph-loop/SKILL.md",
    "skills/ralph-wiggum-orchestration/SKILL.md",
    "skills/token-economics-patterns/SKILL.md",
    "skills/token-status/SKILL.md",
);

pub(super) const PI_FILES: &[EmbeddedFile] = embedded!("pi":
    "README.md",
    "extensions/ralph.ts",
    "package.json",
    "src/arguments.ts",
    "src/binary.ts",
    "src/commands.ts",
    "src/decision.ts",
    "src/figures.ts",
    "src/git.ts",
    "src/help.ts",
    "src/journal.ts",
    "src/loop.ts",
    "src/memory.ts",
    "src/message.ts",
    "src/owner.ts",
    "src/progress.ts",
    "src/promise.ts",
    "src/prompt.ts",
    "src/renderer.ts",
    "src/run.ts",
    "src/say.ts",
    "src/state.ts",
    "src/subagent.ts",
    "src/usage.ts",
    "src/view.ts",
);

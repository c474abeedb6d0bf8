//! The real agents: where `scripts/agents` put them, and the environment that a test starts them in.
//!
//! Everything that an agent gets is named here: a scratch home, dummy keys, a model on loopback.
//! Nothing of the caller's environment is passed on, and nothing is started.

use std::path::{Path, PathBuf};

use serde_json::json;

/// Defines what Pi calls the scripted model: `--model loop-anthropic/scripted-1`.
pub const PI_MODEL: &str = "loop-anthropic/scripted-1";
/// Defines what opencode calls the scripted model: `--model loop/scripted-1`.
pub const OPENCODE_MODEL: &str = "loop/scripted-1";
/// Gemini CLI knows its models by name; the scripted one answers to any.
pub const GEMINI_MODEL: &str = "gemini-2.5-pro";

/// Claude Code.
///
/// # Panics
///
/// As all of these: if it is not installed, because a test that needs it can't go on.
#[must_use]
pub fn claude() -> PathBuf {
    program("claude")
}

/// Another version of Claude Code, and what it is called: its pin is moved by `scripts/agents --second`.
///
/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn second_claude() -> (PathBuf, String) {
    let program = program("claude-second");
    let folder = program.parent().and_then(Path::parent);
    let stamp = folder.expect("a folder").join("claude-second.pin");
    let text = std::fs::read_to_string(&stamp).expect("scripts/agents has noted its pin");
    let version = text.split_whitespace().next().expect("a version");
    (program, version.to_owned())
}

/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn pi() -> PathBuf {
    program("pi")
}

/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn codex() -> PathBuf {
    program("codex")
}

/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn opencode() -> PathBuf {
    program("opencode")
}

/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn gemini() -> PathBuf {
    program("gemini")
}

/// OpenSpec, which owns a format of task lists.
///
/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn openspec() -> PathBuf {
    program("openspec")
}

/// The Node that the agents run on.
///
/// # Panics
///
/// If it is not installed.
#[must_use]
pub fn node() -> PathBuf {
    program("node")
}

/// Returns what Claude Code is started with, and nothing else, to speak to a model at `url`.
#[must_use]
pub fn claude_env(home: &Path, url: &str) -> Vec<(String, String)> {
    let mut env = basic_env(home);
    env.extend(pairs(&[
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "dummy-key"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // Permissions can be skipped by root only where it says that it is in a sandbox.
        ("IS_SANDBOX", "1"),
    ]));
    env
}

/// Returns what Pi is started with, and nothing else, to speak to a model at `url`: [`PI_MODEL`]. Writes the
/// file that names the model, into the home.
///
/// # Panics
///
/// If the file can't be written.
#[must_use]
pub fn pi_env(home: &Path, url: &str) -> Vec<(String, String)> {
    let folder = home.join("pi-agent");
    std::fs::create_dir_all(&folder).expect("a home that can be written to");
    let models = json!({"providers": {"loop-anthropic": {
        "baseUrl": url, "apiKey": "dummy-key", "api": "anthropic-messages",
        "models": [{
            "id": "scripted-1", "name": "Scripted One", "reasoning": false, "input": ["text"],
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
            "contextWindow": 200_000, "maxTokens": 8192,
        }],
    }}});
    std::fs::write(folder.join("models.json"), models.to_string()).expect("a file in the home");
    let mut env = basic_env(home);
    env.extend(pairs(&[
        ("PI_CODING_AGENT_DIR", &folder.display().to_string()),
        ("PI_OFFLINE", "1"),
        ("PI_SKIP_VERSION_CHECK", "1"),
        ("PI_TELEMETRY", "0"),
    ]));
    env
}

/// Returns what Codex is started with, and nothing else, to speak to a model at `url`. Writes the file that
/// names the model, into the home. Its retries are its own default.
///
/// # Panics
///
/// If the file can't be written.
#[must_use]
pub fn codex_env(home: &Path, url: &str) -> Vec<(String, String)> {
    let folder = home.join("codex");
    let config = format!(
        "model = \"scripted-1\"\nmodel_provider = \"loop\"\n\
         [model_providers.loop]\nname = \"loop\"\nbase_url = \"{url}/v1\"\n\
         env_key = \"LOOP_KEY\"\nwire_api = \"responses\"\n"
    );
    write(&folder.join("config.toml"), &config);
    let mut env = basic_env(home);
    env.extend(pairs(&[
        ("CODEX_HOME", &folder.display().to_string()),
        ("LOOP_KEY", "dummy-key"),
    ]));
    env
}

/// Returns what opencode is started with, and nothing else, to speak to a model at `url`: [`OPENCODE_MODEL`].
/// Writes the file that names the model, into the home. It costs a dollar a million tokens of input,
/// two of output, a tenth of what is read from a cache.
///
/// # Panics
///
/// If the file can't be written.
#[must_use]
pub fn opencode_env(home: &Path, url: &str) -> Vec<(String, String)> {
    let config = json!({
        "provider": {"loop": {
            "npm": "@ai-sdk/openai-compatible", "name": "Loop",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "dummy-key"},
            "models": {"scripted-1": {
                "name": "Scripted One", "limit": {"context": 200_000, "output": 8192},
                "cost": {"input": 1, "output": 2, "cache_read": 0.1},
            }},
        }},
        "share": "disabled", "lsp": false, "formatter": false,
    });
    let file = home.join(".config/opencode/opencode.json");
    write(&file, &config.to_string());
    // It fetches a package for plug-ins in the background, and does without.
    let nowhere = "registry=http://127.0.0.1:9/\noffline=true\n";
    write(&home.join(".npmrc"), nowhere);
    let mut env = basic_env(home);
    env.extend(pairs(&[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ]));
    env
}

/// Returns what Gemini CLI is started with, and nothing else, to speak to a model at `url`. Writes the file
/// that chooses the key over a login, into the home.
///
/// # Panics
///
/// If the file can't be written.
#[must_use]
pub fn gemini_env(home: &Path, url: &str) -> Vec<(String, String)> {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
    });
    write(&home.join(".gemini/settings.json"), &settings.to_string());
    let mut env = basic_env(home);
    env.extend(pairs(&[
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("GEMINI_API_KEY", "dummy-key"),
        // Reports of errors go beside all else.
        ("TMPDIR", &home.display().to_string()),
    ]));
    env
}

/// Returns what OpenSpec is started with, and nothing else.
#[must_use]
pub fn openspec_env(home: &Path) -> Vec<(String, String)> {
    let mut env = basic_env(home);
    env.extend(pairs(&[("OPENSPEC_TELEMETRY", "0")]));
    env
}

/// Writes a file and makes its folder.
fn write(file: &Path, text: &str) {
    let folder = file.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).expect("a home that can be written to");
    std::fs::write(file, text).expect("a file in the home");
}

fn basic_env(home: &Path) -> Vec<(String, String)> {
    pairs(&[
        ("HOME", &home.display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
    ])
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn program(name: &str) -> PathBuf {
    program_in(&folder(), name)
}

fn program_in(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join("bin").join(name);
    let is_there = path.exists();
    assert!(
        is_there,
        "{} is not installed: run scripts/agents",
        path.display()
    );
    path
}

/// Where `scripts/agents` puts them.
fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = workspace.canonicalize().expect("the workspace is there");
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    // Both are relative to the workspace, as for the script.
    match (named("RALPH_AGENTS_DIR"), named("CARGO_TARGET_DIR")) {
        (Some(agents), _) => workspace.join(agents),
        (None, Some(target)) => workspace.join(target).join("agents"),
        (None, None) => workspace.join("target/agents"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "bin/claude is not installed: run scripts/agents")]
    fn an_agent_that_is_missing_is_said_to_be_so_and_how_to_get_it() {
        let empty = tempfile::tempdir().unwrap();
        let _ = program_in(empty.path(), "claude");
    }
}

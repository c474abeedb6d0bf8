//! Other plugins for Claude Code that keep a loop in the same state file as ralph's.

use std::path::{Path, PathBuf};

use ralph_engine::plain_file;
use serde_json::Value;

/// The official plugin, by its name and by an older one.
const RIVALS: [&str; 2] = ["ralph-loop", "ralph-wiggum"];

/// Returns the name of such a plugin that is enabled for a folder, as settings of the user, the project and the person
/// in it say, the later ones first.
pub(crate) fn rival_plugin(root: &Path) -> Option<String> {
    let config = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".claude"));
    let user = config.or_else(home);
    let project = root.join(".claude");
    let files = [
        user.map(|folder| folder.join("settings.json")),
        Some(project.join("settings.json")),
        Some(project.join("settings.local.json")),
    ];
    let settings = files.into_iter().flatten().filter_map(|path| read(&path));
    enabled_rival(&settings.collect::<Vec<_>>())
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&plain_file::read(path).ok()?).ok()
}

/// Later settings decide.
fn enabled_rival(settings: &[Value]) -> Option<String> {
    let plugins = |one: &Value| {
        one["enabledPlugins"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    };
    let mut merged = serde_json::Map::new();
    for one in settings {
        merged.extend(plugins(one));
    }
    let is_rival = |name: &str| RIVALS.contains(&name.split('@').next().unwrap_or_default());
    let found = merged
        .iter()
        .find(|(name, enabled)| is_rival(name) && enabled.as_bool() != Some(false));
    found.map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rival_is_one_that_the_last_word_of_the_settings_enables() {
        let on =
            json!({"enabledPlugins": {"ralph-loop@claude-plugins-official": true, "x@y": true}});
        let off = json!({"enabledPlugins": {"ralph-loop@claude-plugins-official": false}});
        let old = json!({"enabledPlugins": {"ralph-wiggum@some": ["1.0"]}});
        let other =
            json!({"enabledPlugins": {"ralph-loop-not@some": true, "ralph@skills-dir": true}});
        let table = [
            (vec![], None),
            (vec![other.clone()], None),
            (vec![on.clone()], Some("ralph-loop@claude-plugins-official")),
            (vec![on.clone(), off.clone()], None),
            (vec![off, on], Some("ralph-loop@claude-plugins-official")),
            (vec![json!([]), old], Some("ralph-wiggum@some")),
        ];
        for (settings, expected) in table {
            assert_eq!(
                enabled_rival(&settings).as_deref(),
                expected,
                "{settings:?}"
            );
        }
    }
}

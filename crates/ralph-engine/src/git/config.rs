//! Reads git's settings once and writes them down flat, so that later calls read nothing else.
//!
//! Includes are resolved by git while it lists; what is written here includes nothing. Settings that
//! say where the repository is are left out: ralph says that itself.

/// A setting as `git config --list -z --show-scope` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) scope: ConfigScope,
    pub(super) key: String,
    /// `None` for a key without `=`, which means true.
    pub(super) value: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigScope {
    /// Of the machine or the person.
    User,
    /// Of the repository, its worktree, or this one command.
    Repository,
}

/// `None` if the list is not of the form that git documents.
pub(super) fn parse_settings(list: &[u8]) -> Option<Vec<Setting>> {
    let mut fields = list.split(|byte| *byte == 0);
    let mut settings = Vec::new();
    while let Some(scope) = fields.next() {
        if scope.is_empty() {
            break;
        }
        let scope = match scope {
            b"system" | b"global" => ConfigScope::User,
            b"local" | b"worktree" | b"command" => ConfigScope::Repository,
            _ => return None,
        };
        let pair = fields.next()?;
        let (key, value) = match memchr::memchr(b'\n', pair) {
            Some(at) => (&pair[..at], Some(pair[at + 1..].to_vec())),
            None => (pair, None),
        };
        let key = String::from_utf8(key.to_vec()).ok()?;
        settings.push(Setting { scope, key, value });
    }
    Some(settings)
}

/// The settings of one scope as a file. The order is kept: later ones win.
pub(super) fn render_settings(settings: &[Setting], scope: ConfigScope) -> Vec<u8> {
    let mut file = Vec::new();
    for setting in settings.iter().filter(|setting| setting.scope == scope) {
        if is_left_out(&setting.key) {
            continue;
        }
        let Some((section, rest)) = setting.key.split_once('.') else {
            continue;
        };
        let header = match rest.rsplit_once('.') {
            Some((sub, _)) => {
                let sub = sub.replace('\\', "\\\\").replace('"', "\\\"");
                format!("[{section} \"{sub}\"]\n\t")
            }
            None => format!("[{section}]\n\t"),
        };
        let name = rest.rsplit_once('.').map_or(rest, |(_, name)| name);
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(name.as_bytes());
        if let Some(value) = &setting.value {
            file.extend_from_slice(b" = \"");
            file.extend(quote(value));
            file.push(b'"');
        }
        file.push(b'\n');
    }
    file
}

/// Settings of the person's that programs need where they can't see the person's own files: who commits, and
/// how files are stored. Those that the repository sets itself are left out.
pub(super) fn personal(settings: &[Setting]) -> Vec<(String, String)> {
    const NEEDED: [&str; 9] = [
        "core.autocrlf",
        "core.eol",
        "core.safecrlf",
        "core.symlinks",
        "init.defaultbranch",
        "merge.conflictstyle",
        "pull.rebase",
        "user.email",
        "user.name",
    ];
    let is_needed = |key: &str| NEEDED.contains(&key) || key.starts_with("filter.lfs.");
    let mut found: Vec<(String, String)> = Vec::new();
    for setting in settings.iter().filter(|setting| is_needed(&setting.key)) {
        found.retain(|(key, _)| *key != setting.key);
        if setting.scope == ConfigScope::User
            && let Some(value) = &setting.value
        {
            let value = String::from_utf8_lossy(value).into_owned();
            found.push((setting.key.clone(), value));
        }
    }
    found
}

/// The last value of a key, which is the one that counts.
pub(super) fn last_value<'a>(settings: &'a [Setting], key: &str) -> Option<&'a [u8]> {
    settings
        .iter()
        .rev()
        .find(|setting| setting.key == key)?
        .value
        .as_deref()
}

fn is_left_out(key: &str) -> bool {
    key.starts_with("include.")
        || key.starts_with("includeif.")
        || [
            "core.worktree",
            "core.bare",
            "extensions.worktreeconfig",
            "extensions.refstorage",
        ]
        .contains(&key)
}

fn quote(value: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' => quoted.extend(b"\\\""),
            b'\\' => quoted.extend(b"\\\\"),
            b'\n' => quoted.extend(b"\\n"),
            b'\t' => quoted.extend(b"\\t"),
            0x08 => quoted.extend(b"\\b"),
            other => quoted.push(*other),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_settings_flat_with_odd_names_and_values() {
        let list = b"global\0user.name\nA \"B\" \\ C\0local\0remote.a.b \"c\\d.url\nx\ny\0\
            local\0core.bare\nfalse\0local\0include.path\n/evil\0local\0a.flag\0\
            command\0core.x\n \0";
        let settings = parse_settings(list).unwrap();
        assert_eq!(
            String::from_utf8(render_settings(&settings, ConfigScope::User)).unwrap(),
            "[user]\n\tname = \"A \\\"B\\\" \\\\ C\"\n"
        );
        assert_eq!(
            String::from_utf8(render_settings(&settings, ConfigScope::Repository)).unwrap(),
            "[remote \"a.b \\\"c\\\\d\"]\n\turl = \"x\\ny\"\n[a]\n\tflag\n[core]\n\tx = \" \"\n"
        );
        assert_eq!(last_value(&settings, "core.x"), Some(&b" "[..]));
    }

    #[test]
    fn refuses_a_list_it_does_not_understand() {
        assert_eq!(parse_settings(b"elsewhere\0a.b\nc\0"), None);
    }
}

//! The environment that agents and verify commands get: the user's, without what they must not have.
//!
//! Tests of a project may need anything, so this is a list of what goes, not of what stays.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::secret::{NamedValue, Redaction, WeakValue};

use crate::{
    agent::{Credential, is_key_of_model},
    inside_run::CommandPlace,
    process::KeeperName,
    sandbox::{Sandbox, SandboxFound},
};

/// The environment to start programs with: scrubbed once, when the loop begins.
#[derive(Clone)]
pub struct Environment {
    pub vars: Vec<(OsString, OsString)>,
    /// The variables that were taken out. An agent gets back what it needs for its own model; a value is never shown.
    withheld: Vec<(String, OsString)>,
    /// Names of keys of models that the configuration passes: agents get them, whichever they are.
    passed_keys: Vec<String>,
    /// Hides the values of all variables that are secret by their names, also of those that programs get.
    redaction: Redaction,
    /// Names of those whose values can't be hidden: texts may hold them by chance.
    unhidden: Vec<String>,
    /// The name of the keepers of what is started with it.
    pub(crate) keeper: KeeperName,
    /// The walls around what is started with it.
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment")
            .field("withheld", &self.withheld())
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// The folder for temporary files: `TMPDIR`, or `/tmp`.
    pub fn temp_dir(&self) -> PathBuf {
        let found = self.vars.iter().find(|(name, _)| name == "TMPDIR");
        let folder = found.map(|(_, value)| PathBuf::from(value));
        let folder = folder.filter(|folder| folder.is_absolute());
        folder.unwrap_or_else(|| "/tmp".into())
    }
}

/// Names ralph's data folder, where that is not the usual one.
const DATA_DIR: &str = "RALPH_DATA_DIR";

/// Names that folder to an agent, for commands that only read.
pub const RUN_DATA: &str = "RALPH_RUN_DATA";

/// Names that give access to other things than the agent's own model.
const WITHHELD: [&str; 9] = [
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "DOCKER_HOST",
    "NETRC",
    "PGPASSWORD",
    "VAULT_ADDR",
];
const WITHHELD_ENDINGS: [&str; 8] = [
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSPHRASE",
    "_API_KEY",
    "_ACCESS_KEY",
    "_PRIVATE_KEY",
    "_CREDENTIALS",
];
/// The word in the reflog for commits that programs of a run make: others are a person's.
pub(crate) const REFLOG_ACTION: &str = "agent of ralph";

/// The variables that an agent needs to reach its own model.
const AGENT_PREFIXES: [&str; 3] = ["ANTHROPIC_", "CLAUDE_", "AWS_BEARER_TOKEN_BEDROCK"];

impl Environment {
    /// Scrubs `vars`. Names in `pass` stay whatever they look like, but for keys of models, which go to agents alone;
    /// PATH loses what is relative or
    /// within `workspace`, where an agent could plant a program.
    pub fn scrub(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        pass: &[String],
        workspace: &Path,
    ) -> Self {
        let mut kept = Vec::new();
        let mut withheld = Vec::new();
        let mut passed_keys = Vec::new();
        let mut secrets = Vec::new();
        for (key, value) in vars {
            let name = key.to_string_lossy();
            if is_credential(&name) {
                secrets.push(NamedValue::new(&*name, value.to_string_lossy()));
            }
            let is_passed = pass.iter().any(|p| *p == name);
            if name == "PATH" {
                kept.push((key, trusted_path(&value, workspace)));
            } else if is_passed && is_model_key(&name) {
                passed_keys.push(name.clone().into_owned());
                withheld.push((name.into_owned(), value));
            } else if is_passed || !is_withheld(&name) {
                kept.push((key, value));
            } else {
                withheld.push((name.into_owned(), value));
            }
        }
        withheld.sort();
        Self {
            vars: kept,
            withheld,
            passed_keys,
            unhidden: unhidden(&secrets),
            redaction: Redaction::new(secrets),
            keeper: KeeperName::default(),
            sandbox: None,
        }
    }

    /// Marks all that is started with it as inside a run: ralph's writing commands refuse there. An agent finds
    /// the data folder that it can read.
    #[must_use]
    pub fn of_run(mut self, data_dir: &Path, worktree: &Path) -> Self {
        let place = CommandPlace {
            data_dir: Some(data_dir),
            worktree: Some(worktree),
        };
        self.keeper = place.keeper_name();
        self.vars.retain(|(key, _)| key != "GIT_REFLOG_ACTION");
        self.vars
            .push(("GIT_REFLOG_ACTION".into(), REFLOG_ACTION.into()));
        for (name, value) in &mut self.withheld {
            // It may be relative to where ralph was started.
            if name == DATA_DIR {
                *value = data_dir.into();
            }
        }
        self
    }

    /// Puts what is started with it into a sandbox, if there is one.
    #[must_use]
    pub fn inside(mut self, found: SandboxFound) -> Self {
        self.sandbox = match found {
            SandboxFound::Walls(sandbox) => Some((*sandbox).into()),
            SandboxFound::Off | SandboxFound::Absent { .. } => None,
        };
        self
    }

    /// The sandbox around what is started with it.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_deref()
    }

    /// Names of what was taken out.
    pub fn withheld(&self) -> Vec<&str> {
        self.withheld.iter().map(|(name, _)| &**name).collect()
    }

    /// Names of keys that were taken out and that this agent does not get back.
    pub fn keys_withheld_from(&self, credentials: &[Credential]) -> Vec<&str> {
        let mut names = self.withheld();
        names.retain(|name| {
            ["_API_KEY", "_TOKEN"].iter().any(|end| name.ends_with(end))
                && !is_given_to_all(name)
                && !self.passed_keys.iter().any(|passed| passed == name)
                && !credentials.iter().any(|own| self.is_given(own, name))
        });
        names
    }

    /// Hides the values of all variables that are secret by their names, those that programs get included.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Names of variables that are secret by their names and whose values are too short or plain words.
    pub fn unhidden(&self) -> &[String] {
        &self.unhidden
    }

    /// Has further values hidden.
    #[must_use]
    pub fn hiding(mut self, values: impl IntoIterator<Item = NamedValue>) -> Self {
        self.redaction = self.redaction.with(values);
        self
    }

    fn is_given(&self, credential: &Credential, name: &str) -> bool {
        let told = |switch: &str| self.vars.iter().any(|(key, _)| key == switch);
        credential.name == name && credential.only_with.is_none_or(told)
    }

    /// The environment of an agent: with the keys of its model, the credentials of its own, and further variables set.
    pub fn for_agent(
        &self,
        credentials: &[Credential],
        more: &[(&str, String)],
    ) -> Vec<(OsString, OsString)> {
        let mut vars = self.vars.clone();
        for (name, value) in &self.withheld {
            let is_passed = self.passed_keys.contains(name);
            let is_own = credentials.iter().any(|own| self.is_given(own, name));
            if is_passed || is_own || is_given_to_all(name) {
                vars.push((name.into(), value.clone()));
            } else if name == DATA_DIR {
                vars.push((RUN_DATA.into(), value.clone()));
            }
        }
        vars.retain(|(key, _)| !more.iter().any(|(k, _)| *k == key));
        vars.extend(
            more.iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v))),
        );
        vars
    }
}

fn unhidden(secrets: &[NamedValue]) -> Vec<String> {
    let is_weak = |secret: &&NamedValue| match secret.weakness() {
        Some(WeakValue::Short | WeakValue::Word) => !secret.value.trim().is_empty(),
        Some(WeakValue::Path) | None => false,
    };
    let weak = secrets.iter().filter(is_weak);
    let mut names: Vec<String> = weak.map(|secret| secret.name.clone()).collect();
    names.sort();
    names
}

fn is_withheld(name: &str) -> bool {
    // Variables of ralph and of git belong to this process: an agent's git must find its own way.
    if name.starts_with("RALPH_")
        || name.starts_with("GIT_")
            && !name.starts_with("GIT_AUTHOR_")
            && !name.starts_with("GIT_COMMITTER_")
            && name != "GIT_CONFIG_NOSYSTEM"
            && name != "GIT_CONFIG_GLOBAL"
    {
        return true;
    }
    if AGENT_PREFIXES.iter().any(|p| name.starts_with(p)) {
        return is_given_to_all(name);
    }
    WITHHELD.contains(&name) || WITHHELD_ENDINGS.iter().any(|e| name.ends_with(e))
}

/// Tells whether a variable is the key of a model, which no verify command gets.
fn is_model_key(name: &str) -> bool {
    is_given_to_all(name) || is_key_of_model(name)
}

/// Tells whether every agent gets a variable: the key of a model that most of them can use.
fn is_given_to_all(name: &str) -> bool {
    let is_of_model = AGENT_PREFIXES.iter().any(|p| name.starts_with(p));
    // Settings of that name may hold a key too: an endpoint with a password, headers.
    let is_key = name.starts_with("ANTHROPIC_")
        || name.starts_with("AWS_BEARER_TOKEN_")
        || WITHHELD_ENDINGS.iter().any(|e| name.ends_with(e));
    is_of_model && is_key
}

/// Parts of a name, between underscores, that say that its value is a secret.
const SECRET_WORDS: [&str; 11] = [
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PGPASSWORD",
    "PASSPHRASE",
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
];
/// Parts that make a `KEY` behind them one.
const SECRET_KEYS: [&str; 9] = [
    "API",
    "ACCESS",
    "PRIVATE",
    "SECRET",
    "AUTH",
    "SIGNING",
    "ENCRYPTION",
    "MASTER",
    "DEPLOY",
];

/// Returns whether a value is a secret by its variable's name; others that are withheld are paths and
/// settings, which texts may hold.
pub fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let parts: Vec<&str> = upper.split('_').collect();
    let has_key = parts
        .windows(2)
        .any(|two| two[1] == "KEY" && SECRET_KEYS.contains(&two[0]));
    upper == "ANTHROPIC_CUSTOM_HEADERS"
        || has_key
        || parts.iter().any(|part| SECRET_WORDS.contains(part))
}

fn trusted_path(path: &OsStr, workspace: &Path) -> OsString {
    let folders =
        std::env::split_paths(path).filter(|p| p.is_absolute() && !leads_into(p, workspace));
    std::env::join_paths(folders).unwrap_or_default()
}

/// Links that are followed on the way to one folder.
const MOST_LINKS: usize = 40;

/// Tells whether the way to an absolute path goes through a folder, by its name or by links, also where nothing
/// is at its end yet.
pub(crate) fn leads_into(path: &Path, folder: &Path) -> bool {
    let real = folder.canonicalize();
    let real = real.as_deref().unwrap_or(folder);
    let is_in = |path: &Path| path.starts_with(folder) || path.starts_with(real);
    is_in(path) || walk_links(path, &mut |at, _| is_in(at))
}

/// Walks to an absolute path part by part, links included, also where nothing is at its end. `each` gets every place
/// on the way, with what it leads to where it is a link. Returns true as soon as `each` does, and where the
/// links never end.
pub(crate) fn walk_links(path: &Path, each: &mut dyn FnMut(&Path, Option<&Path>) -> bool) -> bool {
    let parts = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().rev();
        parts.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (mut at, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        at.push(part);
        let target = std::fs::read_link(&at).ok();
        if each(&at, target.as_deref()) {
            return true;
        }
        if let Some(target) = target {
            links += 1;
            if links > MOST_LINKS {
                return true;
            }
            at.pop();
            left.extend(parts(&target));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(vars: &[(&str, &str)], pass: &[&str]) -> Environment {
        let vars = vars
            .iter()
            .map(|(k, v)| (OsString::from(k), OsString::from(v)));
        let pass: Vec<_> = pass.iter().map(|p| (*p).to_owned()).collect();
        Environment::scrub(vars, &pass, Path::new("/repo"))
    }

    #[test]
    fn credentials_are_withheld_and_agents_get_back_the_keys_of_their_models() {
        let env = scrub(
            &[
                ("HOME", "/h"),
                ("GITHUB_TOKEN", "x"),
                ("AWS_SECRET_ACCESS_KEY", "x"),
                ("SSH_AUTH_SOCK", "/s"),
                ("ANTHROPIC_API_KEY", "k"),
                ("CLAUDE_CODE_OAUTH_TOKEN", "k"),
                ("ANTHROPIC_BASE_URL", "http://localhost"),
                ("DATABASE_URL", "postgres://localhost"),
                ("RALPH_DATA_DIR", "/d"),
                ("GIT_DIR", "/g"),
            ],
            &[],
        );
        let names = |vars: &[(OsString, OsString)]| -> Vec<String> {
            let names = vars.iter().map(|(k, _)| k.to_str().unwrap().to_owned());
            names.collect()
        };
        let kept = ["HOME", "DATABASE_URL"];
        assert_eq!(names(&env.vars), kept);
        let own = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            RUN_DATA,
        ];
        assert_eq!(names(&env.for_agent(&[], &[])), [&kept[..], &own].concat());
        assert_eq!(env.keys_withheld_from(&[]), ["GITHUB_TOKEN"]);
        let gone = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "AWS_SECRET_ACCESS_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "GITHUB_TOKEN",
            "GIT_DIR",
            "RALPH_DATA_DIR",
            "SSH_AUTH_SOCK",
        ];
        assert_eq!(env.withheld(), gone);
    }

    #[test]
    fn an_agent_gets_back_the_keys_of_its_own_model_and_a_clouds_only_if_it_uses_it() {
        const OWN: &[Credential] = &[
            Credential {
                name: "OPENAI_API_KEY",
                only_with: None,
            },
            Credential {
                name: "AWS_SESSION_TOKEN",
                only_with: Some("USE_BEDROCK"),
            },
        ];
        let all = [
            ("OPENAI_API_KEY", "k"),
            ("AWS_SESSION_TOKEN", "a"),
            ("GITHUB_TOKEN", "x"),
        ];
        let names = |env: &Environment| {
            let mut names: Vec<String> = env
                .for_agent(OWN, &[("RALPH_RUN", "1".into())])
                .iter()
                .map(|(k, _)| k.to_str().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        let env = scrub(&all, &[]);
        assert_eq!(names(&env), ["OPENAI_API_KEY", "RALPH_RUN"]);
        assert_eq!(
            env.keys_withheld_from(OWN),
            ["AWS_SESSION_TOKEN", "GITHUB_TOKEN"]
        );
        assert!(env.vars.is_empty(), "verify commands have none of them");
        let with_bedrock = scrub(&[&all[..], &[("USE_BEDROCK", "1")]].concat(), &[]);
        assert_eq!(
            names(&with_bedrock),
            [
                "AWS_SESSION_TOKEN",
                "OPENAI_API_KEY",
                "RALPH_RUN",
                "USE_BEDROCK"
            ]
        );
        let shown = format!("{:?}", scrub(&[("A_TOKEN", "hush")], &[]));
        assert!(
            shown.contains("A_TOKEN") && !shown.contains("hush"),
            "{shown}"
        );
    }

    #[test]
    fn credentials_are_hidden_also_if_programs_get_them_and_settings_are_not() {
        let env = scrub(
            &[
                ("ANTHROPIC_API_KEY", "value-of-1"),
                ("GITHUB_TOKEN", "value-of-2"),
                ("NPM_TOKEN", "value-of-3"),
                ("PGPASSWORD", "value-of-4"),
                ("SSH_AUTH_SOCK", "/tmp/value-of-5"),
                ("RALPH_LOOP_MAX_ITERATIONS", "12345678"),
                ("STRIPE_SECRET_KEY_LIVE", "value-of-6"),
                ("api_key", "value-of-7"),
                ("KEYBOARD", "value-of-8"),
                ("MAX_TOKENS", "value-of-9"),
                ("SHORT_TOKEN", "hush"),
            ],
            &["NPM_TOKEN"],
        );
        let all = (1..=9)
            .map(|n| format!("value-of-{n}"))
            .collect::<Vec<_>>()
            .join(" ");
        let hidden = env.redaction().hide(&all).into_owned();
        let x = "[redacted]";
        assert_eq!(
            hidden,
            format!("{x} {x} {x} {x} value-of-5 {x} {x} value-of-8 value-of-9")
        );
        assert_eq!(env.redaction().hide("hush 12345678"), "hush 12345678");
        assert_eq!(env.unhidden(), ["SHORT_TOKEN"]);
        let more = env.hiding([NamedValue::new("notify.webhook", "value-of-8")]);
        assert_eq!(
            more.redaction().hide("value-of-8 value-of-1"),
            format!("{x} {x}")
        );
    }

    #[test]
    fn the_key_of_a_model_reaches_no_verify_command_also_where_it_is_passed() {
        let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
        let env = scrub(&keys.map(|name| (name, "k")), &keys);
        assert!(env.vars.is_empty(), "{:?}", env.vars);
        let mut given = env.for_agent(&[], &[]);
        given.sort();
        let names: Vec<&str> = given.iter().map(|(k, _)| k.to_str().unwrap()).collect();
        let mut sorted = keys;
        sorted.sort_unstable();
        assert_eq!(names, sorted);
    }

    #[test]
    fn a_variable_that_the_config_passes_stays() {
        let env = scrub(&[("NPM_TOKEN", "x")], &["NPM_TOKEN"]);
        assert_eq!(env.vars.len(), 1);
    }

    #[test]
    fn a_program_planted_in_the_workspace_is_not_on_the_path() {
        let env = scrub(
            &[("PATH", "/repo/bin:./x:node_modules/.bin:/usr/bin:/bin")],
            &[],
        );
        assert_eq!(env.vars[0].1, "/usr/bin:/bin");
    }

    #[test]
    fn a_link_into_the_workspace_is_not_on_the_path_and_one_out_of_it_neither() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let link = |from: &str, to: &Path| std::os::unix::fs::symlink(to, top.join(from)).unwrap();
        std::fs::create_dir_all(top.join("repo/sub")).unwrap();
        std::fs::create_dir(top.join("bin")).unwrap();
        link("later", &top.join("repo/tools"));
        link("chain", Path::new("later"));
        link("repo/out", &top.join("bin"));
        link("through", &top.join("repo/out"));
        link("round", Path::new("round"));
        link("alias", &top.join("repo"));
        link("fine", Path::new("bin"));
        let folders = [
            "later",
            "chain",
            "through",
            "round",
            "bin/../repo",
            "fine",
            "bin",
            "no",
        ];
        let path = std::env::join_paths(folders.map(|folder| top.join(folder))).unwrap();
        let kept = ["fine", "bin", "no"].map(|folder| top.join(folder));
        for workspace in ["repo", "alias"] {
            let left = trusted_path(&path, &top.join(workspace));
            assert_eq!(std::env::split_paths(&left).collect::<Vec<_>>(), kept);
        }
    }
}

//! The environment that agents and verify commands get: the user's, without what they must not have.
//!
//! Tests of a project may need anything, so this is a list of what goes, not of what stays.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// The environment to start programs with: scrubbed once, when the loop begins.
#[derive(Debug, Clone)]
pub struct Environment {
    pub vars: Vec<(OsString, OsString)>,
    /// Names that were taken out, for the log. Values are never kept.
    pub withheld: Vec<String>,
}

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
/// What an agent needs to reach its own model.
const AGENT_PREFIXES: [&str; 3] = ["ANTHROPIC_", "CLAUDE_", "AWS_BEARER_TOKEN_BEDROCK"];

impl Environment {
    /// Scrubs `vars`. Names in `pass` stay whatever they look like; PATH loses what is relative or
    /// within `workspace`, where an agent could plant a program.
    pub fn scrub(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        pass: &[String],
        workspace: &Path,
    ) -> Self {
        let mut kept = Vec::new();
        let mut withheld = Vec::new();
        for (key, value) in vars {
            let name = key.to_string_lossy();
            if name == "PATH" {
                kept.push((key, trusted_path(&value, workspace)));
            } else if pass.iter().any(|p| *p == name) || !is_withheld(&name) {
                kept.push((key, value));
            } else {
                withheld.push(name.into_owned());
            }
        }
        withheld.sort();
        Self {
            vars: kept,
            withheld,
        }
    }

    /// The environment with further variables set.
    pub fn with(&self, more: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        let mut vars = self.vars.clone();
        vars.retain(|(key, _)| !more.iter().any(|(k, _)| *k == key));
        vars.extend(
            more.iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v))),
        );
        vars
    }
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
        return false;
    }
    WITHHELD.contains(&name) || WITHHELD_ENDINGS.iter().any(|e| name.ends_with(e))
}

fn trusted_path(path: &OsStr, workspace: &Path) -> OsString {
    let folders =
        std::env::split_paths(path).filter(|p| p.is_absolute() && !p.starts_with(workspace));
    std::env::join_paths(folders).unwrap_or_default()
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
    fn credentials_of_other_tools_are_withheld_and_the_agents_own_stay() {
        let env = scrub(
            &[
                ("HOME", "/h"),
                ("GITHUB_TOKEN", "x"),
                ("AWS_SECRET_ACCESS_KEY", "x"),
                ("SSH_AUTH_SOCK", "/s"),
                ("ANTHROPIC_API_KEY", "k"),
                ("CLAUDE_CODE_OAUTH_TOKEN", "k"),
                ("DATABASE_URL", "postgres://localhost"),
                ("RALPH_DATA_DIR", "/d"),
                ("GIT_DIR", "/g"),
            ],
            &[],
        );
        let kept: Vec<_> = env.vars.iter().map(|(k, _)| k.to_str().unwrap()).collect();
        assert_eq!(
            kept,
            [
                "HOME",
                "ANTHROPIC_API_KEY",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "DATABASE_URL"
            ]
        );
        let gone = [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "GIT_DIR",
            "RALPH_DATA_DIR",
            "SSH_AUTH_SOCK",
        ];
        assert_eq!(env.withheld, gone);
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
}

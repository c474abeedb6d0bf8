//! Describes where the journal is kept: on this machine, on a server, or on both.
//!
//! Only what is wanted. No password: a URL with one is refused here, and the engine takes it out of the environment's
//! before anything else sees it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sections::section;

section! {
    /// Where the journal is kept, and what a team sees of it.
    pub struct StoreConfig {
        /// Where the journal is: in SQLite on this machine (`local`), there and sent to a server (`sync`), or on
        /// the server alone (`direct`). None for `sync` where `store.url` is set, else `local`.
        pub mode: Option<StoreMode> = None,
        /// The PostgreSQL database of a team: `postgresql://USER@HOST/DATABASE`. Its password is not part of it:
        /// `RALPH_STORE_URL` may have one, or `PGPASSWORD`, `RALPH_STORE_PASSWORD_FILE` or `~/.pgpass`.
        pub url: Option<ServerUrl> = None,
        /// The name of the tenant whose journal it is.
        #[schemars(length(min = 1))]
        pub tenant: Option<String> = None,
        /// The parts that are sent to the server in `sync`.
        pub include: Vec<SyncPart> = SyncPart::USUAL.to_vec(),
    }
}

impl StoreConfig {
    /// The mode that holds, by what is set.
    pub fn mode(&self) -> StoreMode {
        match (self.mode, &self.url) {
            (Some(mode), _) => mode,
            (None, Some(_)) => StoreMode::Sync,
            (None, None) => StoreMode::Local,
        }
    }

    /// The key that asks for a server, and the part that is missing for it.
    pub(super) fn mistake(&self) -> Option<(&'static str, &'static str)> {
        let asks = match self.mode {
            Some(_) => "store.mode",
            None => "store.url",
        };
        match (self.mode(), &self.url, &self.tenant) {
            (StoreMode::Local, _, _) => None,
            (_, None, _) => Some((
                asks,
                "no server is named: set `store.url` or RALPH_STORE_URL",
            )),
            (_, Some(_), None) => Some((
                asks,
                "no tenant is named: set `store.tenant` or RALPH_STORE_TENANT",
            )),
            (_, Some(_), Some(_)) => None,
        }
    }
}

/// Where the journal is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoreMode {
    Local,
    Sync,
    Direct,
}

named! {
    /// A part of the journal that is sent to a team's server.
    #[derive(JsonSchema)]
    pub enum SyncPart {
        Records = "records",
        Costs = "costs",
        Checkpoints = "checkpoints",
        Questions = "questions",
        Logs = "logs",
        Prompts = "prompts",
    }
}

impl SyncPart {
    const USUAL: [Self; 4] = [
        Self::Records,
        Self::Costs,
        Self::Checkpoints,
        Self::Questions,
    ];
}

checked_text! {
    /// The address of a PostgreSQL database, without a password.
    pub struct ServerUrl;
    { "type": "string", "pattern": "^postgres(ql)?://" }
}

impl TryFrom<String> for ServerUrl {
    type Error = String;

    fn try_from(url: String) -> Result<Self, String> {
        // The text itself is not repeated: it may hold a password.
        let Some((_, rest)) = url
            .split_once("://")
            .filter(|(scheme, _)| ["postgres", "postgresql"].contains(scheme))
        else {
            return Err("expected the URL of a PostgreSQL database, such as postgresql://ralph@db.example.com/ralph".into());
        };
        if password_of(rest).is_some() {
            return Err("the password does not belong into a URL that is written down: set RALPH_STORE_URL, PGPASSWORD \
                        or RALPH_STORE_PASSWORD_FILE, or write it into ~/.pgpass"
                .into());
        }
        Ok(Self(url))
    }
}

/// Splits a URL of the environment into one that may be shown and its password, if it has one.
pub fn split_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (url.to_owned(), None);
    };
    let Some(password) = password_of(rest) else {
        return (url.to_owned(), None);
    };
    let plain = match (&password, rest.split_once('@')) {
        (Password::OfUser(_), Some((user, after))) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{after}")
        }
        _ => {
            let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
            let kept: Vec<&str> = query.split('&').filter(|part| !is_password(part)).collect();
            let mark = if kept.is_empty() { "" } else { "?" };
            format!("{scheme}://{before}{mark}{}", kept.join("&"))
        }
    };
    let (Password::OfUser(text) | Password::OfQuery(text)) = password;
    // Both places may hold one; neither stays.
    let (plain, _) = split_password(&plain);
    (plain, Some(text))
}

/// A password in a URL, still encoded, by its place.
enum Password {
    OfUser(String),
    OfQuery(String),
}

fn password_of(rest: &str) -> Option<Password> {
    let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = authority.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    if let Some((_, password)) = user.and_then(|user| user.split_once(':')) {
        return Some(Password::OfUser(password.to_owned()));
    }
    let found = query.split('&').find(|part| is_password(part))?;
    Some(Password::OfQuery(found["password=".len()..].to_owned()))
}

fn is_password(part: &str) -> bool {
    part.starts_with("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_of_a_url() {
        let cases = [
            (
                "postgresql://ada@db/ralph",
                "postgresql://ada@db/ralph",
                None,
            ),
            (
                "postgresql://ada:pw@db:5/ralph?a=b",
                "postgresql://ada@db:5/ralph?a=b",
                Some("pw"),
            ),
            (
                "postgres://db/r?password=x&host=/run",
                "postgres://db/r?host=/run",
                Some("x"),
            ),
            (
                "postgres:///r?host=/run&user=a",
                "postgres:///r?host=/run&user=a",
                None,
            ),
            (
                "postgres://a:b@db/r?password=c",
                "postgres://a@db/r",
                Some("b"),
            ),
            ("postgres://a:@db/r", "postgres://a@db/r", Some("")),
        ];
        for (url, plain, password) in cases {
            let expected = (plain.to_owned(), password.map(str::to_owned));
            assert_eq!(split_password(url), expected, "{url}");
        }
    }

    #[test]
    fn a_url_that_is_written_down_has_no_password() {
        for url in [
            "postgresql://ada:pw@db/ralph",
            "postgres://db/r?password=pw",
        ] {
            let error = ServerUrl::try_from(url.to_owned()).unwrap_err();
            assert!(error.starts_with("the password does not belong"), "{error}");
            assert!(!error.contains("pw"), "{error}");
        }
        assert!(ServerUrl::try_from("mysql://db/r".to_owned()).is_err());
        assert!(ServerUrl::try_from("postgresql://ada@db/ralph".to_owned()).is_ok());
    }

    #[test]
    fn a_url_alone_means_sync() {
        let mut store = StoreConfig::default();
        assert_eq!((store.mode(), store.mistake()), (StoreMode::Local, None));
        store.url = ServerUrl::try_from("postgresql://ada@db/ralph".to_owned()).ok();
        assert_eq!(store.mode(), StoreMode::Sync);
        assert!(
            store
                .mistake()
                .is_some_and(|(key, told)| key == "store.url" && told.contains("store.tenant"))
        );
        store.tenant = Some("acme".into());
        assert_eq!(store.mistake(), None);
        store.mode = Some(StoreMode::Direct);
        store.url = None;
        assert!(
            store
                .mistake()
                .is_some_and(|(key, told)| key == "store.mode" && told.contains("store.url"))
        );
        store.mode = Some(StoreMode::Local);
        assert_eq!(store.mistake(), None);
    }
}

//! How a process tree is held together, and which way this machine allows.
//!
//! Does not read the environment: a forced choice comes as an argument.

use std::io;
use std::str::FromStr;

use super::keeper;

/// The way in which a tree is kept from outliving its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Containment {
    /// A PID and a mount namespace, made with privileges.
    PidNamespace,
    /// The same within a user namespace that maps only the user's own uid and gid. Files of others
    /// are shown as nobody's there, and setuid programs such as `sudo` do not work.
    UserNamespace,
    /// A keeper that adopts orphans, and kills and reaps until none is left. The tree can see ralph
    /// and, being the same user, could kill the keeper.
    Subreaper,
}

/// What is used and why, for `doctor` and the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    pub containment: Containment,
    /// One sentence.
    pub why: String,
}

/// A name of a containment that does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown containment {name:?} (one of: pid-namespace, user-namespace, subreaper)")]
pub struct UnknownContainment {
    name: String,
}

impl Containment {
    pub const ALL: [Self; 3] = [Self::PidNamespace, Self::UserNamespace, Self::Subreaper];

    /// Finds the strongest containment that works here, by really trying it.
    pub fn detect(forced: Option<Self>) -> Detection {
        if let Some(containment) = forced {
            let why = match containment.probe() {
                Ok(()) => format!("{containment} is used because it was asked for"),
                Err(e) => format!("{containment} is used because it was asked for, but fails: {e}"),
            };
            return Detection { containment, why };
        }
        let privileged = match Self::PidNamespace.probe() {
            Ok(()) => return Self::PidNamespace.because("it is allowed and the strongest way"),
            Err(e) => e,
        };
        let user = match Self::UserNamespace.probe() {
            Ok(()) => {
                return Self::UserNamespace
                    .because(&format!("a plain PID namespace is refused ({privileged})"));
            }
            Err(e) => e,
        };
        Self::Subreaper.because(&format!(
            "namespaces are refused (plain: {privileged}; with a user namespace: {user})"
        ))
    }

    /// Tries this containment with a child that does nothing.
    pub fn probe(self) -> io::Result<()> {
        keeper::probe(self)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PidNamespace => "pid-namespace",
            Self::UserNamespace => "user-namespace",
            Self::Subreaper => "subreaper",
        }
    }

    fn because(self, why: &str) -> Detection {
        Detection {
            containment: self,
            why: format!("{self} is used because {why}"),
        }
    }
}

impl std::fmt::Display for Containment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Containment {
    type Err = UnknownContainment;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|c| c.as_str() == name)
            .ok_or_else(|| UnknownContainment {
                name: name.to_owned(),
            })
    }
}

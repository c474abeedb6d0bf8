//! The ways in which a process tree is held together, and what this machine allows.
//!
//! Does not read the environment: a forced choice comes as an argument.

use std::io;
use std::str::FromStr;

use ralph_core::named;

use super::platform;

named! {
    /// The way in which a tree is kept from outliving its run; the strongest stands first.
    pub enum Containment {
        /// A PID and a mount namespace, made with privileges.
        PidNamespace = "pid-namespace",
        /// The same within a user namespace that maps only the user's own uid and gid. Files of others
        /// are shown as `nobody` there, and setuid programs such as `sudo` do not work.
        UserNamespace = "user-namespace",
        /// A keeper that adopts orphans, and kills and reaps until none is left. The tree can see ralph
        /// and, being the same user, could kill the keeper.
        Subreaper = "subreaper",
        /// A process group, which every Unix has. What leaves the group outlives the run, and all of it
        /// outlives a ralph that is killed.
        ProcessGroup = "process-group",
    }
}

/// The containment that is used and why, for `doctor` and the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    pub containment: Containment,
    /// One sentence.
    pub why: String,
}

/// A name of a containment that does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "unknown containment {name:?} (one of: pid-namespace, user-namespace, subreaper, process-group)"
)]
pub struct UnknownContainment {
    name: String,
}

impl Containment {
    /// Returns whether a program gets a view of the file system of its own.
    pub fn has_mount_namespace(self) -> bool {
        match self {
            Self::PidNamespace | Self::UserNamespace => true,
            Self::Subreaper | Self::ProcessGroup => false,
        }
    }

    /// Finds the strongest containment that works here, by really trying it.
    pub fn detect(forced: Option<Self>) -> Detection {
        if let Some(containment) = forced {
            let why = match containment.probe() {
                Ok(()) => format!("{containment} is used because it was asked for"),
                Err(e) => format!("{containment} is used because it was asked for, but fails: {e}"),
            };
            return Detection { containment, why };
        }
        platform::detect()
    }

    /// Tries this containment with a child that does nothing.
    pub fn probe(self) -> io::Result<()> {
        platform::probe(self)
    }

    pub(super) fn because(self, why: &str) -> Detection {
        Detection {
            containment: self,
            why: format!("{self} is used because {why}"),
        }
    }
}

impl Detection {
    /// The sentences that a person should read before a loop goes on alone; none where all is as it
    /// should be.
    pub fn warnings(&self) -> Vec<String> {
        let containment = match self.containment {
            Containment::PidNamespace | Containment::UserNamespace => None,
            Containment::Subreaper => Some(self.why.clone()),
            Containment::ProcessGroup => Some(format!(
                "{}: what leaves its process group outlives its run, and everything outlives a ralph \
                 that is killed",
                self.why
            )),
        };
        containment
            .into_iter()
            .chain(lacking_sentence(platform::LACKS))
            .collect()
    }
}

/// A feature of Linux that ralph uses, and that the platform it was built for lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformLack {
    pub feature: &'static str,
    /// What that means for a loop.
    pub consequence: &'static str,
}

/// The features that this platform lacks.
pub fn platform_lacks() -> &'static [PlatformLack] {
    platform::LACKS
}

fn lacking_sentence(lacks: &[PlatformLack]) -> Option<String> {
    let features: Vec<&str> = lacks.iter().map(|lack| lack.feature).collect();
    (!features.is_empty()).then(|| {
        format!(
            "{} lacks what ralph uses on Linux ({}): `ralph doctor` says what that means",
            std::env::consts::OS,
            features.join(", ")
        )
    })
}

impl FromStr for Containment {
    type Err = UnknownContainment;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::from_word(name).ok_or_else(|| UnknownContainment {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::portable;

    #[test]
    fn a_platform_without_the_means_of_linux_names_them_at_the_start() {
        let sentence = lacking_sentence(portable::LACKS).unwrap();
        let expected = "lacks what ralph uses on Linux (PID namespaces, the parent-death signal, pidfds, \
                        inotify, /proc): `ralph doctor` says what that means";
        assert!(sentence.ends_with(expected), "{sentence}");
        assert_eq!(lacking_sentence(&[]), None);
    }

    #[test]
    fn weak_containments_warn_and_strong_ones_do_not() {
        let warnings = |containment: Containment| containment.because("of this test").warnings();
        let lacks = platform::LACKS.len().min(1);
        assert_eq!(warnings(Containment::PidNamespace).len(), lacks);
        assert_eq!(warnings(Containment::UserNamespace).len(), lacks);
        assert_eq!(
            warnings(Containment::Subreaper)[0],
            "subreaper is used because of this test"
        );
        assert_eq!(
            warnings(Containment::ProcessGroup)[0],
            "process-group is used because of this test: what leaves its process group outlives its \
             run, and everything outlives a ralph that is killed"
        );
    }

    #[test]
    fn other_systems_have_process_groups_and_nothing_else() {
        assert_eq!(portable::detect().containment, Containment::ProcessGroup);
        for containment in Containment::ALL {
            let allowed = portable::probe(containment).is_ok();
            assert_eq!(allowed, containment == Containment::ProcessGroup);
        }
    }
}

//! Who commits, and when: the lines of a commit and of a reflog.
//!
//! The name comes from git, once: settings and environment do not change while a repository is open.
//! The time is that of the clock, in the zone of this machine.

use jiff::tz::TimeZone;

use super::{GitError, Repo};
use crate::clock::{Clock, SystemClock};

/// Each as `Name <address>`.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) author: String,
    pub(super) committer: String,
}

impl Repo {
    pub(super) async fn identity(&self) -> Result<&Identity, GitError> {
        let ask = async || {
            let (author, committer) = tokio::try_join!(
                self.who("GIT_AUTHOR_IDENT"),
                self.who("GIT_COMMITTER_IDENT")
            )?;
            Ok(Identity { author, committer })
        };
        self.identity.get_or_try_init(ask).await
    }

    /// Seconds since 1970 and the zone, as git writes them.
    pub(super) fn now(&self) -> String {
        let now = SystemClock.now();
        let offset = TimeZone::system().to_offset(now);
        stamp(now.as_second(), offset.seconds())
    }

    async fn who(&self, variable: &str) -> Result<String, GitError> {
        let answer = self.git(["var", variable]).answer().await?;
        if answer.code != Some(0) {
            let last = answer.stderr().lines().last().unwrap_or_default();
            let reason = last.trim_start_matches("fatal: ").to_owned();
            return Err(GitError::NoIdentity { reason });
        }
        let text = String::from_utf8_lossy(&answer.stdout)
            .trim_end()
            .to_owned();
        // What follows is the time.
        match text.rfind('>') {
            Some(end) => Ok(text[..=end].to_owned()),
            None => Err(GitError::Unexpected {
                command: format!("git var {variable}"),
                answer: text,
            }),
        }
    }
}

fn stamp(seconds: i64, offset: i32) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60;
    format!("{seconds} {sign}{:02}{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_time_as_git_does() {
        assert_eq!(stamp(1_700_000_000, 0), "1700000000 +0000");
        assert_eq!(stamp(1_700_000_000, 19_800), "1700000000 +0530");
        assert_eq!(stamp(1_700_000_000, -12_600), "1700000000 -0330");
    }
}

//! The three streams of a program: pipes that ralph reads, or the terminal that ralph has.
//!
//! Only makes them; `running` reads and writes them.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use tokio::net::unix::pipe::Receiver;

use super::{CommandSpec, Output, Stdin, TerminalAccess, platform};

/// The streams that a program gets, and our ends of them.
pub(super) struct Streams {
    pub(super) access: TerminalAccess,
    pub(super) given: [Stdio; 3],
    pub(super) stdout: Option<Receiver>,
    pub(super) stderr: Option<Receiver>,
}

impl Streams {
    pub(super) fn piped(spec: &CommandSpec) -> io::Result<Self> {
        let stdin = match spec.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Bytes(_) | Stdin::Open => Stdio::piped(),
        };
        let (stdout, stdout_write) = output_pipe()?;
        let (stderr, stderr_write) = match spec.output {
            Output::Merged => (None, stdout_write.try_clone()?),
            Output::Separate => {
                let (read, write) = output_pipe()?;
                (Some(read), write)
            }
        };
        Ok(Self {
            access: TerminalAccess::None,
            given: [stdin, stdout_write.into(), stderr_write.into()],
            stdout: Some(stdout),
            stderr,
        })
    }

    pub(super) fn inherited() -> Self {
        Self {
            access: TerminalAccess::Foreground,
            given: [Stdio::inherit(), Stdio::inherit(), Stdio::inherit()],
            stdout: None,
            stderr: None,
        }
    }
}

fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (read, write) = io::pipe()?;
    platform::widen_pipe(&write);
    Ok((Receiver::from_owned_fd(read.into())?, write.into()))
}

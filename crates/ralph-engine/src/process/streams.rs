//! The three streams of a program: pipes that ralph reads, or the terminal that ralph has.
//!
//! Only makes them. Who reads and writes them is `running`.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pipe::PipeFlags;
use tokio::net::unix::pipe::Receiver;

use super::keeper::Seat;
use super::{CommandSpec, Output, Stdin};

/// Large enough that a flooding program costs few wake-ups; the most an unprivileged user gets.
pub(super) const PIPE_SIZE: usize = 1024 * 1024;

/// What a program gets, and our ends of it.
pub(super) struct Streams {
    pub(super) seat: Seat,
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
            seat: Seat::Apart,
            given: [stdin, stdout_write.into(), stderr_write.into()],
            stdout: Some(stdout),
            stderr,
        })
    }

    pub(super) fn inherited() -> Self {
        Self {
            seat: Seat::Foreground,
            given: [Stdio::inherit(), Stdio::inherit(), Stdio::inherit()],
            stdout: None,
            stderr: None,
        }
    }
}

fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // Over the user's quota it stays small, which is slower and still right.
    let _ = rustix::pipe::fcntl_setpipe_size(&write, PIPE_SIZE);
    Ok((Receiver::from_owned_fd(read)?, write))
}

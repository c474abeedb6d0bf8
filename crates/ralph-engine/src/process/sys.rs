//! System calls of any Unix that the language holds for unsafe: the place of a child between `fork`
//! and `exec`, and a signal that ralph ignores.
//!
//! What runs in a child must make system calls only: another thread may have held any lock at the
//! moment of the fork. No allocation, no formatting, no panic. What only Linux has is in
//! `linux/keeper`.

#![allow(unsafe_code)]

use std::io;
use std::ptr;

use libc::c_int;

use super::TerminalAccess;

/// A call that failed; the reason is in `errno`.
pub(super) struct CallFailed;

/// Makes `command` start its program as the leader of a process group, with the signals as they are
/// by default: in a session of its own, or in the foreground of ralph's terminal.
pub(super) fn lead_a_group(command: &mut tokio::process::Command, access: TerminalAccess) {
    let enter = move || {
        match access {
            TerminalAccess::None => new_session(),
            TerminalAccess::Foreground => {
                new_group();
                // The kernel stops a process in the background that does this, unless the signal is
                // blocked.
                block_all_signals();
                if take_foreground(libc::STDIN_FILENO).is_err() {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        default_signals();
        Ok(())
    };
    // SAFETY: system calls alone, see the module's head.
    unsafe {
        command.pre_exec(enter);
    }
}

pub(super) fn new_session() {
    // SAFETY: no pointers. It fails only for a group leader, which a fresh fork is not.
    unsafe { libc::setsid() };
}

/// Makes the caller the leader of a process group within its session.
pub(super) fn new_group() {
    // SAFETY: no pointers. It fails only for a session leader, which a fresh fork is not.
    unsafe { libc::setpgid(0, 0) };
}

/// Makes the caller's group the one that the terminal's keys and signals go to.
pub(super) fn take_foreground(terminal: c_int) -> Result<(), CallFailed> {
    // SAFETY: no pointers.
    check(unsafe { libc::tcsetpgrp(terminal, libc::getpgrp()) })
}

pub(super) fn block_all_signals() {
    set_mask(|set| {
        // SAFETY: the set is valid for writing.
        unsafe { libc::sigfillset(set) };
    });
}

/// Undoes what ralph's runtime, or the shell that started ralph, did to signals: a program started
/// from a background job would otherwise ignore SIGINT.
pub(super) fn default_signals() {
    for signal in 1..32 {
        // SAFETY: SIG_DFL is no function to be called; errors for KILL and STOP are of no concern.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // A write to a workspace that is full is an error that a program can tell of, and not its end.
    // SAFETY: SIG_IGN is no function to be called.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    set_mask(|_| {});
}

fn set_mask(fill: impl Fn(*mut libc::sigset_t)) {
    let mut set = empty_set();
    fill(&raw mut set);
    // SAFETY: the set was initialised.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) };
}

pub(super) fn empty_set() -> libc::sigset_t {
    // SAFETY: all zeros is a valid value, and sigemptyset then makes it the empty set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}

pub(super) fn check(result: c_int) -> Result<(), CallFailed> {
    if result < 0 { Err(CallFailed) } else { Ok(()) }
}

/// Returns true if the process was started with this signal ignored, as `nohup` starts one, or ignores it since.
pub(super) fn is_ignored(signal: c_int) -> bool {
    // SAFETY: all zeros is a valid value; the call writes it, and changes nothing.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Keeps SIGTTOU ignored as long as it lives. By default the kernel stops a process that changes its
/// terminal while another program is in the foreground there.
#[derive(Debug)]
pub(super) struct TtouIgnored {
    before: libc::sighandler_t,
}

impl TtouIgnored {
    pub(super) fn now() -> Self {
        // SAFETY: SIG_IGN is no function to be called.
        let before = unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        Self { before }
    }
}

impl Drop for TtouIgnored {
    fn drop(&mut self) {
        if self.before != libc::SIG_ERR {
            // SAFETY: what was there before is valid still: handlers are never taken away.
            unsafe { libc::signal(libc::SIGTTOU, self.before) };
        }
    }
}

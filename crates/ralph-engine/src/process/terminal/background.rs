//! Lets ralph change its terminal while another program is in the foreground there.
//!
//! By default the kernel stops a process that does so, with SIGTTOU. Only ignoring the signal helps,
//! and that takes a call that the language holds for unsafe. Nothing else belongs in here.

#![allow(unsafe_code)]

/// SIGTTOU is ignored as long as this lives.
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
            // SAFETY: what was there before is valid still: nobody takes handlers away.
            unsafe { libc::signal(libc::SIGTTOU, self.before) };
        }
    }
}

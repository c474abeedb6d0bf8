//! Threads for the work on one large file. They end before the work does, and start nothing.

use std::num::NonZeroUsize;

use ralph_core::task::format::{Crew, Job};

#[derive(Debug, Clone, Copy)]
pub(super) struct Threads(pub(super) NonZeroUsize);

impl Crew for Threads {
    fn size(&self) -> usize {
        self.0.get()
    }

    fn run(&self, jobs: Vec<Job<'_>>) {
        let mut jobs = jobs.into_iter();
        let first = jobs.next();
        std::thread::scope(|scope| {
            for job in jobs {
                // Where the system gives no thread, the job is left out, as a crew may.
                let _ = std::thread::Builder::new().spawn_scoped(scope, job);
            }
            // This thread has nothing better to do.
            if let Some(job) = first {
                job();
            }
        });
    }
}

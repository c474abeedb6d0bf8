//! Work that can be done side by side. The core starts no threads: whoever calls it brings a crew.

/// A piece of work that needs no other.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Does several jobs, side by side if it likes.
pub trait Crew {
    /// How many jobs it can be at at once.
    fn size(&self) -> usize;

    /// Does all of them but those it finds no hand for, and comes back when none is under way any
    /// more.
    fn run(&self, jobs: Vec<Job<'_>>);
}

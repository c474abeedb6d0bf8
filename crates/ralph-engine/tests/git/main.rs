//! What ralph does with git, on real repositories. One binary for all of it: linking is dear.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod guarding;
mod landing;
mod noticing;
mod opening;
mod planted;
mod resetting;
mod staging;
mod storing;
mod support;
mod swapping;
mod switching;
mod writing;

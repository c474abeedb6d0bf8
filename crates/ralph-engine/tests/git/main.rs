//! What ralph does with git, on real repositories. One binary for all of it: linking is dear.

mod guarding;
mod landing;
mod opening;
mod planted;
mod resetting;
mod staging;
mod support;

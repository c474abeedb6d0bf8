//! What a flow file says: a user's way through an application, step by step, and what must be seen on it.
//!
//! Reads text that it is handed. Never opens a file, a page or a browser.

mod model;

pub use model::*;

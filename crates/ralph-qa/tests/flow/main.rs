//! Flow files: what is read from them, what is said of those that are wrong, and how they are found.

mod bad;
mod files;
mod good;
mod lint;
mod properties;
mod schema;

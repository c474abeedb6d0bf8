//! ralph-engine

pub mod settings;

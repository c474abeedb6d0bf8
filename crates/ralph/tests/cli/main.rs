//! The commands that look and set up, as a user meets them: the real program, in scratch
//! repositories, with a journal written by the engine itself.

#![allow(clippy::unwrap_used)]

mod agent;
mod artefacts;
mod config;
mod cost;
mod db;
mod doctor;
mod health;
mod import;
mod init;
mod interview;
mod lint;
mod logs;
mod loops;
mod plan;
mod report;
mod report_forms;
mod sandboxed;
mod status;
mod support;
mod sync;
mod tasks;
mod team;
mod team_document;
mod team_ground;
mod wrong_input;

//! `ralph run` from outside: the real binary, real git, real processes. One binary for all of it:
//! linking is dear.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod allowance;
mod answering;
mod caches;
mod checkpoints;
mod claims;
mod clean_check;
mod contents;
mod cost;
mod counting;
mod crash;
mod crowd;
mod executing;
mod folder_follows;
mod following;
mod formats;
mod git_tricks;
mod goals;
mod gutter;
mod handing_over;
mod health;
mod in_place;
mod in_progress;
mod intervening;
mod landing;
mod layer_cases;
mod layers;
mod limits;
mod loops;
mod monitoring;
mod moved_branch;
mod notifying;
mod options;
mod outcomes;
mod owners;
mod places;
mod prd_mode;
mod real_agents;
mod refusing;
mod reporting;
mod reverting;
mod second_day;
mod speaking;
mod spending;
mod squashing;
mod stopping;
mod storm;
mod streams;
mod suggesting;
mod support;
mod unverified;
mod user_edits;
mod verifying;
mod workspaces;

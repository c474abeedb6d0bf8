//! Real programs in real process trees: what survives, what is reported, what is read.

mod output;
mod starting;
mod support;
mod survivors;
mod verifying;

//! Comparing pictures: of a real page, as Chromium draws it with other fonts and with small faults, and of pixels
//! that are set one by one.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod drawn;
mod limits;
mod pages;

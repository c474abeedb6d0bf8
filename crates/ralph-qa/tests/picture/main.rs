//! Comparing pictures: of a real page, as Chromium draws it with other fonts and with small faults, and of pixels
//! that are set one by one.

mod drawn;
mod limits;
mod pages;

//! Views that several commands share: tables, figures, places in files, the screen.
//!
//! Makes text; `output` prints it. Colours only where standard output is a terminal that wants them.

pub(crate) mod bar;
pub(crate) mod columns;
pub(crate) mod paint;
pub(crate) mod places;
pub(crate) mod scale;
pub(crate) mod screen;
pub(crate) mod table;

pub(crate) use ralph_core::figures;

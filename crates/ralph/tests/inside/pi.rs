//! The package in the real Pi.

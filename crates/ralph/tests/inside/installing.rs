//! `ralph install` and `ralph uninstall`.

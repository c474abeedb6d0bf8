//! Sandboxes really made, as root and as an ordinary user, by each means.

mod containers;
mod ground;
mod homes;
mod limits;
mod networks;
mod probes;
mod root;
mod toolchains;

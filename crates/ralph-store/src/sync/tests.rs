//! Tests of sync with a real journal and a real server.

mod ground;
mod histories;
pub(super) mod interrupt;
mod killed;
mod outcomes;
mod rounds;
mod schema;

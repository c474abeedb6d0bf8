//! A team's store: PostgreSQL with a tenant for each organisation.
//!
//! It is reached by [`connect`], set up and kept by [`admin`], proven by [`check`], and its audit trail is verified
//! ([`audit`]). The server keeps tenants apart, by row-level security; nothing here may rely on a `WHERE` for that, and
//! nothing may leave a setting behind in a session: behind a pooler the session is another client's after each
//! transaction.

pub mod admin;
pub mod audit;
mod catalog;
pub mod check;
pub mod connect;
mod password;
mod probe;
pub mod schema;
pub mod shares;
pub mod team;
mod url;

pub use connect::{Isolation, Scope, StoreConnection, StoreError, StoreTransaction, statement};
pub use url::{PasswordSources, StoreUrl, UrlSource};

#[cfg(test)]
mod tests;

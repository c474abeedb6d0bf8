//! Agents that cheat, err or are attacked, each doing it for real, in both kinds of workspace; and honest ones
//! that must never be refused. This binary is the index of them: [`a`] has the forty cases, [`g`] the classes
//! of tricks that go around the claim, [`honest`] what has to land, [`killed`] the end of ralph itself.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

/// Makes a test of each mode from a function that takes the mode. A mode in which ralph is still fooled is named
/// with what closes it, and its test is ignored until then.
macro_rules! modes {
    (@test $(#[$ignored:meta])* $mode:ident of $name:ident) => {
        #[test]
        $(#[$ignored])*
        fn $mode() {
            super::$name(stringify!($mode));
        }
    };
    ($name:ident) => {
        mod $name {
            modes!(@test overlay of $name);
            modes!(@test in_place of $name);
        }
    };
    ($name:ident, overlay: $until:literal) => {
        mod $name {
            modes!(@test #[ignore = $until] overlay of $name);
            modes!(@test in_place of $name);
        }
    };
    ($name:ident, in_place: $until:literal) => {
        mod $name {
            modes!(@test overlay of $name);
            modes!(@test #[ignore = $until] in_place of $name);
        }
    };
    ($name:ident, both: $until:literal) => {
        mod $name {
            modes!(@test #[ignore = $until] overlay of $name);
            modes!(@test #[ignore = $until] in_place of $name);
        }
    };
}

mod a;
mod g;
mod honest;
mod killed;
#[path = "../loop"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the tests of the loop use what is not used here"
)]
mod of_the_loop {
    pub(crate) mod other_user;
    pub(crate) mod support;
}
mod scene;

use of_the_loop::{other_user, support};

//! The tasks of a source as `status` looks at them: what the parts of it that explain share.

use ralph_core::{
    select::Plan,
    task::graph::Graph,
};

use crate::{past::Past, project::Scope};

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    pub(super) plan: &'a Plan,
    pub(super) scope: &'a Scope,
    pub(super) past: &'a Past,
}

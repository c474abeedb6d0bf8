//! The tasks of a source as `status` looks at them: what the parts of it that explain share.

use ralph_core::{
    select::Plan,
    task::{Outline, graph::Graph},
};
use ralph_engine::source::Source;

use crate::{past::Past, project::Scope};

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) source: &'a Source,
    pub(super) graph: &'a Graph<Outline>,
    pub(super) plan: &'a Plan,
    pub(super) scope: &'a Scope,
    pub(super) past: &'a Past,
}

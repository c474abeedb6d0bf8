//! The small tree of tasks that no loop has worked on: for whoever has just made them.

use std::path::Path;

use ralph_core::select::Plan;

use super::{show::branches, tree::tree, view::View};
use crate::{
    error::CommandError,
    past::Past,
    project::{Project, Scope},
};

pub(crate) fn fresh_tree(project: &Project, source: &Path) -> Result<String, CommandError> {
    let (_, graph, _) = project.source(Some(source))?;
    let plan = Plan::of_all(&graph);
    let past = Past::default();
    let view = View {
        graph: &graph,
        plan: &plan,
        scope: &Scope::All,
        past: &past,
    };
    let next = plan.next(&past.history()).and_then(|id| graph.get(id));
    Ok(branches::render(&tree(&view, (next, None), &[])))
}

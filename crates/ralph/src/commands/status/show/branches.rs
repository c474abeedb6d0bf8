//! The small tree of tasks as text: a sign, the id and the title of each, and its state where the
//! sign does not say it all.

use ralph_core::{board::TaskState, sanitize::one_line};

use crate::{
    commands::status::tree::{NodeState, Tree, TreeNode},
    view::{Tone, paint},
};

pub(in crate::commands::status) fn render(tree: &Tree) -> String {
    if tree.children.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint(Tone::Heading, "tasks"));
    branches(&mut text, tree, 1);
    text
}

fn branches(text: &mut String, tree: &Tree, depth: usize) {
    let indent = "  ".repeat(depth);
    for node in &tree.children {
        let is_container = !node.below.children.is_empty();
        let title = one_line(&node.title, 72);
        let id = paint(Tone::Name, node.id.as_str());
        let mut line = if is_container {
            format!("{indent}{id} {title}")
        } else {
            format!("{indent}{} {id} {title}", sign(node.state))
        };
        if let Some(word) = word(node, is_container) {
            line.push_str(&format!("  {}", paint(Tone::Faint, &word)));
        }
        text.push_str(&line);
        text.push('\n');
        branches(text, &node.below, depth + 1);
    }
    if tree.more > 0 {
        let more = format!("… and {} more", tree.more);
        text.push_str(&format!("{indent}{}\n", paint(Tone::Faint, &more)));
    }
}

fn word(node: &TreeNode, is_container: bool) -> Option<String> {
    if is_container {
        return Some(format!("{} of {}", node.completed, node.total));
    }
    let word = match node.state {
        NodeState::UnderWay => "under way",
        NodeState::Next => "next",
        NodeState::Of(TaskState::Asking) => "a question is open",
        NodeState::Of(TaskState::Waiting) => "waiting",
        NodeState::Of(TaskState::Blocked) => "blocked",
        NodeState::Of(TaskState::Failed) => "failed",
        NodeState::Of(TaskState::Skipped) => "skipped",
        NodeState::Of(TaskState::Ready | TaskState::Completed) => return None,
    };
    Some(word.to_owned())
}

fn sign(state: NodeState) -> String {
    let (sign, tone) = match state {
        NodeState::UnderWay => ("▶", Tone::Good),
        NodeState::Next => ("→", Tone::Heading),
        NodeState::Of(TaskState::Asking) => ("?", Tone::Careful),
        NodeState::Of(TaskState::Ready) => ("○", Tone::Plain),
        NodeState::Of(TaskState::Waiting) => ("·", Tone::Faint),
        NodeState::Of(TaskState::Blocked) => ("■", Tone::Careful),
        NodeState::Of(TaskState::Failed) => ("✗", Tone::Bad),
        NodeState::Of(TaskState::Completed) => ("✓", Tone::Good),
        NodeState::Of(TaskState::Skipped) => ("–", Tone::Faint),
    };
    paint(tone, sign)
}

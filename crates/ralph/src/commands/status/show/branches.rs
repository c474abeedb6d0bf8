//! The small tree of tasks as text: a sign, the id and the title of each, and how it stands where
//! the sign does not say it all.

use ralph_core::sanitize::one_line;

use crate::{
    commands::status::tree::{Standing, Tree, TreeNode},
    view::paint::{Tone, paint},
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
        let mut line = match is_container {
            true => format!("{indent}{id} {title}"),
            false => format!("{indent}{} {id} {title}", sign(node.standing)),
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
    let word = match node.standing {
        Standing::UnderWay => "under way",
        Standing::Next => "next",
        Standing::Question => "a question is open",
        Standing::Waiting => "waiting",
        Standing::Blocked => "blocked",
        Standing::Failed => "failed",
        Standing::Skipped => "skipped",
        Standing::Ready | Standing::Completed => return None,
    };
    Some(word.to_owned())
}

fn sign(standing: Standing) -> String {
    let (sign, tone) = match standing {
        Standing::UnderWay => ("▶", Tone::Good),
        Standing::Next => ("→", Tone::Heading),
        Standing::Question => ("?", Tone::Careful),
        Standing::Ready => ("○", Tone::Plain),
        Standing::Waiting => ("·", Tone::Faint),
        Standing::Blocked => ("■", Tone::Careful),
        Standing::Failed => ("✗", Tone::Bad),
        Standing::Completed => ("✓", Tone::Good),
        Standing::Skipped => ("–", Tone::Faint),
    };
    paint(tone, sign)
}

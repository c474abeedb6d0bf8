//! Labels before a text: "Done when:", "**Verify:**", "_Depends on_: …".

/// Describes what a label says about the text behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelKind {
    Acceptance,
    /// A command, or a sentence on how to check.
    Verify,
    /// A command if it is one, else nothing that ralph knows.
    Test,
    DependsOn,
    /// The same in words that are also used for other things.
    After,
    Notes,
    Priority,
    Files,
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label<'a> {
    pub(super) kind: LabelKind,
    /// As it is written.
    pub(super) name: &'a str,
    /// The text behind it, without space around it.
    pub(super) rest: &'a str,
}

/// The label that a text begins with.
pub(super) fn of(text: &str) -> Option<Label<'_>> {
    let text = text.trim();
    let open = text.len() - text.trim_start_matches(['*', '_']).len();
    let inner = &text[open..];
    let colon = inner.find(':');
    // A label alone may stand without a colon if it is set apart: `**Acceptance Criteria**`.
    let (name, rest) = match colon {
        Some(colon) => (&inner[..colon], &inner[colon + 1..]),
        None if open > 0 => (inner, ""),
        None => return None,
    };
    let name = name.trim().trim_end_matches(['*', '_']).trim();
    let kind = kind_of(&name.to_lowercase())?;
    let mut rest = rest.trim();
    if open > 0 {
        rest = rest.trim_start_matches(['*', '_']).trim();
        // Emphasis around all of it.
        let single = text.starts_with('_') || (text.starts_with('*') && !text.starts_with("**"));
        if single {
            rest = rest.trim_end_matches(['*', '_']).trim();
        }
    }
    Some(Label { kind, name, rest })
}

fn kind_of(name: &str) -> Option<LabelKind> {
    Some(match name {
        "done when"
        | "acceptance"
        | "acceptance criteria"
        | "acceptance criterion"
        | "success criteria"
        | "definition of done"
        | "dod"
        | "exit criteria"
        | "criteria"
        | "ac"
        | "done if"
        | "complete when"
        | "completion criteria" => LabelKind::Acceptance,
        "verify" | "verification" | "verify with" | "validate" | "validation" | "verified by" => {
            LabelKind::Verify
        }
        "test" | "tests" | "test command" | "check" | "run" | "test with" => LabelKind::Test,
        "depends on" | "depends" | "dependencies" | "dependency" | "blocked by" | "deps"
        | "depends upon" => LabelKind::DependsOn,
        "requires" | "after" | "needs" | "prerequisites" | "prerequisite" => LabelKind::After,
        "note" | "notes" => LabelKind::Notes,
        "priority" => LabelKind::Priority,
        "file" | "files" | "key files" => LabelKind::Files,
        "status" => LabelKind::Status,
        _ => return None,
    })
}

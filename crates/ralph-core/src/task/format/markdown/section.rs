//! The meaning of headings: how urgent what stands below them is, and if it is work at all.

/// Describes what stands below a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Work,
    /// Work that is done already.
    Completed,
    /// Work that is not to be done.
    OutOfScope,
    /// Samples of how the list is written.
    Sample,
    /// Explains the marks.
    Legend,
    /// Statements that have to hold in the end.
    Criteria,
    /// Remarks.
    Notes,
    /// Commands that check the work.
    Checks,
}

/// The words of a heading, in lower case, with single spaces and nothing else.
pub(super) fn words(heading: &str) -> String {
    let lower = heading.to_lowercase().replace(['\'', '’'], "");
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

pub(super) fn kind_of(heading: &str) -> SectionKind {
    let words = words(heading);
    // A number before it says nothing: `4. Out of scope`.
    let words = words.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let first = words.split(' ').next().unwrap_or_default();
    let count = words.split(' ').count();
    match words {
        "acceptance"
        | "acceptance criteria"
        | "acceptance criterion"
        | "success criteria"
        | "definition of done"
        | "dod"
        | "done when"
        | "done criteria"
        | "exit criteria"
        | "completion criteria"
        | "acceptance tests"
        | "criteria"
        | "success metrics"
        | "acceptance checklist" => SectionKind::Criteria,
        "out of scope"
        | "not in scope"
        | "non goals"
        | "nongoals"
        | "wont do"
        | "wont fix"
        | "wontfix"
        | "will not do"
        | "not doing"
        | "rejected"
        | "cancelled"
        | "canceled"
        | "dropped"
        | "deferred"
        | "postponed"
        | "icebox"
        | "parking lot"
        | "skipped"
        | "abandoned"
        | "out of scope for now"
        | "explicitly out of scope"
        | "not planned" => SectionKind::OutOfScope,
        "legend" | "status legend" | "key" | "marks" | "symbols" | "notation" | "status key"
        | "checkbox legend" | "task status legend" | "status markers" | "status symbols" => {
            SectionKind::Legend
        }
        "example" | "examples" | "template" | "templates" | "example task" | "task template"
        | "example tasks" | "sample" | "samples" | "task format" | "format" | "item template" => {
            SectionKind::Sample
        }
        "notes" | "note" | "remarks" | "comments" => SectionKind::Notes,
        "validation commands"
        | "verification commands"
        | "verify commands"
        | "test commands"
        | "test command"
        | "quality gates"
        | "quality checks"
        | "checks" => SectionKind::Checks,
        _ if matches!(
            first,
            "completed" | "done" | "finished" | "archive" | "archived" | "shipped"
        ) && count <= 3 =>
        {
            SectionKind::Completed
        }
        "recently completed" | "already done" | "already completed" | "previously completed" => {
            SectionKind::Completed
        }
        _ => SectionKind::Work,
    }
}

/// The priority that a heading gives to what stands below it: lower goes first.
pub(super) fn priority_of(heading: &str) -> Option<i64> {
    let words = words(heading);
    let all: Vec<&str> = words.split(' ').collect();
    // Phases have their order; what stands in brackets behind one is about its story.
    let is_phase = matches!(
        all[0],
        "phase" | "step" | "stage" | "milestone" | "sprint" | "week" | "iteration"
    );
    if is_phase {
        return None;
    }
    let has = |word: &str| all.contains(&word);
    // `P0`, `Critical (P0)`, `Phase 3: … (Priority: P1)`.
    let level = |word: &&&str| {
        let number = word.strip_prefix('p')?;
        let number = (number.len() == 1).then(|| number.parse::<i64>().ok())??;
        (number <= 5).then_some(number)
    };
    if let Some(level) = all.iter().find_map(|word| level(&word)) {
        return Some(level);
    }
    if let Some(at) = all.iter().position(|word| *word == "priority") {
        let next = all.get(at + 1).and_then(|word| word.parse::<i64>().ok());
        if next.is_some() {
            return next;
        }
    }
    let said_of_priority = has("priority") || all.len() == 1;
    let short = all.len() <= 2;
    match () {
        () if said_of_priority && (has("critical") || has("highest") || has("urgent")) => Some(0),
        () if said_of_priority && has("high") => Some(1),
        () if said_of_priority && (has("medium") || has("normal")) => Some(2),
        () if said_of_priority && has("low") => Some(3),
        () if said_of_priority && has("lowest") => Some(4),
        () if words == "must have" || words == "must haves" => Some(1),
        () if words == "should have" || words == "should haves" => Some(2),
        () if words == "could have"
            || words == "could haves"
            || words.starts_with("nice to have") =>
        {
            Some(3)
        }
        () if short && matches!(all[0], "backlog" | "later" | "someday" | "ideas" | "future") => {
            Some(4)
        }
        () => None,
    }
}

//! Makes a checkpoint of what is known at a moment, and of the checkpoint before it in its loop.
//!
//! Sums and lists go on from there; whatever the moment says nothing of stays as it was. Everything
//! has a cap.

use std::{collections::HashSet, fmt::Write as _};

use jiff::Timestamp;

use super::{
    BlockedItem, Checkpoint, CommandResult, Context, Execution, ExecutionPhase, Found, Item,
    MAX_CHARS, MAX_ITEMS, MAX_NEXT, Metadata, Metrics, Recovery, Trigger, VERSION, phase,
};
use crate::{
    agent::Usage,
    id::{CheckpointId, LoopId},
    sanitize::one_line,
    signal::ClosingBlock,
};

/// Describes what is known when a checkpoint is made.
#[derive(Debug, Clone)]
pub struct Moment {
    pub id: CheckpointId,
    pub loop_id: LoopId,
    pub at: Timestamp,
    pub trigger: Trigger,
    pub note: Option<String>,
    pub branch: String,
    pub commit: String,
    /// The one who works in this loop.
    pub agent: String,
    /// The work since the last one, where there was any.
    pub work: Option<Box<IterationWork>>,
    /// Tells what comes next. `None`: what came next before.
    pub pending: Option<Vec<Item>>,
    /// Tells what can't be taken. `None`: as before.
    pub blocked: Option<Vec<BlockedItem>>,
    /// Why the loop stopped, in a sentence.
    pub stopped: Option<Stopped>,
}

/// The way a loop stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub sentence: String,
    pub left: Left,
}

/// Describes what is left of the work when a loop stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Work,
}

/// An iteration, at its end or between two runs of its agent.
#[derive(Debug, Clone)]
pub struct IterationWork {
    pub iteration: u64,
    pub task: Item,
    pub found: Found,
    /// Tells what ralph found, in a sentence.
    pub sentence: String,
    /// Where the work is kept that did not land.
    pub kept: Option<String>,
    pub said: ClosingBlock,
    /// Why its agent hands over, in a sentence of ralph's.
    pub handed_over: Option<String>,
    /// The last calls to tools that failed, newest first.
    pub failed_calls: Vec<String>,
    /// `None` between two runs: an iteration is counted at its end.
    pub spent: Option<Spent>,
    pub verification: Vec<CommandResult>,
}

/// Describes what an iteration used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub usage: Usage,
    pub tool_calls: u64,
}

/// Describes what goes before a checkpoint in its loop.
#[derive(Debug, Clone, Default)]
pub struct Before {
    /// The number that there are.
    pub n: u64,
    pub hash: Option<String>,
    /// The newest, if it can be read.
    pub checkpoint: Option<Checkpoint>,
    /// Tasks whose completion was taken back.
    pub taken_back: HashSet<String>,
}

impl Moment {
    /// The checkpoint that follows.
    pub fn after(&self, before: &Before) -> Checkpoint {
        let old = before.checkpoint.as_ref();
        let work = self.work.as_deref();
        let pending = match (&self.pending, old) {
            (Some(pending), _) => pending.iter().take(MAX_ITEMS).map(short_item).collect(),
            (None, old) => old.map_or_else(Vec::new, |old| old.execution.pending.clone()),
        };
        let execution = Execution {
            phase: self.phase(old),
            completed: self.completed(before),
            blocked: self.blocked(old),
            pending,
        };
        let metadata = Metadata {
            checkpoint_id: self.id.clone(),
            loop_id: self.loop_id.clone(),
            n: before.n + 1,
            iteration: work
                .map(|work| work.iteration)
                .or_else(|| old.and_then(|old| old.metadata.iteration)),
            task_id: work
                .map(|work| work.task.task_id.clone())
                .or_else(|| old.and_then(|old| old.metadata.task_id.clone())),
            agent: self.agent.clone(),
            at: self.at,
            trigger: self.trigger,
            note: self.note.as_deref().map(|note| cut(note, MAX_NEXT)),
        };
        let recovery = Recovery {
            branch: self.branch.clone(),
            commit: self.commit.clone(),
            rollback: self.rollback(),
            continuation_prompt: self.next_steps(&execution, old),
        };
        Checkpoint {
            version: VERSION,
            context: self.context(old),
            metrics: self.metrics(old),
            metadata,
            execution,
            recovery,
            previous: before.hash.clone(),
        }
    }

    /// The phase that this would be in.
    pub fn phase(&self, old: Option<&Checkpoint>) -> ExecutionPhase {
        let told = |work: &IterationWork| {
            let handoff = work.handed_over.as_ref().or(work.said.handoff.as_ref());
            let told = work.said.phase.as_deref();
            phase(work.found, told, handoff.map(String::as_str))
        };
        match (&self.stopped, &self.work, old) {
            (Some(stopped), _, _) if stopped.left == Left::Nothing => ExecutionPhase::Complete,
            (_, Some(work), _) => told(work),
            (_, None, Some(old)) => old.execution.phase,
            (_, None, None) => ExecutionPhase::Planning,
        }
    }

    fn completed(&self, before: &Before) -> Vec<Item> {
        let old = before.checkpoint.iter();
        let old = old.flat_map(|old| old.execution.completed.iter());
        let now = self.work.as_ref();
        let now = now.filter(|work| work.found == Found::Complete);
        let now = now.map(|work| short_item(&work.task));
        let is_new = |item: &&Item| now.as_ref().is_some_and(|now| now.task_id == item.task_id);
        let stays = |item: &&Item| !before.taken_back.contains(&item.task_id) && !is_new(item);
        let mut all: Vec<Item> = old.filter(stays).cloned().collect();
        all.extend(now.clone());
        newest(all)
    }

    fn blocked(&self, old: Option<&Checkpoint>) -> Vec<BlockedItem> {
        let told = self.work.iter().flat_map(|work| work.said.blocked.iter());
        let told = told.cloned();
        let known = match (&self.blocked, old) {
            (Some(known), _) => known.clone(),
            (None, Some(old)) => old.execution.blocked.clone(),
            (None, None) => Vec::new(),
        };
        let short = |one: BlockedItem| BlockedItem {
            item: cut(&one.item, MAX_CHARS),
            reason: cut(&one.reason, MAX_CHARS),
        };
        told.chain(known).take(MAX_ITEMS).map(short).collect()
    }

    fn context(&self, old: Option<&Checkpoint>) -> Context {
        let mut context = old.map_or_else(Context::default, |old| old.context.clone());
        if let Some(work) = &self.work {
            context.hear(&work.said);
        }
        context
    }

    fn metrics(&self, old: Option<&Checkpoint>) -> Metrics {
        let mut metrics = old.map_or_else(Metrics::default, |old| old.metrics.clone());
        let Some(work) = &self.work else {
            return metrics;
        };
        let results = work.verification.iter().take(MAX_ITEMS);
        let short = |one: &CommandResult| CommandResult {
            command: cut(&one.command, MAX_CHARS),
            outcome: cut(&one.outcome, MAX_CHARS),
            passed: one.passed,
        };
        metrics.verification = results.map(short).collect();
        if let Some(Spent { usage, tool_calls }) = work.spent {
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            metrics.iterations += 1;
            add(&mut metrics.input_tokens, usage.input_tokens);
            add(&mut metrics.output_tokens, usage.output_tokens);
            add(&mut metrics.cache_read_tokens, usage.cache_read_tokens);
            add(&mut metrics.cache_write_tokens, usage.cache_write_tokens);
            let cost = usage.told();
            add(&mut metrics.cost_micro_usd, cost.millionths());
            add(&mut metrics.tool_calls, tool_calls);
        }
        metrics
    }

    fn rollback(&self) -> String {
        let Self {
            id, branch, commit, ..
        } = self;
        let short = commit.get(..10).unwrap_or(commit);
        format!(
            "`ralph checkpoint restore {id}` puts branch {branch} back to {short} and opens the \
             tasks again that were completed since; what goes stays reachable under \
             refs/ralph/reverted/"
        )
    }

    fn next_steps(&self, execution: &Execution, old: Option<&Checkpoint>) -> String {
        let mut lines = Vec::new();
        if let Some(note) = &self.note {
            lines.push(format!("A person notes: {note}"));
        }
        if let Some(stopped) = &self.stopped {
            lines.push(format!("The loop stopped: {}.", stopped.sentence));
        }
        match (&self.work, &self.stopped, old) {
            (Some(work), _, _) => lines.extend(after_work(work)),
            // Nothing was done since: what was next is next.
            (None, None, Some(old)) => lines.push(old.recovery.continuation_prompt.clone()),
            (None, _, _) => {}
        }
        let goes_on = self.work.as_ref();
        let goes_on = goes_on.is_some_and(|work| work.found != Found::Complete);
        if !goes_on && (self.work.is_some() || self.stopped.is_some()) {
            lines.push(match execution.pending.first() {
                Some(next) => format!("{NEXT_IS}{} {}.", next.task_id, next.title),
                None => NONE_IS_NEXT.to_owned(),
            });
        }
        cut(&lines.join("\n"), MAX_NEXT)
    }
}

/// The beginning of the line that names the next task.
const NEXT_IS: &str = "Next is task ";
/// The line that says that there is none.
const NONE_IS_NEXT: &str = "No task is ready.";

/// Most characters of why an agent hands over: failed calls may be named in it.
const MAX_WHY: usize = 800;
/// Most calls that failed, and most characters of each.
const MAX_CALLS: usize = 5;
const MAX_CALL: usize = 120;

fn after_work(work: &IterationWork) -> Vec<String> {
    let id = &work.task.task_id;
    let mut lines = vec![match work.found {
        Found::Complete => format!("Task {id} is done: {}.", work.sentence),
        Found::Checked | Found::Changed | Found::Nothing => {
            format!("Go on with task {id}. Last time: {}.", work.sentence)
        }
    }];
    if let Some(kept) = &work.kept {
        lines.push(format!("The work so far is kept as {kept}."));
    }
    let why = work.handed_over.as_deref();
    if let Some(why) = why {
        lines.push(format!("It handed over: {}.", cut(why, MAX_WHY)));
    }
    let own = work.said.handoff.as_ref();
    let own = own.filter(|_| why.is_none()).cloned();
    for (what, said) in [
        ("It handed over", &own),
        ("Its summary", &work.said.summary),
        ("It said what is next", &work.said.next),
    ] {
        if let Some(said) = said {
            lines.push(format!("{what}: {}", cut(said, MAX_CHARS)));
        }
    }
    lines.extend(failed(&work.failed_calls, why.unwrap_or_default()));
    lines
}

/// Names the calls that failed, unless a text names them already.
fn failed(calls: &[String], named_in: &str) -> Option<String> {
    let calls = calls.iter().take(MAX_CALLS);
    let calls: Vec<String> = calls.map(|call| one_line(call, MAX_CALL)).collect();
    let first = calls.first()?;
    (!named_in.contains(first.as_str()))
        .then(|| format!("Calls that failed last: {}", calls.join("; ")))
}

/// Adds what is new, and drops the oldest where there are too many.
fn add(list: &mut Vec<String>, more: &[String]) {
    for one in more {
        let one = cut(one, MAX_CHARS);
        list.retain(|known| *known != one);
        list.push(one);
    }
    *list = newest(std::mem::take(list));
}

fn newest<T>(mut list: Vec<T>) -> Vec<T> {
    let over = list.len().saturating_sub(MAX_ITEMS);
    list.drain(..over);
    list
}

fn short_item(item: &Item) -> Item {
    Item {
        task_id: item.task_id.clone(),
        title: cut(&item.title, MAX_CHARS),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// The text, in the layout that agents are given everywhere.
///
/// Each entry is one line, whatever an agent wrote into it: nothing in a list can pass for a
/// heading.
pub fn continuation(checkpoint: &Checkpoint) -> String {
    let Checkpoint {
        metadata,
        execution,
        context,
        recovery,
        ..
    } = checkpoint;
    let mut text = format!(
        "## Handoff from Iteration {}\n\n**Phase:** {}\n**Last Agent:** {}\n**Checkpoint:** {}\n",
        metadata.iteration.unwrap_or(0),
        execution.phase,
        one_line(&metadata.agent, usize::MAX),
        metadata.checkpoint_id,
    );
    section(&mut text, "Completed", execution.completed.iter().map(item));
    section(&mut text, "Pending", execution.pending.iter().map(item));
    section(&mut text, "Blocked", execution.blocked.iter().map(blocked));
    section(
        &mut text,
        "Key Decisions",
        context.decisions.iter().cloned(),
    );
    for (heading, entries) in [
        ("Assumptions", &context.assumptions),
        ("Constraints", &context.constraints),
    ] {
        if !entries.is_empty() {
            section(&mut text, heading, entries.iter().cloned());
        }
    }
    let next = recovery.continuation_prompt.trim_end();
    // Writing to a string can't fail.
    let _ = write!(text, "\n### Next Steps\n{next}\n");
    text
}

/// Returns what the agents of the next task are told of this one: what became of it, and what holds for those after
/// it.
pub fn summary(checkpoint: &Checkpoint) -> String {
    let Checkpoint {
        metadata,
        context,
        recovery,
        ..
    } = checkpoint;
    let mut text = format!("Iteration {}:\n", metadata.iteration.unwrap_or(0));
    let is_next = |line: &&str| line.starts_with(NEXT_IS) || *line == NONE_IS_NEXT;
    let lines = recovery.continuation_prompt.lines();
    for line in lines.filter(|line| !is_next(line)) {
        let _ = writeln!(text, "{line}");
    }
    lists(&mut text, "so far", context);
    text
}

/// Returns what a run said that another repairs within its iteration, and which of its calls failed. Empty where
/// there is nothing of it.
pub fn run_before(said: &ClosingBlock, failed_calls: &[String]) -> String {
    let mut text = String::new();
    for (what, said) in [
        ("Its summary", &said.summary),
        ("It said what is next", &said.next),
    ] {
        if let Some(said) = said {
            let _ = writeln!(text, "{what}: {}", cut(said, MAX_CHARS));
        }
    }
    if let Some(failed) = failed(failed_calls, "") {
        let _ = writeln!(text, "{failed}");
    }
    let mut context = Context::default();
    context.hear(said);
    lists(&mut text, "of that run", &context);
    if !said.blocked.is_empty() {
        section(&mut text, "Blocked", said.blocked.iter().map(blocked));
    }
    if text.is_empty() {
        return text;
    }
    format!("## From the run before yours in this iteration\n\n{text}")
}

/// Writes the lists of a context that have entries.
fn lists(text: &mut String, of: &str, context: &Context) {
    for (heading, entries) in [
        ("Decisions", &context.decisions),
        ("Assumptions", &context.assumptions),
        ("Constraints", &context.constraints),
    ] {
        if !entries.is_empty() {
            section(text, &format!("{heading} {of}"), entries.iter().cloned());
        }
    }
}

impl Checkpoint {
    /// Adds what agents at the same task said in earlier iterations, newest first. A checkpoint has the words of its
    /// own loop alone, and obstacles of its own iteration.
    pub fn recalling<'a>(mut self, earlier: impl Iterator<Item = &'a ClosingBlock>) -> Self {
        let mut oldest_first: Vec<&ClosingBlock> = earlier.collect();
        for one in oldest_first.iter().flat_map(|said| &said.blocked) {
            let known = &mut self.execution.blocked;
            if known.len() < MAX_ITEMS && !known.contains(one) {
                known.push(one.clone());
            }
        }
        oldest_first.reverse();
        let newest = std::mem::take(&mut self.context);
        for said in oldest_first {
            self.context.hear(said);
        }
        add(&mut self.context.decisions, &newest.decisions);
        add(&mut self.context.assumptions, &newest.assumptions);
        add(&mut self.context.constraints, &newest.constraints);
        self
    }
}

impl Context {
    /// Adds what an agent said.
    fn hear(&mut self, said: &ClosingBlock) {
        add(&mut self.decisions, &said.decisions);
        add(&mut self.assumptions, &said.assumptions);
        add(&mut self.constraints, &said.constraints);
    }
}

fn blocked(one: &BlockedItem) -> String {
    match one.reason.trim() {
        "" => one.item.clone(),
        reason => format!("{}: {reason}", one.item),
    }
}

fn item(item: &Item) -> String {
    match item.title.trim() {
        "" => item.task_id.clone(),
        title => format!("{} {title}", item.task_id),
    }
}

fn section(text: &mut String, heading: &str, entries: impl Iterator<Item = String>) {
    let _ = write!(text, "\n### {heading}\n");
    let mut any = false;
    for entry in entries {
        any = true;
        let _ = writeln!(text, "- {}", one_line(&entry, usize::MAX));
    }
    if !any {
        text.push_str("- none\n");
    }
}

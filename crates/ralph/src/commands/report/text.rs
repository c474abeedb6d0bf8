//! A report as text that is also Markdown: to be read here, or put into a pull request.

use minijinja::{Value, context, value::Serde};
use ralph_core::figures::{compact, count, duration, percent, usd, used};

use super::{answers, dress::Dress, shape::ReportFacts, template};
use crate::{error::CommandError, view::Tone};

/// Lines that a section has at most; `--json` has all.
const MOST: usize = 50;

pub(super) fn render(facts: &ReportFacts, dress: Dress) -> Result<String, CommandError> {
    let mut env = template::environment(move |text| dress.said(text, usize::MAX))?;
    let safe = Value::from_safe_string;
    env.add_filter("said", move |text: String, width: usize| {
        safe(dress.said(&text, width))
    });
    env.add_filter("code", move |text: String, width: usize| {
        safe(dress.code(&text, width))
    });
    env.add_filter("plain", move |text: String| safe(dress.plain(text)));
    for (name, tone) in [
        ("heading", Tone::Heading),
        ("name", Tone::Name),
        ("careful", Tone::Careful),
        ("faint", Tone::Faint),
    ] {
        env.add_filter(name, move |text: String| safe(dress.paint(tone, &text)));
    }
    let left = left(facts, dress).into_iter().map(safe);
    let values = context! {
        most => MOST,
        report => Value::from(Serde(facts)),
        branch => facts.branch(),
        usage => used(&facts.usage, &facts.cost()),
        figures => figures(facts),
        answers => answers(facts),
        left => left.collect::<Vec<_>>(),
    };
    let text = env.render_str(include_str!("text.md.jinja"), values);
    text.map_err(CommandError::internal)
}

/// The success metrics in words.
fn figures(facts: &ReportFacts) -> Vec<String> {
    let metrics = &facts.metrics;
    let figures = &metrics.figures;
    let mut lines = Vec::new();
    if let Some(share) = figures.verified_share {
        let all = count(facts.iterations, "iteration", "iterations");
        lines.push(format!(
            "{} of {all} ended with a verified commit ({})",
            figures.verified_commits,
            percent(share)
        ));
    }
    if let Some(each) = figures.iterations_per_task {
        lines.push(format!("{each:.1} iterations per completed task"));
    }
    if let Some(all) = metrics.iterations_per_feature {
        let all = count(all, "iteration", "iterations");
        lines.push(format!("the feature was complete after {all}"));
    }
    let open = match figures.not_recovered {
        0 => String::new(),
        n => format!("; {} not recovered", count(n, "task has", "tasks have")),
    };
    match figures.mean_seconds_to_recovery {
        Some(mean) => lines.push(format!(
            "{} from a failure to a verified attempt on average, over {}{open}",
            duration(mean),
            figures.recoveries
        )),
        None if figures.not_recovered > 0 => {
            lines.push(format!("no task recovered from a failure{open}"));
        }
        None => {}
    }
    if let Some(cost) = figures.cost_per_verified_task_usd {
        lines.push(format!("{} per verified task", usd(cost)));
    }
    let used = &facts.economics.used;
    if let Some(tokens) = used.tokens_per_tool_call {
        let tools = count(used.tool_calls as usize, "tool call", "tool calls");
        let tokens = compact(tokens as u64);
        lines.push(format!("{tokens} tokens per tool call, over {tools}"));
    }
    if let Some(rate) = used.cache_hit_rate {
        let rate = percent(rate);
        lines.push(format!("{rate} of the input tokens came from a cache"));
    }
    let forecasts = facts.economics.forecasts.iter();
    lines.extend(forecasts.map(|one| one.compared.sentence()));
    if facts.iterations > 0 {
        lines.push(format!(
            "time spent by agents: {}, by verification: {}",
            duration(facts.agent_seconds),
            duration(facts.verify_seconds)
        ));
    }
    lines
}

/// Remaining work to do, and what to do about it.
pub(super) fn left(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let Some(now) = &facts.now else {
        let source = dress.said(&facts.source, 200);
        return vec![format!("{source} can't be read; `ralph lint` shows why")];
    };
    let tasks = &now.tasks;
    let open = tasks.total - tasks.completed - tasks.skipped;
    if open == 0 {
        let branch = dress.code(facts.branch(), 200);
        return vec![format!(
            "Nothing: all tasks are complete. The work is on {branch}."
        )];
    }
    let asking = match tasks.asking {
        0 => String::new(),
        asking => format!(" {asking} with a question,"),
    };
    let mut lines = vec![format!(
        "{open} of {} tasks: {} ready,{asking} {} waiting, {} blocked, {} failed",
        tasks.total, tasks.ready, tasks.waiting, tasks.blocked, tasks.failed
    )];
    if let Some(next) = &now.next {
        let id = dress.said(next.task.id.as_str(), 120);
        let title = dress.said(&next.task.title, 100);
        lines.push(format!("`ralph run` continues with {id} {title}"));
    }
    let stop = facts.loops.last().and_then(|row| row.stop.as_ref());
    lines.extend(stop.and_then(|stop| stop.hint()).map(str::to_owned));
    lines
}

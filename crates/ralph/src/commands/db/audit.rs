//! `ralph db audit`: who did what to which loop, task, question or budget, when and from where.

use std::process::ExitCode;

use ralph_engine::team::{AuditChain, AuditEntry};
use serde::Serialize;
use serde_json::json;

use super::{Keeper, ServerArg, TenantArg};
use crate::{
    cli::Global,
    error::CommandError,
    moment::Moment,
    output,
    project::{Project, block_on},
    view::{Table, Tone, cell, figures::count, paint},
};

/// Rows are in the order in which the server took them. Any role that may see the tenant can read and verify them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Compute all seals again, and say which rows were changed, removed or added later
    #[arg(long, conflicts_with_all = ["since", "csv"])]
    verify: bool,

    /// Only what the server took since then: 2026-01-31, 2026-01-31T12:00:00Z, or 7d, 12h, 30m ago
    #[arg(long, value_name = "WHEN")]
    since: Option<Moment>,

    /// Print a JSON object a row; with --verify, one document
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print CSV
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    tenant: TenantArg,

    #[command(flatten)]
    server: ServerArg,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let tenant = keeper.tenant(&args.tenant)?;
    if args.verify {
        let chains = block_on(async { Ok(keeper.admin.verify_audit(&tenant).await?) })?;
        return show_chains(args.json, chains);
    }
    let form = match (args.json, args.csv) {
        (true, _) => AuditForm::Json,
        (false, true) => AuditForm::Csv,
        (false, false) => AuditForm::Text,
    };
    let since = args.since.map(|since| since.at(Project::now()));
    if form == AuditForm::Csv {
        output::print(&csv_line(COLUMNS));
    }
    let mut rows = 0_u64;
    block_on(async {
        // A row at a time: a trail may be longer than memory should be.
        let mut print = |entry: AuditEntry| {
            rows += 1;
            output::print(&form.line(&entry));
        };
        Ok(keeper.admin.audit(&tenant, since, &mut print).await?)
    })?;
    if rows == 0 && form == AuditForm::Text {
        output::print("nothing was done\n");
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditForm {
    Text,
    Json,
    Csv,
}

const COLUMNS: [&str; 13] = [
    "received_at",
    "at",
    "actor_kind",
    "actor",
    "machine",
    "action",
    "repository_id",
    "loop_id",
    "task_id",
    "subject",
    "detail",
    "origin",
    "n",
];

impl AuditForm {
    fn line(self, entry: &AuditEntry) -> String {
        match self {
            Self::Text => text_line(entry),
            // The form is a contract (docs/json.md).
            Self::Json => {
                let detail = entry.detail.as_deref();
                let detail = detail.map(|text| {
                    serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::from(text))
                });
                let value = json!({
                    "receivedAt": entry.received_at, "at": entry.at, "actorKind": entry.actor_kind,
                    "actor": entry.actor, "machine": entry.machine, "action": entry.action,
                    "repositoryId": entry.repository_id, "loopId": entry.loop_id, "taskId": entry.task_id,
                    "subject": entry.subject, "detail": detail, "origin": entry.origin, "n": entry.n,
                });
                format!("{value}\n")
            }
            Self::Csv => {
                let n = entry.n.to_string();
                csv_line([
                    &entry.received_at,
                    &entry.at,
                    &entry.actor_kind,
                    &entry.actor,
                    &entry.machine,
                    &entry.action,
                    entry.repository_id.as_deref().unwrap_or_default(),
                    entry.loop_id.as_deref().unwrap_or_default(),
                    entry.task_id.as_deref().unwrap_or_default(),
                    entry.subject.as_deref().unwrap_or_default(),
                    entry.detail.as_deref().unwrap_or_default(),
                    &entry.origin,
                    &n,
                ])
            }
        }
    }
}

/// `2026-11-18T21:58:32Z  person ada on laptop-a  answer  US-1 …`
fn text_line(entry: &AuditEntry) -> String {
    let who = format!("{} {}", entry.actor_kind, entry.actor);
    let on = [&entry.task_id, &entry.subject, &entry.loop_id];
    let on: Vec<&str> = on.into_iter().filter_map(Option::as_deref).collect();
    let mut table = Table::new(4, 0);
    table.row([
        cell(
            Tone::Faint,
            entry.received_at.get(..19).unwrap_or(&entry.received_at),
        ),
        cell(Tone::Name, who),
        cell(Tone::Faint, format!("on {}", entry.machine)),
        cell(Tone::Plain, entry.action.replace('_', " ")),
        cell(Tone::Plain, on.join(" ")),
    ]);
    table.render(output::width())
}

/// A row of CSV as RFC 4180 has it. A field that a spreadsheet would take for a formula gets a quote before it.
fn csv_line<'f>(fields: impl IntoIterator<Item = &'f str>) -> String {
    let quoted = fields.into_iter().map(|field| {
        let is_formula = field.starts_with(['=', '+', '-', '@', '\t']);
        let text = if is_formula {
            format!("'{field}")
        } else {
            field.to_owned()
        };
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\r\n"
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct VerifiedAudit {
    ok: bool,
    chains: Vec<VerifiedChain>,
}

#[derive(Debug, Serialize)]
struct VerifiedChain {
    origin: String,
    rows: u64,
    seals: u64,
    hash: String,
    broken: Option<String>,
}

fn show_chains(json: bool, chains: Vec<AuditChain>) -> Result<ExitCode, CommandError> {
    let verified = VerifiedAudit {
        ok: chains.iter().all(|chain| chain.broken.is_none()),
        chains: chains.into_iter().map(VerifiedChain::from).collect(),
    };
    output::show(json, &verified, || render_chains(&verified))?;
    Ok(ExitCode::from(u8::from(!verified.ok)))
}

impl From<AuditChain> for VerifiedChain {
    fn from(chain: AuditChain) -> Self {
        Self {
            origin: chain.origin,
            rows: chain.rows,
            seals: chain.seals,
            hash: chain.hash,
            broken: chain.broken,
        }
    }
}

fn render_chains(verified: &VerifiedAudit) -> String {
    if verified.chains.is_empty() {
        return "nothing was done: there is nothing to verify\n".to_owned();
    }
    let mut table = Table::new(2, 0);
    for chain in &verified.chains {
        let (tone, word) = match &chain.broken {
            None => (Tone::Good, "ok"),
            Some(_) => (Tone::Bad, "broken"),
        };
        let origin = match chain.origin.as_str() {
            "" => "the server itself",
            origin => origin,
        };
        let rows = count(
            usize::try_from(chain.rows).unwrap_or(usize::MAX),
            "row",
            "rows",
        );
        let said = match &chain.broken {
            None => format!("{rows}, the last seal is {}", chain.hash),
            Some(why) => format!("{why}; {rows} before it are as they were sealed"),
        };
        table.row([
            cell(tone, word),
            cell(Tone::Heading, origin),
            cell(Tone::Plain, said),
        ]);
    }
    let mut text = table.render(None);
    if !verified.ok {
        let label = paint(Tone::Careful, "hint:");
        text.push_str(&format!(
            "{label} only someone with the rights of the database's owner could do this\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_would_be_taken_for_more_fields_or_a_formula() {
        let line = csv_line(["plain", "a,b", "say \"x\"", "=1+1", "two\nlines", ""]);
        assert_eq!(
            line,
            "plain,\"a,b\",\"say \"\"x\"\"\",'=1+1,\"two\nlines\",\r\n"
        );
    }
}

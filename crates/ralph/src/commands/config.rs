//! `ralph config`: the configuration in force, and where each value of it comes from.
//!
//! Values that may be secrets are never shown.

use std::{path::PathBuf, process::ExitCode};

use ralph_core::config::{
    FlagValue, KeyPath, Layers, Resolved, Row, effective, render_effective_yaml, resolve, schema,
};
use serde_json::json;

use crate::{cli::Global, error::CommandError, output, project::Project};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,

    /// Print only this key, or the keys of this section
    key: Option<String>,

    /// Print JSON instead of YAML
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the JSON Schema of ralph.yaml, for an editor
    Schema,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    if let Some(What::Schema) = args.what {
        output::print_json(&schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = Project::open(global, Vec::new())?;
    let resolved = &project.settings.resolved;
    output::print_warnings(&project.notices());
    let rows = chosen(resolved, args.key.as_deref())?;
    if args.json {
        output::print_json(&shown(&project, &rows))?;
    } else if args.key.is_some() {
        let lines = rows.iter().map(|row| {
            let origin = row.origin.to_string().replace(char::is_control, "?");
            format!("{}: {}  # {origin}\n", row.key, row.value)
        });
        output::print(&lines.collect::<String>());
    } else {
        output::print(&render_effective_yaml(resolved));
    }
    Ok(ExitCode::SUCCESS)
}

fn chosen(resolved: &Resolved, key: Option<&str>) -> Result<Vec<Row>, CommandError> {
    let mut rows = effective(resolved);
    let Some(text) = key else {
        return Ok(rows);
    };
    let key = KeyPath::dotted(text);
    rows.retain(|row| row.key.is_within(&key));
    if rows.is_empty() {
        return Err(unknown(text));
    }
    Ok(rows)
}

/// The same words that a file with such a key gets, and the same guess at what was meant.
fn unknown(key: &str) -> CommandError {
    let flag = FlagValue {
        key: key.to_owned(),
        value: serde_json::Value::Null,
        flag: "KEY".into(),
    };
    let layers = Layers {
        flags: vec![flag],
        ..Layers::default()
    };
    let said = resolve(&layers)
        .err()
        .and_then(|errors| errors.0.into_iter().next())
        .map(|error| error.problem.to_string());
    CommandError::user(said.unwrap_or_else(|| format!("unknown key `{key}`")))
}

/// The configuration; the JSON form is a contract (docs/json.md).
fn shown(project: &Project, rows: &[Row]) -> serde_json::Value {
    let settings = &project.settings;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let value =
        |row: &Row| json!({ "key": row.key.to_string(), "value": row.value, "origin": row.origin });
    let notes = settings.resolved.notes.iter().map(ToString::to_string);
    let not_in_force = settings.resolved.not_in_force.iter().map(
        |one| json!({ "key": one.key.to_string(), "value": one.value, "message": one.message }),
    );
    json!({
        "configFile": path(&settings.config_file),
        "userFile": path(&settings.user_file),
        "values": rows.iter().map(value).collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
        "notInForce": not_in_force.collect::<Vec<_>>(),
    })
}

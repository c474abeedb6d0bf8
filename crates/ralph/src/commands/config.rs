//! `ralph config`: the configuration in force, and where each value of it comes from.
//!
//! Values that may be secrets are never shown.

use std::process::ExitCode;

use ralph_core::config::{
    FlagValue, Given, KeyPath, Layers, Origin, Resolved, Row, effective, render_effective_yaml,
    resolve, schema,
};
use serde::Serialize;

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

/// The configuration; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownConfig {
    config_file: Option<String>,
    user_file: Option<String>,
    values: Vec<Value>,
    notes: Vec<String>,
    not_in_force: Vec<NotInForce>,
}

#[derive(Debug, Serialize)]
struct Value {
    key: String,
    value: serde_json::Value,
    origin: Origin,
}

#[derive(Debug, Serialize)]
struct NotInForce {
    key: String,
    value: serde_json::Value,
    message: String,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    if let Some(What::Schema) = args.what {
        output::print_json(&schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = Project::open(global, Vec::new())?;
    let resolved = &project.settings.resolved;
    for note in &resolved.notes {
        output::print_warning(&note.to_string());
    }
    for key in &resolved.not_in_force {
        output::print_warning(&key.to_string());
    }
    let rows = chosen(resolved, args.key.as_deref())?;
    if args.json {
        output::print_json(&shown(&project, rows))?;
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
        value: Given::Json(serde_json::Value::Null),
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

fn shown(project: &Project, rows: Vec<Row>) -> ShownConfig {
    let settings = &project.settings;
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
    ShownConfig {
        config_file: path(&settings.config_file),
        user_file: path(&settings.user_file),
        values: rows
            .into_iter()
            .map(|row| Value {
                key: row.key.to_string(),
                value: row.value,
                origin: row.origin,
            })
            .collect(),
        notes: settings
            .resolved
            .notes
            .iter()
            .map(ToString::to_string)
            .collect(),
        not_in_force: settings
            .resolved
            .not_in_force
            .iter()
            .map(|one| NotInForce {
                key: one.key.to_string(),
                value: one.value.clone(),
                message: one.message.clone(),
            })
            .collect(),
    }
}

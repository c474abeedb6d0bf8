//! `ralph cost prices`: what models cost by the table in force.

use std::process::ExitCode;

use ralph_core::economics::{PriceBasis, PriceRow, PriceSource, Prices, Rate};
use ralph_engine::prices::read_prices;
use serde::Serialize;

use crate::{
    error::CommandError,
    output,
    project::Project,
    view::{Table, Tone, cell},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedPrices {
    /// The date of the built-in prices.
    as_of: String,
    /// The file of `economics.prices_file`, where one is named.
    file: Option<NamedFile>,
    /// In dollars for a million tokens.
    prices: Vec<PriceRow>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedFile {
    path: String,
    as_of: String,
}

/// The prices in force here.
pub(crate) fn in_force(project: &Project) -> Result<Prices, CommandError> {
    let config = &project.config().economics;
    read_prices(config, project.root()).map_err(CommandError::user)
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let prices = in_force(project)?;
    let listed = ListedPrices {
        as_of: prices.as_of().to_owned(),
        file: prices.file().map(|file| NamedFile {
            path: file.path.clone(),
            as_of: file.list.as_of.clone(),
        }),
        prices: prices.rows(),
    };
    output::show(args.json, &listed, || render(&listed))
}

fn render(listed: &ListedPrices) -> String {
    let mut table = Table::new(0, 0);
    let heading = ["model", "input", "output", "cache read", "cache write", ""];
    table.row(heading.map(|text| cell(Tone::Heading, text)));
    for row in &listed.prices {
        let rate = |rate: Rate| cell(Tone::Plain, rate.0.to_string());
        table.row([
            cell(Tone::Name, &row.model),
            rate(row.input),
            rate(row.output),
            rate(row.cache_read),
            rate(row.cache_write),
            cell(
                Tone::Faint,
                match (row.source, row.basis) {
                    (PriceSource::Config, _) => "yours",
                    (PriceSource::File, PriceBasis::Listed) => "from the file",
                    (PriceSource::File, PriceBasis::Estimated) => "from the file, estimated",
                    (PriceSource::Shipped, PriceBasis::Listed) => "",
                    (PriceSource::Shipped, PriceBasis::Estimated) => "estimated",
                },
            ),
        ]);
    }
    let file = listed.file.as_ref().map_or_else(String::new, |file| {
        format!(", those of {} as of {}", file.path, file.as_of)
    });
    format!(
        "{}\nestimated: for models that no other row fits\n\
         dollars per million tokens; built-in prices as of {}{file}. `economics.prices` in ralph.yaml sets others\n",
        table.render(output::width()),
        listed.as_of
    )
}

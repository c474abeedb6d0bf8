//! The prices in force: the shipped ones, those of a file that the configuration names, its own.
//!
//! Only reads. What a price is worth is decided in the core.

use std::{
    io,
    path::{Path, PathBuf},
};

use ralph_core::{
    config::EconomicsConfig,
    economics::{BadPriceList, PriceFile, PriceList, Prices},
};

use crate::plain_file;

#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    #[error("can't read the prices in {path} (`economics.prices_file`)")]
    Read { path: String, source: io::Error },
    #[error("{path}:{problem}")]
    Wrong { path: String, problem: BadPriceList },
}

/// The file that the configuration names, if it names one.
pub fn prices_path(config: &EconomicsConfig, root: &Path) -> Option<PathBuf> {
    config.prices_file.as_ref().map(|file| root.join(file))
}

/// Reads the prices that are in force in a repository.
pub fn read_prices(config: &EconomicsConfig, root: &Path) -> Result<Prices, PricesError> {
    let prices = Prices::with(&config.prices);
    let Some(file) = &config.prices_file else {
        return Ok(prices);
    };
    let path = file.display().to_string();
    let bytes = plain_file::read(&root.join(file)).map_err(|source| PricesError::Read {
        path: path.clone(),
        source,
    })?;
    let list = PriceList::parse(&String::from_utf8_lossy(&bytes));
    let list = list.map_err(|problem| PricesError::Wrong {
        path: path.clone(),
        problem,
    })?;
    Ok(prices.and_file(Some(PriceFile { path, list })))
}

//! Describes what is still to come, from what finished tasks have cost: a bootstrap over them.
//!
//! The same history gives the same forecast. Says nothing where too little is known.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{dollars::Dollars, figures::count};

/// The factor by which several agents use more tokens than one that works alone.
pub const MULTI_AGENT_FACTOR: u32 = 15;
/// Finished tasks that there have to be.
const ENOUGH: usize = 3;
const ROUNDS: usize = 1_000;
/// Tasks that are drawn one by one; many more differ from their mean by nearly nothing.
const MOST_DRAWN: usize = 500;

/// Describes what a forecast is made from.
#[derive(Debug, Clone, Copy)]
pub struct ForecastBasis<'a> {
    /// Tells what each finished task has cost, all its attempts together.
    pub finished: &'a [Dollars],
    pub remaining_tasks: usize,
    /// Subagents are to work that the history knows nothing of.
    pub factor: u32,
    pub seed: u64,
}

/// Describes what the remaining tasks will cost: in eight cases of ten between `low` and `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    pub finished_tasks: usize,
    pub remaining_tasks: usize,
    pub factor: u32,
    pub low_usd: Dollars,
    pub expected_usd: Dollars,
    pub high_usd: Dollars,
}

/// Nothing where fewer than three tasks are finished.
pub fn forecast(basis: ForecastBasis<'_>) -> Option<Forecast> {
    let known = basis.finished;
    if known.len() < ENOUGH {
        return None;
    }
    let drawn = basis.remaining_tasks.min(MOST_DRAWN);
    let scale = match drawn {
        0 => 0.0,
        drawn => basis.remaining_tasks as f64 / drawn as f64 * f64::from(basis.factor),
    };
    let mut dice = Dice(basis.seed);
    let mut sums: Vec<Dollars> = (0..ROUNDS)
        .map(|_| {
            let draw = |sum: Dollars, _| sum.plus(known[dice.below(known.len())]);
            (0..drawn).fold(Dollars::NOTHING, draw)
        })
        .collect();
    sums.sort_unstable();
    let all = known.iter().fold(Dollars::NOTHING, |sum, c| sum.plus(*c));
    let mean = all.times(drawn as f64 / known.len() as f64);
    Some(Forecast {
        finished_tasks: known.len(),
        remaining_tasks: basis.remaining_tasks,
        factor: basis.factor,
        low_usd: sums[ROUNDS / 10].times(scale),
        expected_usd: mean.times(scale),
        high_usd: sums[ROUNDS * 9 / 10].times(scale),
    })
}

/// Numbers that look random and are always the same: SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A forecast that was made of a loop, kept to be compared with what came true: all that the loop
/// spent since, attempts that failed included. Nothing is judged before as many tasks are finished
/// as were foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptForecast {
    pub made_at: Timestamp,
    /// Tells what the loop had spent, and how many tasks it had finished, when it was made.
    pub spent_before_usd: Dollars,
    pub finished_before: usize,
    #[serde(flatten)]
    pub forecast: Forecast,
}

/// A forecast beside what came true of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedForecast {
    #[serde(flatten)]
    pub kept: KeptForecast,
    /// Tells what was spent since.
    pub came_to_usd: Dollars,
    /// Tasks that were finished since.
    pub finished_since: usize,
    pub result: ForecastResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecastResult {
    Within,
    Below,
    Above,
    /// Not all of the tasks that were foreseen are finished.
    Open,
}

impl KeptForecast {
    /// Beside what the whole loop has spent and finished by now.
    pub fn compare(self, spent: Dollars, finished: usize) -> ComparedForecast {
        let came_to_usd = spent.without(self.spent_before_usd);
        let finished_since = finished.saturating_sub(self.finished_before);
        let Forecast {
            low_usd, high_usd, ..
        } = self.forecast;
        let result = if finished_since < self.forecast.remaining_tasks {
            ForecastResult::Open
        } else if came_to_usd < low_usd {
            ForecastResult::Below
        } else if came_to_usd > high_usd {
            ForecastResult::Above
        } else {
            ForecastResult::Within
        };
        ComparedForecast {
            kept: self,
            came_to_usd,
            finished_since,
            result,
        }
    }
}

impl ComparedForecast {
    /// `forecast $1.20 ($0.90 to $1.60) for 4 tasks, came to $1.31: within the range`.
    pub fn sentence(&self) -> String {
        let Forecast {
            remaining_tasks: tasks,
            low_usd,
            expected_usd,
            high_usd,
            ..
        } = self.kept.forecast;
        let spent = self.came_to_usd;
        let so_far = match self.result {
            ForecastResult::Within => format!("came to {spent}: within the range"),
            ForecastResult::Below => format!("came to {spent}: below the range"),
            ForecastResult::Above => format!("came to {spent}: above the range"),
            ForecastResult::Open => format!(
                "so far {spent} with {} of {tasks} finished",
                self.finished_since
            ),
        };
        let tasks = count(tasks, "task", "tasks");
        format!("forecast {expected_usd} ({low_usd} to {high_usd}) for {tasks}, {so_far}")
    }
}

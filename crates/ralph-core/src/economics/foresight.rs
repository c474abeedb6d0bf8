//! A forecast that was made of a loop, kept to be compared with what came true.
//!
//! Describes what is compared is all that the loop spent since, attempts that failed included. Nothing is judged
//! before as many tasks are finished as were foreseen.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Forecast;
use crate::{dollars::Dollars, figures::count};

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

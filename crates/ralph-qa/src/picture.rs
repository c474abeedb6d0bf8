//! Compares two pictures of a page, and tells a change that a person would see from the way that edges and letters
//! were drawn.
//!
//! Knows no flows and no files. Pixels that differ are joined to clusters, and each cluster is judged as a whole
//! (`noise`): the same glyphs drawn a part of a pixel to the side are noise, another digit is not. What is left is
//! joined to areas for people (`areas`), with what became of each (`movement`).

mod areas;
mod clusters;
mod drawing;
mod grid;
mod movement;
mod noise;
mod similarity;

use self::{
    areas::{AreaChange, ChangedArea},
    grid::PixelGrid,
};
use crate::result::{PixelArea, VisualCompareResult, VisualVerdict};

/// The most pixels of a picture.
pub const MOST_PIXELS: u64 = 64_000_000;
/// The longest side of a picture.
pub const LONGEST_SIDE: u32 = 32_768;
/// The areas that a result names.
pub const MOST_AREAS: usize = 50;
/// The areas that the sentence about them tells of.
const MOST_TOLD: usize = 3;

/// The differences that are allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PictureRules {
    /// The part of the pixels that may differ noticeably, from 0 to 1.
    pub threshold: f64,
    /// Areas that are not looked at.
    pub masks: Vec<PixelArea>,
}

/// The outcome of comparing two pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureDifference {
    pub result: VisualCompareResult,
    /// A PNG of the new picture, faded, with what differs marked. None if nothing differs noticeably.
    pub picture: Option<Vec<u8>>,
}

/// One of two pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedPicture {
    Baseline,
    Actual,
}

impl std::fmt::Display for ComparedPicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Baseline => "the baseline",
            Self::Actual => "the new picture",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("{which} is not a PNG that can be read: {source}")]
    Broken {
        which: ComparedPicture,
        source: image::ImageError,
    },
    #[error(
        "{which} is too large to be compared: {width}x{height} pixels (at most {} million, {LONGEST_SIDE} a side)",
        MOST_PIXELS / 1_000_000
    )]
    TooLarge {
        which: ComparedPicture,
        width: u32,
        height: u32,
    },
    #[error("the picture of the difference can't be written")]
    Written(#[source] image::ImageError),
}

/// Compares a new picture with its baseline; both are PNG files.
pub fn compare(
    baseline_png: &[u8],
    actual_png: &[u8],
    rules: &PictureRules,
) -> Result<PictureDifference, PictureError> {
    grid::check_size(actual_png, ComparedPicture::Actual)?;
    if baseline_png == actual_png {
        return Ok(same(rules));
    }
    let mut before = PixelGrid::read(baseline_png, ComparedPicture::Baseline)?;
    let mut after = PixelGrid::read(actual_png, ComparedPicture::Actual)?;
    for mask in &rules.masks {
        before.paint(*mask);
        after.paint(*mask);
    }
    if before == after {
        return Ok(same(rules));
    }
    if before.size() == after.size() {
        compare_equal_sizes(&before, &after, rules)
    } else {
        compare_other_sizes(&before, &after, rules)
    }
}

/// Reads a picture that is to become a baseline, for the errors that there are in it.
pub fn check(png: &[u8]) -> Result<(), PictureError> {
    PixelGrid::read(png, ComparedPicture::Actual).map(|_| ())
}

fn same(rules: &PictureRules) -> PictureDifference {
    PictureDifference {
        result: VisualCompareResult {
            matches: true,
            verdict: VisualVerdict::Same,
            different: 0.0,
            threshold: rules.threshold,
            similarity: 1.0,
            regions: Vec::new(),
            summary: "not one pixel differs".to_owned(),
            picture: None,
            baseline: None,
        },
        picture: None,
    }
}

fn compare_equal_sizes(
    before: &PixelGrid,
    after: &PixelGrid,
    rules: &PictureRules,
) -> Result<PictureDifference, PictureError> {
    let found = find_changes(before, after);
    let looked_at = unmasked_pixels(after, &rules.masks);
    let different = share(found.pixels, looked_at);
    let verdict = if found.pixels == 0 {
        VisualVerdict::Noise
    } else if different <= rules.threshold {
        VisualVerdict::Within
    } else if found.areas.iter().any(ChangedArea::is_layout) {
        VisualVerdict::Layout
    } else {
        VisualVerdict::Content
    };
    let summary = match verdict {
        VisualVerdict::Noise => {
            "only the drawing of edges and letters differs, which is not counted".to_owned()
        }
        VisualVerdict::Within => format!(
            "{} of the pixels differ, and {} may: {}",
            percent(different),
            percent(rules.threshold),
            told(&found.areas)
        ),
        VisualVerdict::Same
        | VisualVerdict::Layout
        | VisualVerdict::Content
        | VisualVerdict::Size => told(&found.areas),
    };
    Ok(PictureDifference {
        result: VisualCompareResult {
            matches: matches!(verdict, VisualVerdict::Noise | VisualVerdict::Within),
            verdict,
            different,
            threshold: rules.threshold,
            similarity: similarity::of(before, after),
            regions: regions(&found.areas),
            summary,
            picture: None,
            baseline: None,
        },
        picture: match found.pixels {
            0 => None,
            _ => Some(drawing::difference(
                after,
                &found.marks,
                &found.areas,
                &rules.masks,
            )?),
        },
    })
}

/// Compares what lies over each other where the upper left corners meet; the rest counts as different.
fn compare_other_sizes(
    before: &PixelGrid,
    after: &PixelGrid,
    rules: &PictureRules,
) -> Result<PictureDifference, PictureError> {
    let ((old_width, old_height), (width, height)) = (before.size(), after.size());
    let common = PixelArea {
        x: 0,
        y: 0,
        width: width.min(old_width),
        height: height.min(old_height),
    };
    let (old_part, new_part) = (before.part(common), after.part(common));
    let found = find_changes(&old_part, &new_part);
    let over_all = u64::from(width.max(old_width)) * u64::from(height.max(old_height));
    let outside = over_all - u64::from(common.width) * u64::from(common.height);
    let different = share(found.pixels + outside, over_all);
    let mut summary =
        format!("the picture is {width}x{height}, and its baseline is {old_width}x{old_height}");
    if found.areas.is_empty() {
        summary.push_str("; what both show is the same");
    } else {
        summary.push_str("; of what both show, ");
        summary.push_str(&told(&found.areas));
    }
    let mut marks = found.marks.clone();
    marks.grow(common.width, width, height);
    let picture = drawing::difference(after, &marks, &found.areas, &rules.masks)?;
    Ok(PictureDifference {
        result: VisualCompareResult {
            matches: false,
            verdict: VisualVerdict::Size,
            different,
            threshold: rules.threshold,
            similarity: similarity::of(&old_part, &new_part),
            regions: regions(&found.areas),
            summary,
            picture: None,
            baseline: None,
        },
        picture: Some(picture),
    })
}

/// The differences between two pictures of the same size.
struct PictureChanges {
    /// Those that differ noticeably.
    pixels: u64,
    marks: clusters::PixelMarks,
    areas: Vec<ChangedArea>,
}

fn find_changes(before: &PixelGrid, after: &PixelGrid) -> PictureChanges {
    let (width, height) = after.size();
    let Some(part) = clusters::differing_part(before, after) else {
        return PictureChanges {
            pixels: 0,
            marks: clusters::PixelMarks::new(width, height),
            areas: Vec::new(),
        };
    };
    // Everything below looks at this part alone: most often it is a small one.
    let (old, new) = (before.part(part), after.part(part));
    let mut found = clusters::clusters(&old, &new);
    let is_redrawn = noise::is_redrawn(before, after);
    noise::judge(&old, &new, &mut found, is_redrawn);
    let marks = found.real_marks();
    let mut areas = areas::join(&found, &marks);
    movement::explain(&old, &new, &marks, &mut areas);
    for area in &mut areas {
        area.area.x += part.x;
        area.area.y += part.y;
    }
    PictureChanges {
        pixels: marks.count(),
        marks: marks.placed(part, width, height),
        areas,
    }
}

fn regions(areas: &[ChangedArea]) -> Vec<PixelArea> {
    areas
        .iter()
        .take(MOST_AREAS)
        .map(|area| area.area)
        .collect()
}

/// Says what became of the largest areas.
fn told(areas: &[ChangedArea]) -> String {
    let mut sentence = areas
        .iter()
        .take(MOST_TOLD)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    if areas.len() > MOST_TOLD {
        let more = areas.len() - MOST_TOLD;
        let noun = if more == 1 { "area" } else { "areas" };
        sentence.push_str(&format!("; {more} more {noun}"));
    }
    sentence
}

impl ChangedArea {
    fn is_layout(&self) -> bool {
        match self.change {
            AreaChange::Moved { .. }
            | AreaChange::MostlyMoved { .. }
            | AreaChange::Came
            | AreaChange::Went => true,
            AreaChange::Recoloured { .. } | AreaChange::Edges | AreaChange::Other => false,
        }
    }
}

/// Counts the pixels that no mask hides.
fn unmasked_pixels(picture: &PixelGrid, masks: &[PixelArea]) -> u64 {
    let (width, height) = picture.size();
    let all = u64::from(width) * u64::from(height);
    if masks.is_empty() {
        return all;
    }
    // Masks may lie over each other.
    let mut hidden = clusters::PixelMarks::new(width, height);
    for mask in masks {
        hidden.set_area(*mask);
    }
    all - hidden.count()
}

#[allow(clippy::cast_precision_loss)]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}

/// A share as people read it: small ones are not rounded to nothing.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.01 {
        "less than 0.01 %".to_owned()
    } else {
        format!("{percent:.2} %")
    }
}

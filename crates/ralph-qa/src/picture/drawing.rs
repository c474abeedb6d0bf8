//! Draws the difference: the new picture faded, the pixels that differ in a strong colour, the areas in frames.

use super::{
    MOST_AREAS, PictureError,
    areas::ChangedArea,
    clusters::PixelMarks,
    grid::{Colour, PixelGrid, within},
};
use crate::result::PixelArea;

const DIFFERENT: Colour = [224, 0, 86];
const FRAME: Colour = [20, 90, 220];
const MASKED: Colour = [205, 205, 205];
/// The distance of a frame from what it frames, and how thick it is.
const FRAME_GAP: usize = 2;
const FRAME_WIDTH: usize = 2;

pub(super) fn difference(
    after: &PixelGrid,
    marks: &PixelMarks,
    areas: &[ChangedArea],
    masks: &[PixelArea],
) -> Result<Vec<u8>, PictureError> {
    let mut drawn = PixelGrid::new(after.width(), after.height(), [255; 3]);
    for y in 0..after.height() {
        let row = drawn.row_mut(y);
        for (x, colour) in after.row(y).iter().enumerate() {
            row[x] = if marks.is_set(x, y) {
                DIFFERENT
            } else {
                faded(*colour)
            };
        }
    }
    for mask in masks {
        stripe(&mut drawn, *mask);
    }
    for area in areas.iter().take(MOST_AREAS) {
        frame(&mut drawn, area.area);
    }
    drawn.png().map_err(PictureError::Written)
}

/// A light grey, in which the page can still be recognised.
fn faded([red, green, blue]: Colour) -> Colour {
    let grey = (u32::from(red) * 299 + u32::from(green) * 587 + u32::from(blue) * 114) / 1000;
    [u8::try_from(190 + grey / 4).unwrap_or(u8::MAX); 3]
}

fn stripe(drawn: &mut PixelGrid, mask: PixelArea) {
    let (columns, rows) = within(mask, drawn.width(), drawn.height());
    for y in rows {
        for x in columns.clone().filter(|x| (x + y) % 8 < 2) {
            drawn.row_mut(y)[x] = MASKED;
        }
    }
}

fn frame(drawn: &mut PixelGrid, area: PixelArea) {
    let (columns, rows) = within(area, drawn.width(), drawn.height());
    let outer = FRAME_GAP + FRAME_WIDTH;
    let (left, right) = (
        columns.start.saturating_sub(outer),
        (columns.end + outer).min(drawn.width()),
    );
    let (top, bottom) = (
        rows.start.saturating_sub(outer),
        (rows.end + outer).min(drawn.height()),
    );
    for y in top..bottom {
        let is_side = y < top + FRAME_WIDTH || y + FRAME_WIDTH >= bottom;
        let row = drawn.row_mut(y);
        if is_side {
            row[left..right].fill(FRAME);
        } else {
            let thick = FRAME_WIDTH.min(right - left);
            row[left..left + thick].fill(FRAME);
            row[right - thick..right].fill(FRAME);
        }
    }
}

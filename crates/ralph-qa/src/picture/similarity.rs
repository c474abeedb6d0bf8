//! Structural similarity: the likeness of two pictures as one figure.

use image::{GrayImage, Luma};
use image_compare::Algorithm;

use super::{clusters::differing_part, grid::PixelGrid};

/// The side of the blocks that are compared.
const BLOCK: u32 = 8;

/// Compares the structure of blocks. Where nothing differs it is 1, so only the part that does is looked at.
pub(super) fn of(before: &PixelGrid, after: &PixelGrid) -> f64 {
    let Some(mut part) = differing_part(before, after) else {
        return 1.0;
    };
    let (width, height) = after.size();
    // Blocks lie where they would in the whole picture.
    part.width += part.x % BLOCK;
    part.x -= part.x % BLOCK;
    part.height += part.y % BLOCK;
    part.y -= part.y % BLOCK;
    part.width = part.width.next_multiple_of(BLOCK).min(width - part.x);
    part.height = part.height.next_multiple_of(BLOCK).min(height - part.y);
    let (old, new) = (grey(&before.part(part)), grey(&after.part(part)));
    let Ok(similarity) =
        image_compare::gray_similarity_structure(&Algorithm::MSSIMSimple, &old, &new)
    else {
        // Only pictures of different sizes can't be compared, and these are of one.
        return 0.0;
    };
    let looked_at = f64::from(part.width) * f64::from(part.height);
    let all = f64::from(width) * f64::from(height);
    ((similarity.score * looked_at + (all - looked_at)) / all).clamp(0.0, 1.0)
}

fn grey(picture: &PixelGrid) -> GrayImage {
    let (width, height) = picture.size();
    GrayImage::from_fn(width, height, |x, y| {
        let [red, green, blue] = picture.at(x as usize, y as usize).map(u32::from);
        let value = (red * 299 + green * 587 + blue * 114) / 1000;
        Luma([u8::try_from(value).unwrap_or(u8::MAX)])
    })
}

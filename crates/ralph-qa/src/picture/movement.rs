//! Says what became of an area: it moved, came, went, or has another colour.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{
    areas::{AreaChange, ChangedArea},
    clusters::PixelMarks,
    grid::{Colour, PixelGrid},
};
use crate::result::PixelArea;

/// The areas that are explained: what follows is not named in a sentence.
const MOST_EXPLAINED: usize = 12;
/// The longest way of something that moved straight, and of something that moved in both directions.
const LONGEST_STRAIGHT: i64 = 300;
const LONGEST_ACROSS: i64 = 24;
/// The part of the lines, or of the pixels looked at, that must be found again.
const FOUND_AGAIN: f64 = 0.9;
/// The part that must be found again where something else changed with it.
const MOSTLY_FOUND_AGAIN: f64 = 0.55;
/// Pixels that are looked at, and the fewest that say something.
const SAMPLES: usize = 400;
const LEAST_SAMPLES: usize = 24;
/// The width of an edge, with its round corners.
const EDGE: u32 = 8;
/// The part of an area that one colour must have for the area to be of that colour.
const OF_ONE_COLOUR: f64 = 0.5;
/// Pixels around an area that belong to what is compared, so that its edges are seen.
const AROUND: u32 = 2;

pub(super) fn explain(
    before: &PixelGrid,
    after: &PixelGrid,
    marks: &PixelMarks,
    areas: &mut Vec<ChangedArea>,
) {
    join_edges(before, after, areas);
    for area in areas.iter_mut().take(MOST_EXPLAINED) {
        if area.change == AreaChange::Other {
            area.change = change_of(before, after, marks, area.area);
        }
    }
}

fn change_of(
    before: &PixelGrid,
    after: &PixelGrid,
    marks: &PixelMarks,
    area: PixelArea,
) -> AreaChange {
    let background = background(after, area).filter(|_| {
        // What is around it must have stayed as it was.
        background(before, area) == background(after, area)
    });
    if let Some(background) = background {
        if is_only(before, area, background) {
            return AreaChange::Came;
        }
        if is_only(after, area, background) {
            return AreaChange::Went;
        }
    }
    if let Some((right, down)) = movement(before, after, area) {
        return AreaChange::Moved { right, down };
    }
    if let (Some(from), Some(to)) = (main_colour(before, area), main_colour(after, area))
        && from != to
    {
        return AreaChange::Recoloured { from, to };
    }
    if has_only_edges(marks, area) {
        return AreaChange::Edges;
    }
    let there = standing_out(before, marks, area);
    let back = standing_out(after, marks, area);
    match best_displacement(before, after, &there, &back) {
        Some((share, right, down)) if share >= FOUND_AGAIN => AreaChange::Moved { right, down },
        Some((share, right, down)) if share >= MOSTLY_FOUND_AGAIN => {
            AreaChange::MostlyMoved { right, down }
        }
        Some(_) | None => AreaChange::Other,
    }
}

/// Makes one area of two that are the opposite edges of something flat that moved.
fn join_edges(before: &PixelGrid, after: &PixelGrid, areas: &mut Vec<ChangedArea>) {
    let mut at = 0;
    while at < areas.len().min(MOST_EXPLAINED) {
        let one = areas[at].area;
        let joined = (at + 1..areas.len().min(MOST_EXPLAINED)).find_map(|other| {
            let both = union(one, areas[other].area);
            let is_beside = (one.y == areas[other].area.y
                && one.height == areas[other].area.height)
                || (one.x == areas[other].area.x && one.width == areas[other].area.width);
            let (right, down) = is_beside.then(|| movement(before, after, both)).flatten()?;
            Some((other, both, right, down))
        });
        if let Some((other, area, right, down)) = joined {
            areas.remove(other);
            areas[at] = ChangedArea {
                area,
                change: AreaChange::Moved { right, down },
            };
            // What lies within it moved with it.
            areas.retain(|one| one.area == area || !is_within(one.area, area));
        }
        at += 1;
    }
    areas.sort_by_key(|area| {
        let size = u64::from(area.area.width) * u64::from(area.area.height);
        (std::cmp::Reverse(size), area.area.y, area.area.x)
    });
}

fn union(one: PixelArea, other: PixelArea) -> PixelArea {
    let (x, y) = (one.x.min(other.x), one.y.min(other.y));
    PixelArea {
        x,
        y,
        width: (one.x + one.width).max(other.x + other.width) - x,
        height: (one.y + one.height).max(other.y + other.height) - y,
    }
}

fn is_within(inner: PixelArea, outer: PixelArea) -> bool {
    union(inner, outer) == outer
}

/// Finds where all lines of an area went: how far to the right, or down.
fn movement(before: &PixelGrid, after: &PixelGrid, area: PixelArea) -> Option<(i64, i64)> {
    let around = widened(area, before);
    let (old, new) = (before.part(around), after.part(around));
    if let Some(down) = displacement(&rows(&old), &rows(&new)) {
        return Some((0, down));
    }
    let right = displacement(&columns(&old), &columns(&new))?;
    Some((right, 0))
}

fn widened(area: PixelArea, picture: &PixelGrid) -> PixelArea {
    let (width, height) = picture.size();
    let (x, y) = (area.x.saturating_sub(AROUND), area.y.saturating_sub(AROUND));
    PixelArea {
        x,
        y,
        width: (area.x + area.width + AROUND).min(width) - x,
        height: (area.y + area.height + AROUND).min(height) - y,
    }
}

/// A row or a column of pixels: a hash, and none if it is of one colour, which is found again anywhere.
type PixelLine = Option<u64>;

fn rows(picture: &PixelGrid) -> Vec<PixelLine> {
    let line = |y| line(picture.row(y).iter().copied());
    (0..picture.height()).map(line).collect()
}

fn columns(picture: &PixelGrid) -> Vec<PixelLine> {
    let line = |x| line((0..picture.height()).map(|y| picture.at(x, y)));
    (0..picture.width()).map(line).collect()
}

fn line(mut pixels: impl Iterator<Item = Colour>) -> PixelLine {
    let first = pixels.next()?;
    let mut hasher = DefaultHasher::new();
    first.hash(&mut hasher);
    let mut is_of_one_colour = true;
    for pixel in pixels {
        is_of_one_colour &= pixel == first;
        pixel.hash(&mut hasher);
    }
    (!is_of_one_colour).then(|| hasher.finish())
}

/// Finds the one displacement by which nearly all lines are found again, from the old to the new and back.
#[allow(clippy::cast_precision_loss)]
fn displacement(old: &[PixelLine], new: &[PixelLine]) -> Option<i64> {
    let count = i64::try_from(old.len()).ok()?;
    let found_at = |displacement: i64| {
        let shifted = |from: &[PixelLine], to: &[PixelLine], by: i64| {
            let (mut lines, mut found) = (0_usize, 0_usize);
            for (at, line) in from.iter().enumerate().filter(|(_, line)| line.is_some()) {
                lines += 1;
                let there = i64::try_from(at).unwrap_or(0) + by;
                let there = usize::try_from(there).ok().and_then(|at| to.get(at));
                found += usize::from(there == Some(line));
            }
            (lines, found)
        };
        let (lines, found) = shifted(old, new, displacement);
        let (lines_back, found_back) = shifted(new, old, -displacement);
        let all = (lines + lines_back) as f64;
        if found < 2 || found_back < 2 {
            return 0.0;
        }
        (found + found_back) as f64 / all
    };
    let most = LONGEST_STRAIGHT.min(count - 1);
    let mut best = (found_at(0), 0);
    for way in 1..=most {
        for displacement in [way, -way] {
            let found = found_at(displacement);
            if found > best.0 {
                best = (found, displacement);
            }
        }
    }
    (best.0 >= FOUND_AGAIN && best.1 != 0).then_some(best.1)
}

/// Finds the displacement by which most pixels that stand out are found again with their neighbours, and how many
/// are: from the old to the new and back.
#[allow(clippy::cast_precision_loss)]
fn best_displacement(
    old: &PixelGrid,
    new: &PixelGrid,
    there: &[(usize, usize)],
    back: &[(usize, usize)],
) -> Option<(f64, i64, i64)> {
    if there.len() < LEAST_SAMPLES || back.len() < LEAST_SAMPLES {
        return None;
    }
    let share = |places: &[(usize, usize)], from: &PixelGrid, to: &PixelGrid, by: (i64, i64)| {
        let is_found = |(x, y): &&(usize, usize)| {
            let (Some(to_x), Some(to_y)) = (
                moved(*x, by.0).filter(|x| (1..to.width()).contains(x)),
                moved(*y, by.1).filter(|y| (1..to.height()).contains(y)),
            ) else {
                return false;
            };
            from.at(*x, *y) == to.at(to_x, to_y)
                && from.at(*x - 1, *y) == to.at(to_x - 1, to_y)
                && from.at(*x, *y - 1) == to.at(to_x, to_y - 1)
        };
        places.iter().filter(is_found).count() as f64 / places.len() as f64
    };
    let found_at = |right: i64, down: i64| {
        let found = share(there, old, new, (right, down));
        if found < MOSTLY_FOUND_AGAIN {
            return found;
        }
        found.min(share(back, new, old, (-right, -down)))
    };
    let straight = (1..=LONGEST_STRAIGHT).flat_map(|by| [(0, by), (0, -by), (by, 0), (-by, 0)]);
    let across = (-LONGEST_ACROSS..=LONGEST_ACROSS)
        .flat_map(|down| (-LONGEST_ACROSS..=LONGEST_ACROSS).map(move |right| (right, down)))
        .filter(|(right, down)| *right != 0 && *down != 0);
    let mut best = (0.0, 0, 0);
    for (right, down) in straight.chain(across) {
        let found = found_at(right, down);
        if found > best.0 {
            best = (found, right, down);
        }
    }
    Some(best)
}

fn moved(place: usize, by: i64) -> Option<usize> {
    usize::try_from(i64::try_from(place).ok()? + by).ok()
}

/// Some of the pixels that differ, and differ also from the one to their left or above them.
fn standing_out(picture: &PixelGrid, marks: &PixelMarks, area: PixelArea) -> Vec<(usize, usize)> {
    let (left, top) = (area.x.max(1) as usize, area.y.max(1) as usize);
    let mut places = Vec::new();
    for y in top..(area.y + area.height) as usize {
        for x in left..(area.x + area.width) as usize {
            let pixel = picture.at(x, y);
            if marks.is_set(x, y)
                && (pixel != picture.at(x - 1, y) || pixel != picture.at(x, y - 1))
            {
                places.push((x, y));
            }
        }
    }
    let step = places.len().div_ceil(SAMPLES).max(1);
    places.into_iter().step_by(step).collect()
}

/// Tells whether all that differs is near the edges of an area.
fn has_only_edges(marks: &PixelMarks, area: PixelArea) -> bool {
    if area.width.min(area.height) < 6 * EDGE {
        return false;
    }
    let mut inner = (area.y + EDGE..area.y + area.height - EDGE).flat_map(|y| {
        (area.x + EDGE..area.x + area.width - EDGE).map(move |x| (x as usize, y as usize))
    });
    !inner.any(|(x, y)| marks.is_set(x, y))
}

/// The one colour around an area, if it is one.
fn background(picture: &PixelGrid, area: PixelArea) -> Option<Colour> {
    let around = widened(area, picture);
    let (left, top) = (around.x as usize, around.y as usize);
    let (right, bottom) = (
        left + around.width as usize - 1,
        top + around.height as usize - 1,
    );
    let colour = picture.at(left, top);
    let rows = picture.row(top)[left..=right]
        .iter()
        .chain(&picture.row(bottom)[left..=right]);
    let is_one = rows.copied().all(|pixel| pixel == colour)
        && (top..=bottom).all(|y| picture.at(left, y) == colour && picture.at(right, y) == colour);
    is_one.then_some(colour)
}

fn is_only(picture: &PixelGrid, area: PixelArea, colour: Colour) -> bool {
    let (x, width) = (area.x as usize, area.width as usize);
    let mut rows = area.y as usize..(area.y + area.height) as usize;
    rows.all(|y| {
        picture.row(y)[x..x + width]
            .iter()
            .all(|pixel| *pixel == colour)
    })
}

/// The colour that most of an area has.
#[allow(clippy::cast_precision_loss)]
fn main_colour(picture: &PixelGrid, area: PixelArea) -> Option<Colour> {
    let (x, width) = (area.x as usize, area.width as usize);
    let rows = area.y as usize..(area.y + area.height) as usize;
    let pixels = || rows.clone().flat_map(|y| &picture.row(y)[x..x + width]);
    // By majority vote: the one colour that can have more than half of the pixels, then its count.
    let (mut candidate, mut votes) = ([0; 3], 0_usize);
    for pixel in pixels() {
        if votes == 0 {
            candidate = *pixel;
        }
        if *pixel == candidate {
            votes += 1;
        } else {
            votes -= 1;
        }
    }
    let count = pixels().filter(|pixel| **pixel == candidate).count();
    (count as f64 > OF_ONE_COLOUR * (width * area.height as usize) as f64).then_some(candidate)
}

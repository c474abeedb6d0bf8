//! Finds the pixels that differ, and joins those that lie together to clusters.

use super::grid::{Colour, PixelGrid, within};
use crate::result::PixelArea;

/// The distance of two colours from which on a person sees that they differ, side by side and over an area: four
/// of 255 steps of grey.
pub(super) const NOTICEABLE: f32 = 8.0;
/// The side of the cells that clusters are made of.
pub(super) const CELL: usize = 4;
/// Pixels around the part that differs, so that what is looked at there has its surroundings.
const MARGIN: usize = 8;

/// Some pixels of a picture.
#[derive(Debug, Clone)]
pub(super) struct PixelMarks {
    width: usize,
    marked: Vec<bool>,
}

impl PixelMarks {
    pub(super) fn new(width: u32, height: u32) -> Self {
        Self::of_size(width as usize, height as usize)
    }

    fn of_size(width: usize, height: usize) -> Self {
        Self {
            width,
            marked: vec![false; width * height],
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.marked.iter().filter(|marked| **marked).count() as u64
    }

    pub(super) fn is_set(&self, x: usize, y: usize) -> bool {
        self.marked[y * self.width + x]
    }

    pub(super) fn set(&mut self, x: usize, y: usize) {
        self.marked[y * self.width + x] = true;
    }

    pub(super) fn set_area(&mut self, area: PixelArea) {
        let height = self.marked.len() / self.width.max(1);
        let (columns, rows) = within(area, self.width, height);
        for y in rows {
            self.marked[y * self.width..][columns.clone()].fill(true);
        }
    }

    /// The same marks in a larger picture, of which they are a part.
    pub(super) fn placed(&self, part: PixelArea, width: u32, height: u32) -> Self {
        let mut placed = Self::new(width, height);
        for (at, marked) in self.marked.iter().enumerate() {
            if *marked {
                let (x, y) = (at % self.width, at / self.width);
                placed.set(part.x as usize + x, part.y as usize + y);
            }
        }
        placed
    }

    /// Puts the marks into a picture of another size, and marks what they did not reach.
    pub(super) fn grow(&mut self, common_width: u32, width: u32, height: u32) {
        let (common_width, common_height) =
            (common_width as usize, self.marked.len() / self.width.max(1));
        let mut grown = Self::new(width, height);
        for y in 0..height as usize {
            for x in 0..width as usize {
                if x >= common_width || y >= common_height || self.is_set(x, y) {
                    grown.set(x, y);
                }
            }
        }
        *self = grown;
    }
}

/// Pixels that differ and lie together.
#[derive(Debug)]
pub(super) struct PixelCluster {
    /// Its cells, as places in the grid of cells.
    pub(super) cells: Vec<usize>,
    /// The pixels that differ noticeably.
    pub(super) pixels: usize,
    pub(super) is_real: bool,
}

/// All pixels that differ noticeably.
#[derive(Debug)]
pub(super) struct ClusteredPixels {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Cells in a row.
    pub(super) cells_across: usize,
    pub(super) marks: PixelMarks,
    pub(super) clusters: Vec<PixelCluster>,
}

impl ClusteredPixels {
    /// The pixels of a cell.
    pub(super) fn cell_places(&self, cell: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (x, y) = (cell % self.cells_across, cell / self.cells_across);
        let columns = x * CELL..((x + 1) * CELL).min(self.width);
        let rows = y * CELL..((y + 1) * CELL).min(self.height);
        rows.flat_map(move |y| columns.clone().map(move |x| (x, y)))
    }

    /// All pixels of a cluster's cells.
    pub(super) fn places<'a>(
        &'a self,
        cluster: &'a PixelCluster,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        cluster
            .cells
            .iter()
            .flat_map(|cell| self.cell_places(*cell))
    }

    /// The pixels of a cluster that differ noticeably.
    pub(super) fn marked<'a>(
        &'a self,
        cluster: &'a PixelCluster,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.places(cluster)
            .filter(|(x, y)| self.marks.is_set(*x, *y))
    }

    /// The pixels of the clusters that are no noise.
    pub(super) fn real_marks(&self) -> PixelMarks {
        let mut marks = PixelMarks::of_size(self.width, self.height);
        for cluster in self.clusters.iter().filter(|cluster| cluster.is_real) {
            for (x, y) in self.marked(cluster) {
                marks.set(x, y);
            }
        }
        marks
    }
}

/// The distance of two colours as people see it: lightness counts more than hue (in the YIQ colour space).
#[inline]
pub(super) fn distance(one: Colour, other: Colour) -> f32 {
    let difference = |channel: usize| f32::from(one[channel]) - f32::from(other[channel]);
    let (red, green, blue) = (difference(0), difference(1), difference(2));
    let lightness = red * 0.298_895_3 + green * 0.586_622_5 + blue * 0.114_482_2;
    let in_phase = red * 0.595_978 - green * 0.274_176_1 - blue * 0.321_801_9;
    let quadrature = red * 0.211_470_2 - green * 0.522_617_1 + blue * 0.311_146_9;
    0.5053 * lightness * lightness + 0.299 * in_phase * in_phase + 0.1957 * quadrature * quadrature
}

/// The smallest part that holds all pixels that differ, with some around it. None if none differs.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn differing_part(before: &PixelGrid, after: &PixelGrid) -> Option<PixelArea> {
    let (width, height) = (after.width(), after.height());
    let differs = |y: &usize| before.row(*y) != after.row(*y);
    let first = (0..height).find(differs)?;
    let last = (0..height).rev().find(differs)?;
    let (mut left, mut right) = (width, 0);
    for y in first..=last {
        let (old, new) = (before.row(y), after.row(y));
        if let Some(x) = (0..left).find(|x| old[*x] != new[*x]) {
            left = x;
        }
        if let Some(x) = (right..width).rev().find(|x| old[*x] != new[*x]) {
            right = x;
        }
    }
    let (left, top) = (left.saturating_sub(MARGIN), first.saturating_sub(MARGIN));
    Some(PixelArea {
        x: left as u32,
        y: top as u32,
        width: ((right + 1 + MARGIN).min(width) - left) as u32,
        height: ((last + 1 + MARGIN).min(height) - top) as u32,
    })
}

/// Finds the clusters; none is judged yet.
pub(super) fn clusters(before: &PixelGrid, after: &PixelGrid) -> ClusteredPixels {
    let (width, height) = (after.width(), after.height());
    let (cells_across, cells_down) = (width.div_ceil(CELL), height.div_ceil(CELL));
    let mut marks = PixelMarks::of_size(width, height);
    let mut counts = vec![0_usize; cells_across * cells_down];
    for y in 0..height {
        for (x, (old, new)) in before.row(y).iter().zip(after.row(y)).enumerate() {
            if old != new && distance(*old, *new) >= NOTICEABLE {
                marks.set(x, y);
                counts[y / CELL * cells_across + x / CELL] += 1;
            }
        }
    }
    let mut found = ClusteredPixels {
        width,
        height,
        cells_across,
        marks,
        clusters: Vec::new(),
    };
    let mut left = counts.clone();
    for start in 0..counts.len() {
        if left[start] > 0 {
            let cells = connected(start, &mut left, cells_across);
            let pixels = cells.iter().map(|cell| counts[*cell]).sum();
            found.clusters.push(PixelCluster {
                cells,
                pixels,
                is_real: true,
            });
        }
    }
    found
}

/// Takes the cells out of `left` that hang together with `start`, also over corners.
pub(super) fn connected(start: usize, left: &mut [usize], across: usize) -> Vec<usize> {
    let down = left.len() / across;
    let mut cells = vec![start];
    left[start] = 0;
    let mut next = 0;
    while let Some(cell) = cells.get(next).copied() {
        next += 1;
        let (x, y) = (cell % across, cell / across);
        for row in y.saturating_sub(1)..(y + 2).min(down) {
            for column in x.saturating_sub(1)..(x + 2).min(across) {
                let at = row * across + column;
                if left[at] > 0 {
                    left[at] = 0;
                    cells.push(at);
                }
            }
        }
    }
    cells
}

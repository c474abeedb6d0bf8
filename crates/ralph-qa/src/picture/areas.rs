//! Joins what differs to areas as a person would draw frames around it, and says what became of each.

use super::{
    clusters::{ClusteredPixels, PixelMarks, connected},
    grid::Colour,
};
use crate::result::PixelArea;

/// Pixels that are at most about so far from each other are one area.
const NEAR: usize = 16;

/// An area that differs, with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChangedArea {
    pub(super) area: PixelArea,
    pub(super) change: AreaChange,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum AreaChange {
    /// The same content is there, this many pixels to the right and down.
    Moved {
        right: i64,
        down: i64,
    },
    /// The same, of most of what differs in it.
    MostlyMoved {
        right: i64,
        down: i64,
    },
    /// It was background.
    Came,
    /// It is background now.
    Went,
    /// The colour of most of it.
    Recoloured {
        from: Colour,
        to: Colour,
    },
    /// Only its edges differ: a frame, a shadow.
    Edges,
    Other,
}

impl std::fmt::Display for ChangedArea {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PixelArea {
            x,
            y,
            width,
            height,
        } = self.area;
        write!(f, "the area at {x},{y} ({width}x{height}) ")?;
        match &self.change {
            AreaChange::Moved { right, down } => write!(f, "moved by {}", way(*right, *down)),
            AreaChange::MostlyMoved { right, down } => {
                write!(f, "differs, and most of it moved by {}", way(*right, *down))
            }
            AreaChange::Came => f.write_str("is new: there was only background"),
            AreaChange::Went => f.write_str("is gone: there is only background"),
            AreaChange::Recoloured { from, to } => write!(
                f,
                "changed its colour from #{:02x}{:02x}{:02x} to #{:02x}{:02x}{:02x}",
                from[0], from[1], from[2], to[0], to[1], to[2]
            ),
            AreaChange::Edges => f.write_str("differs along its edges"),
            AreaChange::Other => f.write_str("shows something else"),
        }
    }
}

/// Says how far something moved: `8 px down`.
fn way(right: i64, down: i64) -> String {
    let mut parts = Vec::new();
    if down != 0 {
        let way = if down > 0 { "down" } else { "up" };
        parts.push(format!("{} px {way}", down.abs()));
    }
    if right != 0 {
        let way = if right > 0 { "right" } else { "left" };
        parts.push(format!("{} px {way}", right.abs()));
    }
    parts.join(" and ")
}

/// Joins the clusters that are no noise, the largest area first.
pub(super) fn join(found: &ClusteredPixels, marks: &PixelMarks) -> Vec<ChangedArea> {
    let across = found.width.div_ceil(NEAR);
    let mut left = vec![0; across * found.height.div_ceil(NEAR)];
    let mut extents = vec![None::<Extent>; left.len()];
    for y in 0..found.height {
        for x in (0..found.width).filter(|x| marks.is_set(*x, y)) {
            let at = y / NEAR * across + x / NEAR;
            left[at] = 1;
            let extent = extents[at].get_or_insert(Extent::at(x, y));
            *extent = extent.with(Extent::at(x, y));
        }
    }
    let mut joined = Vec::new();
    for start in 0..left.len() {
        if left[start] > 0 {
            let cells = connected(start, &mut left, across);
            let parts = cells.iter().filter_map(|cell| extents[*cell]);
            joined.extend(parts.reduce(Extent::with));
        }
    }
    let mut joined = merged(joined);
    joined.sort_by_key(|extent| (std::cmp::Reverse(extent.pixels()), extent.top, extent.left));
    let area = |extent: Extent| ChangedArea {
        area: extent.area(),
        change: AreaChange::Other,
    };
    joined.into_iter().map(area).collect()
}

/// So many areas are looked through for those that lie over each other.
const MOST_MERGED: usize = 400;

/// Makes one of areas that lie over each other.
fn merged(mut areas: Vec<Extent>) -> Vec<Extent> {
    if areas.len() > MOST_MERGED {
        return areas;
    }
    loop {
        let pair = (0..areas.len()).find_map(|one| {
            let other = (one + 1..areas.len()).find(|other| areas[one].meets(areas[*other]))?;
            Some((one, other))
        });
        let Some((one, other)) = pair else {
            return areas;
        };
        let taken = areas.swap_remove(other);
        areas[one] = areas[one].with(taken);
    }
}

/// An area by its outermost pixels.
#[derive(Debug, Clone, Copy)]
struct Extent {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
}

impl Extent {
    fn at(x: usize, y: usize) -> Self {
        Self {
            left: x,
            top: y,
            right: x,
            bottom: y,
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    fn meets(self, other: Self) -> bool {
        self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }

    fn pixels(self) -> usize {
        (self.right - self.left + 1) * (self.bottom - self.top + 1)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn area(self) -> PixelArea {
        PixelArea {
            x: self.left as u32,
            y: self.top as u32,
            width: (self.right - self.left + 1) as u32,
            height: (self.bottom - self.top + 1) as u32,
        }
    }
}

//! Judges clusters: a change, or only another way of drawing the same edges and letters.
//!
//! The limits below are measured: the pictures in `tests/picture` are the same page drawn with other settings of
//! fonts, and with small changes such as one digit.

use super::{
    clusters::{CELL, ClusteredPixels, PixelCluster},
    grid::{Colour, PixelGrid, clamp},
};

/// Pixels that differ by at most so many steps around a pixel make it flat.
const FLAT: u8 = 6;
/// The part of the local contrast by which pixels may differ from the same glyphs drawn a part of a pixel to the
/// side, and by which the means of nine pixels may.
const SHIFTED_PIXEL: f32 = 0.48;
const SHIFTED_MEAN: f32 = 0.20;
/// The same where letters are drawn in another way all over the picture, against all that is around a pixel.
const REDRAWN_PIXEL: f32 = 0.80;
const REDRAWN_MEAN: f32 = 0.19;
/// The cells of a cluster that its shift is found by.
const SHIFT_CELLS: usize = 4_000;
/// The contrast below which differences are not forgiven for the contrast around them.
const LEAST_CONTRAST: f32 = 16.0;
/// The distance within which the contrast counts.
const CONTRAST_RADIUS: isize = 3;

/// Letters are drawn in another way all over a picture if so much of what has contrast differs.
const REDRAWN_SHARE: f32 = 0.4;
/// The blocks with contrast that a picture must have for that: fewer are a word or two.
const REDRAWN_LEAST: usize = 60;
const TEXTURE_BLOCK: usize = 8;
const TEXTURE_CONTRAST: u8 = 48;
/// A straight edge that is longer than any part of a letter.
const LONG_EDGE: usize = 64;

/// Pixels that a cluster must have to be compared as a whole with another colour or place of the same: in few of them
/// letters that are drawn in another way can look like that.
const WHOLE_LEAST: usize = 8;
const WHOLE_LEAST_REDRAWN: usize = 64;
/// Steps by which a change of colour may be off.
const RECOLOURED_OFF: f32 = 5.0;
/// Steps by which a shift of whole pixels may be off.
const MOVED_OFF: u8 = 3;

/// Sets which clusters are real.
pub(super) fn judge(
    before: &PixelGrid,
    after: &PixelGrid,
    found: &mut ClusteredPixels,
    is_redrawn: bool,
) {
    let mut clusters = std::mem::take(&mut found.clusters);
    let pair = PicturePair { before, after };
    for cluster in &mut clusters {
        cluster.is_real = pair.is_real(found, cluster, is_redrawn);
    }
    found.clusters = clusters;
}

/// Tells of two whole pictures whether most of what has contrast differs, as where another way of drawing letters is
/// set.
#[allow(clippy::cast_precision_loss)]
pub(super) fn is_redrawn(before: &PixelGrid, after: &PixelGrid) -> bool {
    let (mut textured, mut differing) = (0_usize, 0_usize);
    for top in (0..before.height()).step_by(TEXTURE_BLOCK) {
        let rows = top..(top + TEXTURE_BLOCK).min(before.height());
        for left in (0..before.width()).step_by(TEXTURE_BLOCK) {
            let right = (left + TEXTURE_BLOCK).min(before.width());
            let greens = rows
                .clone()
                .flat_map(|y| &before.row(y)[left..right])
                .map(|colour| colour[1]);
            let (low, high) = greens.fold((u8::MAX, 0), |(low, high), green| {
                (low.min(green), high.max(green))
            });
            if high.saturating_sub(low) > TEXTURE_CONTRAST {
                textured += 1;
                let is_same = rows
                    .clone()
                    .all(|y| before.row(y)[left..right] == after.row(y)[left..right]);
                differing += usize::from(!is_same);
            }
        }
    }
    textured >= REDRAWN_LEAST && differing as f32 >= REDRAWN_SHARE * textured as f32
}

#[derive(Clone, Copy)]
struct PicturePair<'a> {
    before: &'a PixelGrid,
    after: &'a PixelGrid,
}

impl PicturePair<'_> {
    fn is_real(self, found: &ClusteredPixels, cluster: &PixelCluster, is_redrawn: bool) -> bool {
        let is_flat_in_both =
            |(x, y): (usize, usize)| is_flat(self.before, x, y) && is_flat(self.after, x, y);
        if found.marked(cluster).any(is_flat_in_both) {
            return true;
        }
        let least = if is_redrawn {
            WHOLE_LEAST_REDRAWN
        } else {
            WHOLE_LEAST
        };
        if cluster.pixels >= least
            && (self.is_recoloured(found, cluster) || self.is_moved_by_one_pixel(found, cluster))
        {
            return true;
        }
        if is_redrawn
            && !self.has_long_edge(found, cluster)
            && found
                .marked(cluster)
                .all(|(x, y)| self.is_redrawn_pixel(x, y))
        {
            return false;
        }
        !self.is_shifted_by_less_than_a_pixel(found, cluster)
    }

    /// Tells whether the colours of one picture are those of the other by one rule for all pixels: the same shapes
    /// in another colour. Edges that are drawn in another way have no such rule.
    #[allow(clippy::cast_precision_loss)]
    fn is_recoloured(self, found: &ClusteredPixels, cluster: &PixelCluster) -> bool {
        (0..3).all(|channel| {
            let values = || {
                found.places(cluster).map(|(x, y)| {
                    (
                        f32::from(self.before.at(x, y)[channel]),
                        f32::from(self.after.at(x, y)[channel]),
                    )
                })
            };
            let count = (cluster.cells.len() * CELL * CELL) as f32;
            let (sum_old, sum_new) = values().fold((0.0, 0.0), |(old, new), (one, other)| {
                (old + one, new + other)
            });
            let (mean_old, mean_new) = (sum_old / count, sum_new / count);
            let (mut with_old, mut with_new) = (0.0_f32, 0.0_f32);
            for (old, new) in values() {
                with_old += (old - mean_old) * (old - mean_old);
                with_new += (old - mean_old) * (new - mean_new);
            }
            // Where nothing stood out, nothing was recoloured.
            let slope = if with_old > 0.0 {
                with_new / with_old
            } else {
                return false;
            };
            values().all(|(old, new)| {
                (mean_new + slope * (old - mean_old) - new).abs() <= RECOLOURED_OFF
            })
        })
    }

    /// Tells whether a straight edge in the cluster moved by one pixel, and is as sharp as it was.
    fn has_long_edge(self, found: &ClusteredPixels, cluster: &PixelCluster) -> bool {
        found.marked(cluster).any(|place| {
            let (x, y) = place;
            let goes_on = |at: &(usize, usize), beside: (isize, isize)| {
                found.marks.is_set(at.0, at.1)
                    && is_near(self.before.at(at.0, at.1), self.before.at(x, y))
                    && is_near(self.after.at(at.0, at.1), self.after.at(x, y))
                    && self.is_swapped(*at, beside)
            };
            let is_long = |line: &mut dyn Iterator<Item = (usize, usize)>, beside| {
                line.take(LONG_EDGE)
                    .take_while(|at| goes_on(at, beside))
                    .count()
                    == LONG_EDGE
            };
            [-1, 1].into_iter().any(|side| {
                is_long(&mut (x..found.width).map(|x| (x, y)), (0, side))
                    || is_long(&mut (y..found.height).map(|y| (x, y)), (side, 0))
            })
        })
    }

    /// Tells whether a pixel has the colour that one neighbour had, and the opposite one has its old colour.
    fn is_swapped(self, (x, y): (usize, usize), (right, down): (isize, isize)) -> bool {
        let (column, row) = (x.cast_signed(), y.cast_signed());
        is_near(
            self.after.at(x, y),
            self.before.near(column - right, row - down),
        ) && is_near(
            self.before.at(x, y),
            self.after.near(column + right, row + down),
        )
    }

    /// Tells whether the cluster shows what was one whole pixel beside it.
    fn is_moved_by_one_pixel(self, found: &ClusteredPixels, cluster: &PixelCluster) -> bool {
        around(0, 0)
            .filter(|by| *by != (0, 0))
            .any(|(right, down)| {
                found.places(cluster).all(|(x, y)| {
                    let (x, y) = (x.cast_signed(), y.cast_signed());
                    let (old, new) = (self.before.near(x - right, y - down), self.after.near(x, y));
                    (0..3).all(|channel| old[channel].abs_diff(new[channel]) <= MOVED_OFF)
                })
            })
    }

    /// Tells whether each picture has around a pixel what the other one has at it: ink, or the lack of it, and about
    /// as much.
    fn is_redrawn_pixel(self, x: usize, y: usize) -> bool {
        (0..3).all(|channel| {
            let at =
                |picture: &PixelGrid, x: isize, y: isize| f32::from(picture.near(x, y)[channel]);
            let mean = |picture: &PixelGrid, x: isize, y: isize| {
                around(x, y).map(|(x, y)| at(picture, x, y)).sum::<f32>() / 9.0
            };
            let (x, y) = (x.cast_signed(), y.cast_signed());
            let (before, after) = (self.before, self.after);
            let pixel = beyond(at(before, x, y), around(x, y).map(|(x, y)| at(after, x, y))).max(
                beyond(at(after, x, y), around(x, y).map(|(x, y)| at(before, x, y))),
            );
            let means = beyond(
                mean(before, x, y),
                around(x, y).map(|(x, y)| mean(after, x, y)),
            )
            .max(beyond(
                mean(after, x, y),
                around(x, y).map(|(x, y)| mean(before, x, y)),
            ));
            if pixel <= REDRAWN_PIXEL * LEAST_CONTRAST && means <= REDRAWN_MEAN * LEAST_CONTRAST {
                return true;
            }
            let contrast = self.contrast(x, y, channel);
            pixel <= REDRAWN_PIXEL * contrast && means <= REDRAWN_MEAN * contrast
        })
    }

    /// The contrast of one channel around a pixel, in both pictures.
    fn contrast(self, x: isize, y: isize, channel: usize) -> f32 {
        let (mut low, mut high) = (u8::MAX, 0);
        for picture in [self.before, self.after] {
            let columns = clamp(x - CONTRAST_RADIUS, picture.width())
                ..=clamp(x + CONTRAST_RADIUS, picture.width());
            for y in clamp(y - CONTRAST_RADIUS, picture.height())
                ..=clamp(y + CONTRAST_RADIUS, picture.height())
            {
                for colour in &picture.row(y)[columns.clone()] {
                    low = low.min(colour[channel]);
                    high = high.max(colour[channel]);
                }
            }
        }
        f32::from(high - low).max(LEAST_CONTRAST)
    }

    /// Tells whether one picture is the other, moved by a part of a pixel.
    fn is_shifted_by_less_than_a_pixel(
        self,
        found: &ClusteredPixels,
        cluster: &PixelCluster,
    ) -> bool {
        let best = self.best_shift(found, cluster);
        found.places(cluster).all(|(x, y)| {
            (0..3).all(|channel| {
                let (column, row) = (x.cast_signed(), y.cast_signed());
                let moved = best.sample(self.before, x, y, channel);
                let pixel = (moved - f32::from(self.after.at(x, y)[channel])).abs();
                let mean = around(column, row)
                    .map(|(x, y)| {
                        let (x, y) = (clamp(x, self.after.width()), clamp(y, self.after.height()));
                        best.sample(self.before, x, y, channel)
                            - f32::from(self.after.at(x, y)[channel])
                    })
                    .sum::<f32>()
                    .abs()
                    / 9.0;
                if pixel <= SHIFTED_PIXEL * LEAST_CONTRAST && mean <= SHIFTED_MEAN * LEAST_CONTRAST
                {
                    return true;
                }
                let contrast = self.contrast(column, row, channel);
                pixel <= SHIFTED_PIXEL * contrast && mean <= SHIFTED_MEAN * contrast
            })
        })
    }

    /// Finds the shift, in quarters of a pixel and by one pixel at most, after which least differs: first in halves,
    /// then around the best of them. Of a large cluster it looks at some cells.
    fn best_shift(self, found: &ClusteredPixels, cluster: &PixelCluster) -> SubpixelShift {
        let step = cluster.cells.len().div_ceil(SHIFT_CELLS).max(1);
        let looked_at = || cluster.cells.iter().step_by(step);
        let off = |shift: SubpixelShift| {
            looked_at()
                .flat_map(|cell| found.cell_places(*cell))
                .map(|(x, y)| {
                    let off =
                        shift.sample(self.before, x, y, 1) - f32::from(self.after.at(x, y)[1]);
                    f64::from(off * off)
                })
                .sum::<f64>()
        };
        let best_of = |shifts: &mut dyn Iterator<Item = SubpixelShift>| {
            let mut best = (SubpixelShift::NONE, off(SubpixelShift::NONE));
            for shift in shifts {
                let off = off(shift);
                if off < best.1 {
                    best = (shift, off);
                }
            }
            best.0
        };
        let halves = (-2..=2_i16).flat_map(|down| {
            (-2..=2_i16).map(move |right| SubpixelShift {
                right: right * 2,
                down: down * 2,
            })
        });
        let coarse = best_of(&mut halves.into_iter());
        let fine = (-1..=1_i16).flat_map(|down| {
            (-1..=1_i16).map(move |right| SubpixelShift {
                right: (coarse.right + right).clamp(-4, 4),
                down: (coarse.down + down).clamp(-4, 4),
            })
        });
        best_of(&mut fine.into_iter())
    }
}

/// A shift in quarters of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SubpixelShift {
    right: i16,
    down: i16,
}

impl SubpixelShift {
    const NONE: Self = Self { right: 0, down: 0 };

    /// One channel of the shifted picture at a place, between the four pixels around it.
    #[inline]
    fn sample(self, picture: &PixelGrid, x: usize, y: usize, channel: usize) -> f32 {
        let (left, part_right) = split(x, self.right);
        let (top, part_down) = split(y, self.down);
        let at = |x: isize, y: isize| f32::from(picture.near(x, y)[channel]);
        let mix = |one: f32, other: f32, part: f32| one + (other - one) * part;
        let upper = mix(at(left, top), at(left + 1, top), part_right);
        if part_down == 0.0 {
            return upper;
        }
        let lower = mix(at(left, top + 1), at(left + 1, top + 1), part_right);
        mix(upper, lower, part_down)
    }
}

/// The whole pixel at or before a place that is `shift` quarters back, and the part of a pixel behind it.
fn split(place: usize, shift: i16) -> (isize, f32) {
    let quarters = place.cast_signed() * 4 - isize::from(shift);
    let rest = u8::try_from(quarters.rem_euclid(4)).unwrap_or(0);
    (quarters.div_euclid(4), f32::from(rest) / 4.0)
}

/// A pixel and its eight neighbours.
fn around(x: isize, y: isize) -> impl Iterator<Item = (isize, isize)> {
    (y - 1..=y + 1).flat_map(move |y| (x - 1..=x + 1).map(move |x| (x, y)))
}

/// Returns how far a value lies outside of the range of others.
fn beyond(value: f32, others: impl Iterator<Item = f32>) -> f32 {
    let (low, high) = others.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), other| {
        (low.min(other), high.max(other))
    });
    (low - value).max(value - high).max(0.0)
}

fn is_flat(picture: &PixelGrid, x: usize, y: usize) -> bool {
    let (x, y) = (x.cast_signed(), y.cast_signed());
    let middle = picture.near(x, y);
    around(x, y).all(|(x, y)| is_near(picture.near(x, y), middle))
}

fn is_near(one: Colour, other: Colour) -> bool {
    (0..3).all(|channel| one[channel].abs_diff(other[channel]) <= FLAT)
}

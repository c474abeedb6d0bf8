//! The pixels of a picture: read from a PNG within limits, cut, painted over, written.

use std::io::Cursor;

use image::{
    ColorType, ImageDecoder as _, ImageEncoder as _, ImageError, Limits,
    codecs::png::{CompressionType, FilterType, PngDecoder, PngEncoder},
};

use super::{ComparedPicture, LONGEST_SIDE, MOST_PIXELS, PictureError};
use crate::result::PixelArea;

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// The colour that masks are painted with.
const MASK: Colour = [128, 128, 128];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PixelGrid {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

/// Refuses a picture that is too large, by its header alone.
pub(super) fn check_size(png: &[u8], which: ComparedPicture) -> Result<(), PictureError> {
    open(png, which).map(|_| ())
}

fn open(png: &[u8], which: ComparedPicture) -> Result<PngDecoder<Cursor<&[u8]>>, PictureError> {
    let broken = |source| PictureError::Broken { which, source };
    // Besides the pixels there are only texts and colour profiles in it.
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_PIXELS * 8 + 16 * 1024 * 1024);
    let decoder = PngDecoder::with_limits(Cursor::new(png), limits).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS || width.max(height) > LONGEST_SIDE {
        return Err(PictureError::TooLarge {
            which,
            width,
            height,
        });
    }
    Ok(decoder)
}

impl PixelGrid {
    pub(super) fn new(width: usize, height: usize, fill: Colour) -> Self {
        Self {
            width,
            height,
            pixels: vec![fill; width * height],
        }
    }

    /// Reads a PNG; what shines through lies on white.
    pub(super) fn read(png: &[u8], which: ComparedPicture) -> Result<Self, PictureError> {
        let broken = |source| PictureError::Broken { which, source };
        let decoder = open(png, which)?;
        let (width, height) = decoder.dimensions();
        let (width, height) = (width as usize, height as usize);
        let pixels = match decoder.color_type() {
            ColorType::Rgb8 => {
                let mut pixels = vec![[0; 3]; width * height];
                decoder
                    .read_image(pixels.as_flattened_mut())
                    .map_err(broken)?;
                pixels
            }
            ColorType::Rgba8 => {
                let mut pixels = vec![[0; 4]; width * height];
                decoder
                    .read_image(pixels.as_flattened_mut())
                    .map_err(broken)?;
                pixels.iter().map(|pixel| on_white(*pixel)).collect()
            }
            _ => {
                let image = image::DynamicImage::from_decoder(decoder).map_err(broken)?;
                image
                    .into_rgba8()
                    .pixels()
                    .map(|pixel| on_white(pixel.0))
                    .collect()
            }
        };
        Ok(Self {
            width,
            height,
            pixels,
        })
    }

    /// Writes a PNG, quickly rather than small.
    pub(super) fn png(&self) -> Result<Vec<u8>, ImageError> {
        let mut png = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut png, CompressionType::Fast, FilterType::Adaptive);
        let (width, height) = self.size();
        encoder.write_image(
            self.pixels.as_flattened(),
            width,
            height,
            ColorType::Rgb8.into(),
        )?;
        Ok(png)
    }

    // A side is at most `LONGEST_SIDE`.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn row(&self, y: usize) -> &[Colour] {
        &self.pixels[y * self.width..][..self.width]
    }

    pub(super) fn row_mut(&mut self, y: usize) -> &mut [Colour] {
        &mut self.pixels[y * self.width..][..self.width]
    }

    pub(super) fn at(&self, x: usize, y: usize) -> Colour {
        self.pixels[y * self.width + x]
    }

    /// The pixel at a place, or the nearest one at the edge.
    pub(super) fn near(&self, x: isize, y: isize) -> Colour {
        self.at(clamp(x, self.width), clamp(y, self.height))
    }

    /// Cuts a part out, which lies within the picture.
    pub(super) fn part(&self, area: PixelArea) -> Self {
        let (x, width) = (area.x as usize, area.width as usize);
        let rows = area.y as usize..(area.y + area.height) as usize;
        Self {
            width,
            height: rows.len(),
            pixels: rows
                .flat_map(|y| &self.row(y)[x..x + width])
                .copied()
                .collect(),
        }
    }

    /// Paints a mask, as far as it lies within the picture.
    pub(super) fn paint(&mut self, mask: PixelArea) {
        let (columns, rows) = within(mask, self.width, self.height);
        for y in rows {
            self.row_mut(y)[columns.clone()].fill(MASK);
        }
    }
}

/// Keeps a place within a length, which is not 0.
pub(super) fn clamp(at: isize, length: usize) -> usize {
    usize::try_from(at).unwrap_or(0).min(length - 1)
}

/// The columns and rows of an area, as far as they lie within a picture.
pub(super) fn within(
    area: PixelArea,
    width: usize,
    height: usize,
) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let part = |start: u32, length: u32, most: usize| {
        let end = (start as usize).saturating_add(length as usize).min(most);
        (start as usize).min(end)..end
    };
    (
        part(area.x, area.width, width),
        part(area.y, area.height, height),
    )
}

fn on_white([red, green, blue, alpha]: [u8; 4]) -> Colour {
    if alpha == u8::MAX {
        return [red, green, blue];
    }
    [red, green, blue].map(|value| {
        let mixed = u32::from(value) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
        u8::try_from((mixed + 127) / 255).unwrap_or(u8::MAX)
    })
}

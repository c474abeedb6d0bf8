//! Pictures whose pixels are set here.

use image::{Rgb, RgbImage, RgbaImage};
use ralph_qa::{
    picture::{PictureDifference, PictureRules, compare},
    result::{PixelArea, VisualVerdict},
};

const WHITE: Rgb<u8> = Rgb([255; 3]);
const BLUE: Rgb<u8> = Rgb([26, 115, 232]);

fn area(x: u32, y: u32, width: u32, height: u32) -> PixelArea {
    PixelArea {
        x,
        y,
        width,
        height,
    }
}

fn empty(width: u32, height: u32) -> RgbImage {
    RgbImage::from_pixel(width, height, WHITE)
}

fn fill(picture: &mut RgbImage, area: PixelArea, colour: Rgb<u8>) {
    for y in area.y..area.y + area.height {
        for x in area.x..area.x + area.width {
            picture.put_pixel(x, y, colour);
        }
    }
}

/// A box on white.
fn boxed(area: PixelArea) -> RgbImage {
    let mut picture = empty(200, 160);
    fill(&mut picture, area, BLUE);
    picture
}

fn png(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

fn read(png: &[u8]) -> RgbImage {
    image::load_from_memory(png).unwrap().into_rgb8()
}

fn compared(before: &RgbImage, after: &RgbImage, rules: &PictureRules) -> PictureDifference {
    compare(&png(before), &png(after), rules).unwrap()
}

fn strictly(before: &RgbImage, after: &RgbImage) -> PictureDifference {
    compared(before, after, &PictureRules::default())
}

#[test]
fn the_same_pixels_are_the_same_however_they_are_stored() {
    let picture = boxed(area(40, 30, 90, 60));
    let mut stored_otherwise = std::io::Cursor::new(Vec::new());
    let with_alpha: RgbaImage = image::DynamicImage::from(picture.clone()).into_rgba8();
    with_alpha
        .write_to(&mut stored_otherwise, image::ImageFormat::Png)
        .unwrap();
    let stored_otherwise = stored_otherwise.into_inner();
    assert_ne!(stored_otherwise, png(&picture));
    for other in [png(&picture), stored_otherwise] {
        let found = compare(&png(&picture), &other, &PictureRules::default()).unwrap();
        assert_eq!(found.result.verdict, VisualVerdict::Same);
        assert!(found.result.matches);
        assert!((found.result.similarity - 1.0).abs() < f64::EPSILON);
        assert_eq!(found.result.summary, "not one pixel differs");
        assert_eq!(found.picture, None);
    }
}

#[test]
fn a_box_that_moved_is_one_area_with_its_way() {
    let before = boxed(area(40, 30, 90, 60));
    for (after, summary) in [
        (
            area(40, 38, 90, 60),
            "the area at 40,30 (90x68) moved by 8 px down",
        ),
        (
            area(38, 30, 90, 60),
            "the area at 38,30 (92x60) moved by 2 px left",
        ),
        (
            area(41, 30, 90, 60),
            "the area at 40,30 (91x60) moved by 1 px right",
        ),
    ] {
        let found = strictly(&before, &boxed(after)).result;
        assert_eq!(found.verdict, VisualVerdict::Layout, "{found:?}");
        assert_eq!(found.summary, summary);
        assert_eq!(found.regions.len(), 1);
    }
}

#[test]
fn what_came_what_went_and_what_has_another_colour_is_told_apart() {
    let (without, with) = (empty(200, 160), boxed(area(40, 30, 90, 60)));
    let came = strictly(&without, &with).result;
    assert_eq!(came.verdict, VisualVerdict::Layout);
    assert_eq!(came.regions, [area(40, 30, 90, 60)]);
    assert_eq!(
        came.summary,
        "the area at 40,30 (90x60) is new: there was only background"
    );
    let went = strictly(&with, &without).result;
    assert_eq!(
        went.summary,
        "the area at 40,30 (90x60) is gone: there is only background"
    );
    let mut red = with.clone();
    fill(&mut red, area(40, 30, 90, 60), Rgb([217, 48, 37]));
    let recoloured = strictly(&with, &red).result;
    assert_eq!(recoloured.verdict, VisualVerdict::Content);
    assert_eq!(
        recoloured.summary,
        "the area at 40,30 (90x60) changed its colour from #1a73e8 to #d93025"
    );
    // 5,400 of 32,000 pixels.
    assert!((recoloured.different - 0.16875).abs() < 1e-9);
}

#[test]
fn a_border_of_one_pixel_that_is_gone_is_found() {
    let mut framed = empty(200, 160);
    fill(&mut framed, area(20, 20, 160, 120), Rgb([208, 212, 217]));
    fill(&mut framed, area(21, 21, 158, 118), WHITE);
    let found = strictly(&framed, &empty(200, 160)).result;
    assert!(!found.matches);
    assert_eq!(found.regions, [area(20, 20, 160, 120)]);
}

#[test]
fn colours_too_close_to_be_told_apart_are_noise() {
    let before = boxed(area(40, 30, 90, 60));
    let mut after = before.clone();
    fill(&mut after, area(40, 30, 90, 60), Rgb([27, 116, 231]));
    let found = strictly(&before, &after).result;
    assert_eq!(found.verdict, VisualVerdict::Noise);
    assert!(found.different == 0.0 && found.matches);
}

#[test]
fn areas_far_from_each_other_are_told_one_by_one_the_largest_first() {
    let before = empty(400, 300);
    let mut after = before.clone();
    for (nth, size) in (0..5).zip([6, 30, 12, 20, 9]) {
        fill(&mut after, area(20 + nth * 75, 40, size, size), BLUE);
    }
    let found = strictly(&before, &after).result;
    let sizes: Vec<u32> = found.regions.iter().map(|area| area.width).collect();
    assert_eq!(sizes, [30, 20, 12, 9, 6]);
    assert_eq!(
        found.summary,
        "the area at 95,40 (30x30) is new: there was only background; \
         the area at 245,40 (20x20) is new: there was only background; \
         the area at 170,40 (12x12) is new: there was only background; 2 more areas"
    );
}

#[test]
fn a_threshold_lets_so_many_pixels_differ() {
    // 100 of 32,000 pixels: 0.3125 %.
    let (before, after) = (empty(200, 160), boxed(area(40, 30, 10, 10)));
    let rules = |threshold| PictureRules {
        threshold,
        masks: Vec::new(),
    };
    let within = compared(&before, &after, &rules(0.0032));
    assert_eq!(within.result.verdict, VisualVerdict::Within);
    assert!(within.result.matches && within.picture.is_some());
    assert_eq!(
        within.result.summary,
        "0.31 % of the pixels differ, and 0.32 % may: the area at 40,30 (10x10) is new: there was only background"
    );
    let beyond = compared(&before, &after, &rules(0.0031));
    assert!(!beyond.result.matches);
}

#[test]
fn masks_hide_what_differs_and_do_not_count() {
    let (before, after) = (empty(200, 160), boxed(area(40, 30, 10, 10)));
    let rules = |masks: Vec<PixelArea>| PictureRules {
        threshold: 0.0,
        masks,
    };
    let hidden = compared(&before, &after, &rules(vec![area(40, 30, 10, 10)]));
    assert_eq!(hidden.result.verdict, VisualVerdict::Same);
    // One that reaches beyond the picture, and one over it: half of the picture is left, 100 pixels differ.
    let masks = vec![area(100, 0, 5000, u32::MAX), area(120, 20, 10, 10)];
    let beside = compared(&before, &after, &rules(masks));
    assert!(!beside.result.matches);
    assert!((beside.result.different - 100.0 / 16_000.0).abs() < 1e-9);
}

#[test]
fn pictures_of_different_sizes_are_compared_where_both_are() {
    let before = boxed(area(40, 30, 90, 60));
    let mut after = empty(200, 200);
    fill(&mut after, area(40, 30, 90, 60), BLUE);
    let found = strictly(&before, &after);
    assert_eq!(found.result.verdict, VisualVerdict::Size);
    assert_eq!(
        found.result.summary,
        "the picture is 200x200, and its baseline is 200x160; what both show is the same"
    );
    // 40 rows of 200.
    assert!((found.result.different - 0.2).abs() < 1e-9);
    let drawn = read(&found.picture.unwrap());
    assert_eq!(drawn.dimensions(), (200, 200));
    fill(&mut after, area(150, 100, 20, 20), BLUE);
    let smaller = compared(
        &after,
        &before,
        &PictureRules {
            threshold: 1.0,
            masks: Vec::new(),
        },
    );
    assert_eq!(
        smaller.result.summary,
        "the picture is 200x160, and its baseline is 200x200; of what both show, \
         the area at 150,100 (20x20) is gone: there is only background"
    );
    assert!(!smaller.result.matches);
    assert_eq!(read(&smaller.picture.unwrap()).dimensions(), (200, 160));
}

#[test]
fn the_difference_shows_the_page_faded_with_marks_and_frames() {
    let mut before = empty(200, 160);
    fill(&mut before, area(0, 120, 200, 40), Rgb([0; 3]));
    let mut after = before.clone();
    fill(&mut after, area(40, 30, 30, 20), BLUE);
    let drawn = read(&strictly(&before, &after).picture.unwrap());
    assert_eq!(drawn.get_pixel(50, 40), &Rgb([224, 0, 86]), "what differs");
    assert_eq!(drawn.get_pixel(37, 40), &Rgb([20, 90, 220]), "its frame");
    assert_eq!(drawn.get_pixel(38, 40), &Rgb([253; 3]), "white, faded");
    assert_eq!(drawn.get_pixel(10, 140), &Rgb([190; 3]), "black, faded");
}

#[test]
fn similarity_falls_with_what_differs() {
    let before = boxed(area(40, 30, 90, 60));
    let little = strictly(&before, &boxed(area(42, 30, 90, 60)))
        .result
        .similarity;
    let much = strictly(&before, &boxed(area(90, 70, 90, 60)))
        .result
        .similarity;
    assert!(little > 0.9 && little < 1.0, "{little}");
    assert!(much < little - 0.02, "{much} {little}");
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from(self.0 >> 33).unwrap() % most
    }

    /// A small picture of some boxes and dots.
    fn picture(&mut self) -> RgbImage {
        let (width, height) = (1 + self.below(40), 1 + self.below(40));
        let mut picture = empty(width, height);
        for _ in 0..self.below(12) {
            let (x, y) = (self.below(width), self.below(height));
            let (wide, high) = (1 + self.below(width - x), 1 + self.below(height - y));
            let colour = Rgb([self.below(256), self.below(256), self.below(256)]
                .map(|value| u8::try_from(value).unwrap()));
            fill(&mut picture, area(x, y, wide, high), colour);
        }
        picture
    }
}

#[test]
fn whatever_the_pictures_are_the_result_holds_together() {
    let mut dice = Dice(7);
    for round in 0..600 {
        let before = dice.picture();
        let mut after = if dice.below(3) == 0 {
            dice.picture()
        } else {
            before.clone()
        };
        let (width, height) = after.dimensions();
        for _ in 0..dice.below(4) {
            let (x, y) = (dice.below(width), dice.below(height));
            fill(&mut after, area(x, y, 1, 1 + dice.below(height - y)), BLUE);
        }
        let masks = (0..dice.below(2))
            .map(|_| area(dice.below(50), dice.below(50), dice.below(9), dice.below(9)))
            .collect();
        let rules = PictureRules {
            threshold: f64::from(dice.below(3)) / 100.0,
            masks,
        };
        let found = compared(&before, &after, &rules);
        let result = &found.result;
        let told = format!("round {round}: {result:?}");
        assert!((0.0..=1.0).contains(&result.different), "{told}");
        assert!((0.0..=1.0).contains(&result.similarity), "{told}");
        let is_size = before.dimensions() != after.dimensions();
        assert_eq!(result.verdict == VisualVerdict::Size, is_size, "{told}");
        if !is_size {
            assert_eq!(
                result.matches,
                result.different <= rules.threshold,
                "{told}"
            );
            assert_eq!(found.picture.is_some(), result.different > 0.0, "{told}");
            assert_eq!(result.regions.is_empty(), result.different <= 0.0, "{told}");
        }
        for region in &result.regions {
            let is_within = region.x + region.width <= width && region.y + region.height <= height;
            assert!(is_within && region.width > 0 && region.height > 0, "{told}");
        }
    }
}

//! The page of `page.html`. Pictures of it that differ everywhere are files here; of those with a fault in one place
//! only that place is kept, in `changes/NAME@X,Y.png`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use image::{GenericImage as _, GenericImageView as _, RgbImage};
use ralph_qa::{
    picture::{PictureDifference, PictureRules, compare},
    result::VisualVerdict::{self, Content, Layout},
};

const SIZE: (u32, u32) = (760, 340);

/// The page with the letters of another setting: the settings of fontconfig, and a script.
const DRAWN: [(&str, FontSettings, &str); 4] = [
    ("not_hinted", font("hintnone", "none"), ""),
    ("subpixels", font("hintnone", "rgb"), ""),
    (
        "shifted_right",
        font("hintslight", "none"),
        "for (const e of document.querySelectorAll('p, small, td, svg, h1')) e.style.transform = 'translate(0.5px, 0)'",
    ),
    (
        "shifted_down",
        font("hintslight", "none"),
        "for (const e of document.querySelectorAll('p, small, td, svg')) e.style.transform = 'translate(0.3px, 0.4px)'",
    ),
];

#[derive(Clone, Copy)]
struct FontSettings {
    hinting: &'static str,
    order: &'static str,
}

const fn font(hinting: &'static str, order: &'static str) -> FontSettings {
    FontSettings { hinting, order }
}

/// A fault: its name, the script that makes it, and what is expected to be said of it.
struct PageFault {
    name: &'static str,
    script: &'static str,
    verdict: VisualVerdict,
    said: &'static str,
}

const fn fault(
    name: &'static str,
    script: &'static str,
    verdict: VisualVerdict,
    said: &'static str,
) -> PageFault {
    PageFault {
        name,
        script,
        verdict,
        said,
    }
}

const OTHER: &str = "shows something else";

const FAULTS: &[PageFault] = &[
    // One character, from 15 pixels down to 10, light and dark.
    fault(
        "3_to_8",
        "text.innerHTML = text.innerHTML.replace('3 of', '8 of')",
        Content,
        OTHER,
    ),
    fault(
        "8_to_6",
        "text.innerHTML = text.innerHTML.replace('8 orders', '6 orders')",
        Content,
        OTHER,
    ),
    fault(
        "5_to_6",
        "text.innerHTML = text.innerHTML.replace('5 wait', '6 wait')",
        Content,
        OTHER,
    ),
    fault(
        "dot_to_comma",
        "text.innerHTML = text.innerHTML.replace('.45', ',45')",
        Content,
        OTHER,
    ),
    fault(
        "i_to_l",
        "text.innerHTML = text.innerHTML.replace('paid', 'pald')",
        Content,
        OTHER,
    ),
    fault(
        "small_3_to_8",
        "small.innerHTML = small.innerHTML.replace('13', '18')",
        Content,
        OTHER,
    ),
    fault(
        "small_8_to_0",
        "small.innerHTML = small.innerHTML.replace('08', '00')",
        Content,
        OTHER,
    ),
    fault(
        "small_6_to_8",
        "small.innerHTML = small.innerHTML.replace('1.6', '1.8')",
        Content,
        OTHER,
    ),
    fault(
        "tiny_3_to_8",
        "tiny.innerHTML = 'tiny 0868 more'",
        Content,
        OTHER,
    ),
    fault(
        "tiny_6_to_8",
        "tiny.innerHTML = 'tiny 0388 more'",
        Content,
        OTHER,
    ),
    fault(
        "tiny_8_to_6",
        "tiny.innerHTML = 'tiny 0366 more'",
        Content,
        OTHER,
    ),
    fault(
        "tiny_e_to_c",
        "tiny.innerHTML = 'tiny 0368 morc'",
        Content,
        OTHER,
    ),
    fault("price_8_to_9", "price.innerHTML = '39.00'", Content, OTHER),
    fault("price_0_to_8", "other.innerHTML = '118.25'", Content, OTHER),
    fault(
        "code_0_to_8",
        "code.innerHTML = 'cargo run -- 8x3f8'",
        Content,
        OTHER,
    ),
    fault(
        "code_8_to_6",
        "code.innerHTML = 'cargo run -- 0x3f6'",
        Content,
        OTHER,
    ),
    fault(
        "heading_6_to_8",
        "heading.innerHTML = 'Orders 2028'",
        Content,
        OTHER,
    ),
    fault(
        "night_6_to_8",
        "night.innerHTML = night.innerHTML.replace('36', '38')",
        Content,
        OTHER,
    ),
    fault(
        "faint_8_to_6",
        "faint.innerHTML = 'Cleared at 11:56.'",
        Content,
        OTHER,
    ),
    // Colours.
    fault(
        "colour",
        "pay.style.background = '#d93025'",
        Content,
        "changed its colour from #1a73e8 to #d93025",
    ),
    fault(
        "slight_colour",
        "pay.style.background = '#1a63d8'",
        Content,
        "changed its colour from #1a73e8 to #1a63d8",
    ),
    fault(
        "very_slight_colour",
        "pay.style.background = '#1a6de0'",
        Content,
        "changed its colour from #1a73e8 to #1a6de0",
    ),
    fault(
        "background",
        "list.style.background = '#fafafa'",
        Content,
        "changed its colour from #ffffff to #fafafa",
    ),
    fault(
        "colour_of_text",
        "text.style.color = '#2d3034'",
        Content,
        OTHER,
    ),
    fault(
        "colour_of_line",
        "curve.children[0].setAttribute('stroke', '#3a3')",
        Content,
        OTHER,
    ),
    fault(
        "colour_of_border",
        "last.style.borderColor = '#c0c4c9'",
        Content,
        "differs along its edges",
    ),
    // Lines and shapes.
    fault(
        "no_border",
        "list.style.borderColor = 'transparent'",
        Content,
        "differs along its edges",
    ),
    fault(
        "no_line",
        "chair.style.borderBottomColor = 'transparent'",
        Content,
        "changed its colour from #e3e6ea to #ffffff",
    ),
    fault(
        "underline",
        "small.style.textDecoration = 'underline'",
        Content,
        "changed its colour from #ffffff to #646b73",
    ),
    fault("bold", "small.style.fontWeight = 600", Content, OTHER),
    fault(
        "square_corners",
        "pay.style.borderRadius = 0",
        Content,
        OTHER,
    ),
    fault(
        "rounder_corners",
        "pay.style.borderRadius = '3px'",
        Content,
        OTHER,
    ),
    fault(
        "ticked",
        "box.checked = true",
        Content,
        "changed its colour from #ffffff to #0075ff",
    ),
    // What moved, came or went.
    fault(
        "right_by_1",
        "pay.style.cssText = 'position: relative; left: 1px'",
        Layout,
        "moved by 1 px right",
    ),
    fault(
        "down_by_1",
        "pay.style.cssText = 'position: relative; top: 1px'",
        Layout,
        "moved by 1 px down",
    ),
    fault(
        "right_by_2",
        "pay.style.cssText = 'position: relative; left: 2px'",
        Layout,
        "moved by 2 px right",
    ),
    fault(
        "down_by_2",
        "cancel.style.cssText = 'position: relative; top: 2px'",
        Layout,
        "moved by 2 px down",
    ),
    fault(
        "up_and_left",
        "pay.style.cssText = 'position: relative; left: -5px; top: -3px'",
        Layout,
        "moved by 3 px up and 5 px left",
    ),
    fault(
        "text_right_by_1",
        "text.style.paddingLeft = '1px'",
        Layout,
        "moved by 1 px right",
    ),
    fault(
        "text_right_by_2",
        "text.style.paddingLeft = '2px'",
        Layout,
        "moved by 2 px right",
    ),
    fault(
        "down_by_8",
        "dark.style.marginTop = '8px'",
        Layout,
        "moved by 8 px down",
    ),
    fault(
        "no_picture",
        "logo.style.visibility = 'hidden'",
        Layout,
        "is gone: there is only background",
    ),
    fault(
        "new_text",
        "document.querySelector('header').innerHTML += '<b style=\"margin-left: auto\">New</b>'",
        Layout,
        "is new: there was only background",
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/picture")
}

fn read(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn png(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

/// The pictures with a fault, by name.
fn pictures_with_faults() -> BTreeMap<String, Vec<u8>> {
    let page = image::load_from_memory(&read("page.png"))
        .unwrap()
        .into_rgb8();
    let entries = std::fs::read_dir(folder().join("changes")).unwrap();
    let pictures = entries.map(|entry| {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (name, place) = stem.split_once('@').unwrap();
        let (x, y) = place.split_once(',').unwrap();
        let mut faulty = page.clone();
        let part = image::open(&path).unwrap().into_rgb8();
        faulty
            .copy_from(&part, x.parse().unwrap(), y.parse().unwrap())
            .unwrap();
        (name.to_owned(), png(&faulty))
    });
    pictures.collect()
}

fn compared(picture: &[u8]) -> PictureDifference {
    compare(&read("page.png"), picture, &PictureRules::default()).unwrap()
}

#[test]
fn letters_that_are_drawn_in_another_way_are_noise() {
    for (name, ..) in DRAWN {
        let found = compared(&read(&format!("{name}.png")));
        let result = &found.result;
        assert_eq!(result.verdict, VisualVerdict::Noise, "{name}: {result:?}");
        assert!(result.matches && result.different == 0.0, "{name}");
        assert_eq!(result.regions, [], "{name}");
        assert_eq!(found.picture, None, "{name}");
    }
}

#[test]
fn every_small_fault_is_found_and_said() {
    let pictures = pictures_with_faults();
    assert_eq!(pictures.len(), FAULTS.len());
    let mut wrong = Vec::new();
    for fault in FAULTS {
        let found = compared(&pictures[fault.name]).result;
        let is_expected = !found.matches
            && found.different > 0.0
            && found.verdict == fault.verdict
            && found.summary.contains(fault.said);
        if !is_expected {
            wrong.push(format!(
                "{}: {:?} {}",
                fault.name, found.verdict, found.summary
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn large_faults_are_found_where_letters_are_drawn_in_another_way_too() {
    // Most of what the page shows differs here; a fault among that has to be larger.
    let pictures = pictures_with_faults();
    let found = [
        "colour",
        "slight_colour",
        "no_picture",
        "no_border",
        "ticked",
        "right_by_2",
        "down_by_8",
        "underline",
    ];
    for name in found {
        let page = read("not_hinted.png");
        let result = compare(&page, &pictures[name], &PictureRules::default())
            .unwrap()
            .result;
        assert!(!result.matches, "{name}: {result:?}");
    }
}

#[test]
fn what_moved_is_told_with_its_place() {
    let pictures = pictures_with_faults();
    let down = compared(&pictures["down_by_8"]).result;
    assert_eq!(
        down.summary,
        "the area at 20,225 (354x69) moved by 8 px down"
    );
    let right = compared(&pictures["right_by_2"]).result;
    assert_eq!(
        right.summary,
        "the area at 35,162 (92x33) moved by 2 px right"
    );
}

/// Makes the pictures again, with the Chromium of this machine.
#[test]
#[ignore = "writes the pictures that the other tests read"]
fn makes_the_pictures_again() {
    let settings = font("hintslight", "none");
    let page = shot(settings, "");
    std::fs::write(folder().join("page.png"), png(&page)).unwrap();
    for (name, settings, script) in DRAWN {
        let drawn = shot(settings, script);
        assert_ne!(page, drawn, "{name} has no effect");
        std::fs::write(folder().join(format!("{name}.png")), png(&drawn)).unwrap();
    }
    let changes = folder().join("changes");
    std::fs::create_dir_all(&changes).unwrap();
    for entry in std::fs::read_dir(&changes).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for fault in FAULTS {
        let faulty = shot(settings, fault.script);
        let differing = faulty
            .enumerate_pixels()
            .filter(|(x, y, pixel)| page.get_pixel(*x, *y) != *pixel)
            .map(|(x, y, _)| (x, y));
        let (mut left, mut top, mut right, mut bottom) = (u32::MAX, u32::MAX, 0, 0);
        for (x, y) in differing {
            (left, top) = (left.min(x), top.min(y));
            (right, bottom) = (right.max(x + 1), bottom.max(y + 1));
        }
        assert!(right > 0, "{} has no effect", fault.name);
        let part = faulty
            .view(left, top, right - left, bottom - top)
            .to_image();
        let name = format!("{}@{left},{top}.png", fault.name);
        std::fs::write(changes.join(name), png(&part)).unwrap();
    }
}

fn shot(settings: FontSettings, script: &str) -> RgbImage {
    let temporary = tempfile::tempdir().unwrap();
    let fonts = temporary.path().join("fonts.conf");
    let edits = format!(
        "<edit name=\"antialias\" mode=\"assign\"><bool>true</bool></edit>\
         <edit name=\"hinting\" mode=\"assign\"><bool>{}</bool></edit>\
         <edit name=\"autohint\" mode=\"assign\"><bool>false</bool></edit>\
         <edit name=\"hintstyle\" mode=\"assign\"><const>{}</const></edit>\
         <edit name=\"rgba\" mode=\"assign\"><const>{}</const></edit>",
        settings.hinting != "hintnone",
        settings.hinting,
        settings.order
    );
    let text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>\
         <include>/etc/fonts/fonts.conf</include><match target=\"pattern\">{edits}</match>\
         <match target=\"font\">{edits}</match></fontconfig>"
    );
    std::fs::write(&fonts, text).unwrap();
    let picture = temporary.path().join("page.png");
    let script: String = script.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let status = Command::new("chromium")
        .env("FONTCONFIG_FILE", &fonts)
        .args("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run".split(' '))
        .args(
            "--disable-background-networking --disable-component-update --disable-sync".split(' '),
        )
        .args(
            "--hide-scrollbars --force-color-profile=srgb --force-device-scale-factor=1".split(' '),
        )
        .arg(format!(
            "--user-data-dir={}",
            temporary.path().join("profile").display()
        ))
        .arg(format!("--window-size={},{}", SIZE.0, SIZE.1))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!(
            "file://{}#{script}",
            folder().join("page.html").display()
        ))
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    image::open(&picture).unwrap().into_rgb8()
}

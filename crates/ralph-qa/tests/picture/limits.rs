//! Pictures that are none, or too large.

use std::io::Write as _;

use ralph_qa::picture::{PictureRules, compare};

const SMALL: &[u8] = include_bytes!("page.png");

fn error(before: &[u8], after: &[u8]) -> String {
    compare(before, after, &PictureRules::default())
        .unwrap_err()
        .to_string()
}

/// A chunk of a PNG.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut checked = kind.to_vec();
    checked.extend(data);
    let mut sum = u32::MAX;
    for byte in &checked {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (0_u32.wrapping_sub(sum & 1)));
        }
    }
    let mut chunk = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    chunk.extend(checked);
    chunk.extend((!sum).to_be_bytes());
    chunk
}

/// The beginning of a PNG that says this size.
fn header(width: u32, height: u32) -> Vec<u8> {
    let mut data = Vec::new();
    data.extend(width.to_be_bytes());
    data.extend(height.to_be_bytes());
    data.extend([8, 2, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(chunk(b"IHDR", &data));
    png
}

#[test]
fn a_huge_picture_is_refused_by_its_header() {
    let mut png = header(30_000, 30_000);
    png.extend(chunk(b"IDAT", &[]));
    assert_eq!(
        error(SMALL, &png),
        "the new picture is too large to be compared: 30000x30000 pixels (at most 64 million, 32768 a side)"
    );
    assert_eq!(
        error(&png, SMALL),
        "the baseline is too large to be compared: 30000x30000 pixels (at most 64 million, 32768 a side)"
    );
    // The same bytes twice are no way around it.
    assert!(error(&png, &png).contains("too large"));
    let mut narrow = header(1, 40_000);
    narrow.extend(chunk(b"IDAT", &[]));
    assert!(error(SMALL, &narrow).contains("1x40000"));
}

#[test]
fn what_is_no_png_is_named() {
    for broken in [
        &b""[..],
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        &SMALL[..SMALL.len() / 2],
    ] {
        let error = error(SMALL, broken);
        assert!(
            error.starts_with("the new picture is not a PNG that can be read: "),
            "{error}"
        );
    }
    assert!(error(&SMALL[..300], SMALL).starts_with("the baseline is not a PNG"));
}

#[test]
fn text_in_a_picture_that_unfolds_to_gigabytes_is_not_unfolded() {
    // 64 MB of zeros as 64 kB, said to be a text, a colour profile and the pixels of a small picture.
    let mut stored = Vec::new();
    stored.write_all(&[0x78, 0x9c]).unwrap();
    let block = [&[0_u8, 0xff, 0xff, 0, 0][..], &[0_u8; 65_535]].concat();
    for _ in 0..64 {
        stored.extend(&block);
    }
    let mut png = header(10, 10);
    for kind in [b"zTXt", b"iCCP"] {
        let mut data = b"name\0\0".to_vec();
        data.extend(&stored);
        png.extend(chunk(kind, &data));
    }
    png.extend(chunk(b"IDAT", &stored));
    png.extend(chunk(b"IEND", &[]));
    // Whatever comes of it, it ends soon, and nothing is kept of it.
    if let Err(error) = compare(SMALL, &png, &PictureRules::default()) {
        assert!(error.to_string().starts_with("the new picture"), "{error}");
    }
}

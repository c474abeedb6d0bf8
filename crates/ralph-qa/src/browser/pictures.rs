//! Pictures of a page that are the same each time: everything is loaded and has stopped moving first.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{page::FlowPage, targets::target_json};
use crate::{
    flow::{Screenshot, Target},
    result::{FailureKind, PixelArea, StepFailure},
};

/// The most pictures that are taken until two are alike.
const MOST_TRIES: usize = 12;

/// A picture of a page, not yet compared with anything.
#[derive(Debug, Clone)]
pub struct TakenPicture {
    pub png: Vec<u8>,
    /// Areas that must not be compared.
    pub masks: Vec<PixelArea>,
    pub url: String,
    pub title: String,
}

/// A part of a page, in its own coordinates.
#[derive(Debug, Clone, Copy)]
struct PageArea {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl FlowPage {
    pub(super) async fn take(
        &self,
        screenshot: &Screenshot,
        deadline: Instant,
    ) -> Result<TakenPicture, StepFailure> {
        let settled = self.ask("settle", &json!({}), deadline).await?;
        if settled["settled"] == false
            && let Some(why) = settled["why"].as_str()
        {
            self.record
                .note(format!("the picture was taken all the same: {why}"));
        }
        let taken = self.take_settled(screenshot, deadline).await;
        if !self.record.is_over() {
            self.ask("unsettle", &json!({}), deadline).await?;
        }
        taken
    }

    async fn take_settled(
        &self,
        screenshot: &Screenshot,
        deadline: Instant,
    ) -> Result<TakenPicture, StepFailure> {
        let metrics = self.session.begin("Page.getLayoutMetrics", json!({}));
        let metrics = self.within(deadline, metrics).await?;
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        let area = match (&screenshot.of, screenshot.full) {
            (Some(target), _) => self.area_of(target, deadline).await?,
            (None, true) => {
                let content = &metrics["cssContentSize"];
                PageArea {
                    x: 0.0,
                    y: 0.0,
                    width: number(&content["width"]),
                    height: number(&content["height"]),
                }
            }
            (None, false) => {
                let seen = &metrics["cssVisualViewport"];
                PageArea {
                    x: number(&seen["pageX"]),
                    y: number(&seen["pageY"]),
                    width: number(&seen["clientWidth"]),
                    height: number(&seen["clientHeight"]),
                }
            }
        };
        let is_viewport = screenshot.of.is_none() && !screenshot.full;
        let mut how = json!({"format": "png", "optimizeForSpeed": true});
        if !is_viewport {
            how["captureBeyondViewport"] = json!(true);
            how["clip"] = json!({
                "x": area.x,
                "y": area.y,
                "width": area.width,
                "height": area.height,
                "scale": 1,
            });
        }
        let png = self.stable(&how, deadline).await?;
        let masks = self.masks(&screenshot.mask, area, deadline).await?;
        Ok(TakenPicture {
            png,
            masks,
            url: self.url(),
            title: self.title().await,
        })
    }

    /// Takes pictures until two in a row are alike.
    async fn stable(&self, how: &Value, deadline: Instant) -> Result<Vec<u8>, StepFailure> {
        let mut last = self.capture(how, deadline).await?;
        for _ in 1..MOST_TRIES {
            let next = self.capture(how, deadline).await?;
            if next == last {
                return Ok(next);
            }
            last = next;
            if Instant::now() >= deadline {
                break;
            }
        }
        self.record
            .note("the page kept changing while its picture was taken");
        Ok(last)
    }

    /// The area of the one element that is meant, in whole pixels.
    async fn area_of(&self, target: &Target, deadline: Instant) -> Result<PageArea, StepFailure> {
        let wanted = json!({"target": target_json(target), "wants": "see"});
        let found = self.ask("ready", &wanted, deadline).await?;
        let state = found["state"].as_str().unwrap_or_default();
        if state != "ready" {
            return Err(self.unready(target, "seen", state, &found));
        }
        let boxes = self
            .ask(
                "boxes",
                &json!({"targets": [target_json(target)]}),
                deadline,
            )
            .await?;
        let area = boxes["boxes"].get(0).and_then(whole_area);
        area.ok_or_else(|| {
            super::failure::failure(
                FailureKind::NotActionable,
                format!("{target} can be seen"),
                "it has no area",
            )
        })
    }

    /// The areas of all elements that are masked, within the picture.
    async fn masks(
        &self,
        targets: &[Target],
        shown: PageArea,
        deadline: Instant,
    ) -> Result<Vec<PixelArea>, StepFailure> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Value> = targets.iter().map(target_json).collect();
        let found = self
            .ask("boxes", &json!({"targets": asked}), deadline)
            .await?;
        for missing in found["missing"].as_array().into_iter().flatten() {
            let index = missing
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            if let Some(target) = index.and_then(|index| targets.get(index)) {
                self.record.note(format!("nothing to mask is {target}"));
            }
        }
        let boxes = found["boxes"].as_array().into_iter().flatten();
        let areas = boxes.filter_map(whole_area);
        Ok(areas.filter_map(|area| within(area, shown)).collect())
    }
}

/// Reads a box, and widens it to whole pixels.
fn whole_area(value: &Value) -> Option<PageArea> {
    let read = |name: &str| value[name].as_f64();
    let (left, top) = (read("x")?.floor(), read("y")?.floor());
    let right = (read("x")? + read("width")?).ceil();
    let bottom = (read("y")? + read("height")?).ceil();
    let area = PageArea {
        x: left,
        y: top,
        width: right - left,
        height: bottom - top,
    };
    (area.width >= 1.0 && area.height >= 1.0).then_some(area)
}

/// The part of an area that is in a picture, in its pixels.
fn within(area: PageArea, shown: PageArea) -> Option<PixelArea> {
    let left = (area.x - shown.x).max(0.0);
    let top = (area.y - shown.y).max(0.0);
    let right = (area.x + area.width - shown.x).min(shown.width);
    let bottom = (area.y + area.height - shown.y).min(shown.height);
    (right > left && bottom > top).then(|| PixelArea {
        x: left as u32,
        y: top as u32,
        width: (right - left).ceil() as u32,
        height: (bottom - top).ceil() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_cut_to_the_picture() {
        let shown = PageArea {
            x: 0.0,
            y: 100.0,
            width: 200.0,
            height: 100.0,
        };
        let area =
            whole_area(&json!({"x": -10.5, "y": 150.2, "width": 50, "height": 500})).unwrap();
        let expected = PixelArea {
            x: 0,
            y: 50,
            width: 40,
            height: 50,
        };
        assert_eq!(within(area, shown), Some(expected));
        let above = whole_area(&json!({"x": 0, "y": 0, "width": 50, "height": 50})).unwrap();
        assert_eq!(within(above, shown), None);
    }
}

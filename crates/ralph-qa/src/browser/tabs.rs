//! Tabs that pages open: told to the page that opened them. Flows stay where they are.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::{Rc, Weak},
};

use serde_json::{Value, json};

use super::{
    failure::text_of,
    record::PageRecord,
    wire::{EventSink, Session, Wire},
};

/// Looks out for tabs, of all pages.
#[derive(Debug, Default)]
pub(super) struct TabWatch {
    /// By the target of the page.
    pages: RefCell<HashMap<String, Weak<PageRecord>>>,
    /// Tabs whose address is not known yet, with the page that opened each.
    opening: RefCell<HashMap<String, Weak<PageRecord>>>,
}

impl TabWatch {
    /// Has the browser tell of tabs.
    pub(super) fn begin(wire: &Wire) -> Rc<Self> {
        let watch = Rc::new(Self::default());
        let sink: Rc<dyn EventSink> = watch.clone();
        let browser = wire.browser();
        browser.listen(Rc::downgrade(&sink));
        let pages = json!([{"type": "page"}, {"exclude": true}]);
        browser.send(
            "Target.setDiscoverTargets",
            json!({"discover": true, "filter": pages}),
        );
        watch
    }

    pub(super) fn add(&self, target: &str, record: &Rc<PageRecord>) {
        let mut pages = self.pages.borrow_mut();
        pages.retain(|_, page| page.strong_count() > 0);
        pages.insert(target.to_owned(), Rc::downgrade(record));
    }
}

impl EventSink for TabWatch {
    fn take(&self, _session: &Session, event: &str, params: &Value) {
        let info = &params["targetInfo"];
        let (target, url) = (text_of(&info["targetId"]), text_of(&info["url"]));
        match event {
            "Target.targetCreated" => {
                let opener = self
                    .pages
                    .borrow()
                    .get(&text_of(&info["openerId"]))
                    .cloned();
                let Some(opener) = opener else {
                    return;
                };
                if let Some(record) = opener.upgrade() {
                    record.begin_tab();
                }
                self.opening.borrow_mut().insert(target.clone(), opener);
            }
            "Target.targetInfoChanged" | "Target.targetDestroyed" => {}
            _ => return,
        }
        let is_over = event == "Target.targetDestroyed";
        let target = if is_over {
            text_of(&params["targetId"])
        } else {
            target
        };
        let is_known = !url.is_empty() && url != "about:blank";
        if !is_known && !is_over {
            return;
        }
        let opener = self.opening.borrow_mut().remove(&target);
        if let Some(record) = opener.and_then(|opener| opener.upgrade()) {
            record.end_tab(&url);
        }
    }

    fn end(&self) {}
}

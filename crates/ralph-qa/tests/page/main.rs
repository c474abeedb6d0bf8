//! The library of pages in a real browser. `../pages` has a page and a table of what is asked of it, with the answers
//! that must come, for each part of the library; `table.rs` says how to read them.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod chromium;
mod site;
mod speed;
mod table;

use ralph_qa::page::{LIBRARY, WORLD};

/// All tables in one browser: what takes long is to start one.
#[tokio::test]
async fn answers_as_the_tables_say() {
    let site = site::Site::start().await;
    let browser = chromium::Chromium::start().await;
    let page = browser.page().await;
    let mut faults = Vec::new();
    let mut expectations = 0;
    for table in table::read_all() {
        let done = table::run(&table, &page, &site).await;
        expectations += done.expectations;
        faults.extend(done.faults);
    }
    browser.stop().await;
    assert!(
        faults.is_empty(),
        "{} of {expectations} failed:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(expectations >= 350, "only {expectations} were asked");
}

#[test]
fn is_one_script_that_defines_one_name() {
    assert_eq!(WORLD, "ralph");
    assert!(LIBRARY.starts_with("(() => {"));
    assert!(LIBRARY.ends_with("})();\n"));
}

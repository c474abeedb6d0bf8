//! How long the library takes on a large page.

use crate::chromium::Chromium;

/// The best of many rounds: what else runs on the machine makes some of them longer, and none shorter.
const ROUNDS: usize = 60;
const MOST_MILLISECONDS: f64 = 20.0;

#[tokio::test]
async fn finds_an_element_among_5000_in_20_ms() {
    let browser = Chromium::start().await;
    let page = browser.page().await;
    page.here(
        r#"document.body.innerHTML = "<table>" + Array.from({length: 500}, (_, i) =>
            `<tr><td>Row ${i}</td><td><a href="/r/${i}">Open ${i}</a></td><td><button>Edit ${i}</button></td>` +
            `<td><span>some</span> <b>text</b></td><td><input aria-label="n${i}"></td></tr>`).join("") + "</table>""#,
    )
    .await;
    let elements = page.here("document.querySelectorAll('*').length").await;
    assert!(elements.as_u64() > Some(5000), "{elements} elements");
    let mut slow = Vec::new();
    for target in [
        r#"{by: "role", role: "button", name: "Edit 321"}"#,
        r#"{by: "any", value: "Edit 321"}"#,
        r#"{by: "any", value: "Row 321"}"#,
        r#"{by: "text", value: "Row 321"}"#,
        r#"{by: "label", value: "n321"}"#,
        r#"{by: "css", value: "tr:nth-child(321) button"}"#,
    ] {
        let best = page
            .apart(&format!(
                r#"(async () => {{
                    let best = Infinity;
                    for (let round = 0; round < {ROUNDS} && best > {MOST_MILLISECONDS}; round += 1) {{
                        document.body.style.width = `${{900 + round}}px`;
                        document.body.getBoundingClientRect();
                        const start = performance.now();
                        const answer = await ralphPage.check({{check: {{kind: "element", target: {target}}}}});
                        if (!answer.ok) throw new Error(answer.actual);
                        best = Math.min(best, performance.now() - start);
                    }}
                    return best;
                }})()"#
            ))
            .await
            .as_f64()
            .unwrap();
        if best > MOST_MILLISECONDS {
            slow.push(format!("{target}: {best:.1} ms"));
        }
    }
    browser.stop().await;
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

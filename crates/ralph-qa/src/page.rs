//! The library that is put into every page: finds elements, waits until a user could act on them, checks the document.
//!
//! Knows no flows and sends no input: it answers where an element is, and the browser's own input events do the rest.
//!
//! It is evaluated once in each document, in an isolated world named [`WORLD`], and defines `ralphPage` there. Nothing
//! that a page does to its own `JSON`, `Date`, `setTimeout` or prototypes reaches that world, and the functions of the
//! DOM are taken from their prototypes, so that a form with a field named `parentNode` does not fool it either.
//!
//! Every function takes one object and answers with plain JSON; `limit` is in milliseconds, none or 0 is one look.
//!
//! | call | answer |
//! |---|---|
//! | `ready({target, wants, limit})` | `{state: "ready", x, y, box, tag, type, element, frame}`, `{state: "missing", nearest, why?}`, `{state: "ambiguous", matches, count}` or `{state: "blocked", why, element}` |
//! | `focus()` | `{focused, why?}`: of the element that `ready` chose (`ralphPage.chosen`) |
//! | `fill({append, text})` | `{typed: true}`: the value is set; `{typed: false}`: send the keys; with `why`: it can't be |
//! | `choose({options, limit})` | `{state: "done", chosen}` or `{state: "missing", there, why}` |
//! | `check({check, limit})` | `{ok: true, …}` or `{ok: false, kind, expected, actual, nearest, …}` |
//! | `outline({limit})` | `{lines: [{depth, role, name, value, state}], left_out, url, title}`; `limit` is a number of lines |
//! | `settle({limit})`, `unsettle()` | `{settled, why?}`, `{}`: the page holds still for a picture |
//! | `boxes({targets})` | `{boxes: [{target, x, y, width, height}], missing}`, in pixels of the page |
//!
//! `wants` is one of `click`, `hover`, `type`, `select`, `upload`, `focus`, `see`. A target is
//! `{by, value, role?, name?, nth?, within?, exact?}`, with `by` one of `any`, `role`, `text`, `label`, `placeholder`,
//! `testid`, `css`. Not `exact`, a part of the text is enough and case does not matter; where several match so and one
//! matches wholly, that one is meant. `within` a text is within its row, list item, group or dialog.
//!
//! Checks are told apart by `kind`, and wait until they hold:
//!
//! | kind | further keys | holds if |
//! |---|---|---|
//! | `text`, `no_text` | `text` | the page shows it, over the borders of elements; case counts, `text-transform` does not |
//! | `element`, `no_element` | `target` | at least one can be seen; none can |
//! | `count` | `target`, `least`, `most` | so many can be seen, all that match as a part included |
//! | `title` | `is` | it is the title; `*` is anything |
//! | `value` | `target`, `is` | it is the value, or the label of the chosen option; that of a password is never told |
//! | `state` | `target`, `state` | it is `checked`, `unchecked`, `enabled`, `disabled` or `focused` |
//! | `attribute`, `style` | `target`, `name`, `is` | it has it; addresses, colours and lengths are compared by what they mean |
//! | `tree` | `lines: [{depth, role, name}]` | the outline has these lines, in this order and nesting, with others between |
//! | `no_broken_images` | | every image decodes |
//! | `links` | | always; tells `links` (Rust asks for each) and `dead` fragments of this document |
//! | `no_overlap` | `target` or null | no text or control overlaps another, is cut off or sticks out; layers may |
//! | `accessible` | `names`, `contrast`, `except` | everything has a name, and texts the contrast of WCAG 2 AA; `not_judged` are texts over pictures |
//!
//! The last two and `no_broken_images` tell their `findings` one by one. Findings of the last two that do not change
//! for two seconds are final, whatever the limit is.
//!
//! Coordinates of `ready` are pixels of the viewport of the top frame. Open shadow roots and frames of the same origin
//! are a part of the page; only the library of the top frame is asked.

/// The name of the isolated world.
pub const WORLD: &str = "ralph";

/// The script that defines `ralphPage`. A second evaluation in the same document does nothing.
pub const LIBRARY: &str = concat!(
    "(() => {\n\"use strict\";\nif (Object.hasOwn(globalThis, \"ralphPage\") && ralphPage.document === document) return;\n",
    include_str!("page/natives.js"),
    include_str!("page/dom.js"),
    include_str!("page/generated.js"),
    include_str!("page/text.js"),
    include_str!("page/roles.js"),
    include_str!("page/names.js"),
    include_str!("page/describe.js"),
    include_str!("page/match.js"),
    include_str!("page/wait.js"),
    include_str!("page/act.js"),
    include_str!("page/outline.js"),
    include_str!("page/contrast.js"),
    include_str!("page/accessible.js"),
    include_str!("page/overlap.js"),
    include_str!("page/check.js"),
    include_str!("page/settle.js"),
    include_str!("page/library.js"),
    "})();\n",
);

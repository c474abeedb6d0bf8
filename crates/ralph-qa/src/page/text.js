// Texts: how they are compared, and what of them is rendered.

// Marks of writing direction, joiners of lines, and the private characters that fonts of icons use.
const UNSEEN = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff]/g;

// Most texts are plain already.
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** A text with single spaces, without marks that can't be seen. */
const collapse = (text) => (text === "" || PLAIN.test(text) ? text : collapseOdd(text));
const collapseOdd = (text) => text.replace(UNSEEN, "").replace(/\s+/g, " ").trim().normalize("NFC");

/** A text as it is compared where case does not matter. */
const fold = (text) => collapse(text).toLowerCase();

/** A text without any space, for a first quick look. */
const squeeze = (text) => text.replace(UNSEEN, "").replace(/\s+/g, "").normalize("NFC").toLowerCase();

const quoted = (text) => `"${text}"`;

/** A text cut to a length, with a mark where it was cut. */
const shorten = (text, most = 80) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** True if `text` is as `pattern` says, where `*` stands for anything. */
function matchesPattern(pattern, text) {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`, "u").test(text);
}

// The border between two boxes of one line. It separates words or does not: `<b>3</b><b>items</b>` as flex items looks
// like two words, letters that are animated one by one look like one.
const SOFT_BORDER = "\u0001";
const SOFT_BORDERS = /\u0001/g;

// Elements whose content is not rendered as text.
const WITHOUT_TEXT = new Set(["script", "style", "template", "noscript", "canvas", "video", "audio", "textarea", "datalist", "title", "desc", "metadata", "defs"]);

const BUTTON_INPUTS = { submit: "Submit", reset: "Reset", button: "" };

/** What stands on a button that is an input; null for other elements. */
function faceOfInput(el) {
  if (!isTag(el, "input") || !(el.type in BUTTON_INPUTS)) return null;
  return hasAttribute(el, "value") ? el.value : BUTTON_INPUTS[el.type];
}

/** All text inside a node, seen or not, folded and without spaces. A text that is seen is a part of it. */
function rawTextOf(node) {
  let text = pass.raw.get(node);
  if (text !== undefined) return text;
  if (isText(node)) {
    text = squeeze(dataOf(node));
  } else if (isSkipped(node)) {
    text = "";
  } else {
    const face = faceOfInput(node);
    text = face === null ? "" : squeeze(face);
    for (const child of childrenOf(node)) text += rawTextOf(child);
  }
  pass.raw.set(node, text);
  return text;
}

const isSkipped = (el) => WITHOUT_TEXT.has(localNameOf(el));

/**
 * The text of an element as it is rendered: `plain` as it is written, `shown` as CSS transforms it. Soft borders are
 * still in it.
 */
function renderedText(el) {
  let text = pass.texts.get(el);
  if (!text) pass.texts.set(el, (text = computeText(el, false)));
  return text;
}

const NO_TEXT = { plain: "", shown: "" };

function computeText(el, withGenerated) {
  if (isSkipped(el) || !isRendered(el) || isTransparent(el)) return NO_TEXT;
  const style = styleOf(el);
  const isSeen = style.visibility === "visible" && !isFolded(el) && !isFoldedAway(el);
  const face = isSeen ? faceOfInput(el) : null;
  if (face !== null) return bordered({ plain: face, shown: transformed(face, style) }, style);
  if (isTag(el, "br")) return { plain: " ", shown: " " };
  const text = { plain: "", shown: "" };
  const add = (plain, shown) => {
    text.plain += plain;
    text.shown += shown;
  };
  if (withGenerated && isSeen) add(...twice(generatedText(el, "::before")));
  for (const child of isTag(el, "select") && isDropDown(el) ? el.selectedOptions : childrenOf(el)) {
    if (isText(child)) {
      if (!isSeen) continue;
      const data = dataOf(child);
      add(data, transformed(data, style));
    } else {
      const inner = withGenerated ? computeText(child, true) : renderedText(child);
      add(inner.plain, inner.shown);
    }
  }
  if (withGenerated && isSeen) add(...twice(generatedText(el, "::after")));
  return bordered(text, style);
}

const twice = (value) => [value, value];

function bordered({ plain, shown }, style) {
  const { display } = style;
  if (display === "inline" || display === "contents" || display.startsWith("ruby")) return { plain, shown };
  const border = display.startsWith("inline") ? SOFT_BORDER : " ";
  return { plain: border + plain + border, shown: border + shown + border };
}

function transformed(text, style) {
  switch (style.textTransform) {
    case "uppercase":
      return text.toUpperCase();
    case "lowercase":
      return text.toLowerCase();
    case "capitalize":
      return text.replace(/(^|[\s\p{P}])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase());
    default:
      return text;
  }
}

const isDropDown = (select) => !select.multiple && select.size <= 1;

/** The ways to read a rendered text: as written and as shown, words parted at soft borders or not. */
function readings({ plain, shown }) {
  const texts = plain === shown ? [plain] : [plain, shown];
  return [...new Set(texts.flatMap((text) => [collapse(text.replace(SOFT_BORDERS, " ")), collapse(text.replace(SOFT_BORDERS, ""))]))];
}

const readingsOf = (el) => readings(renderedText(el));

/** The rendered text of an element, for people. */
const visibleText = (el) => collapse(renderedText(el).shown.replace(SOFT_BORDERS, " "));

/** The innermost elements below `root` whose rendered text has a reading that is wanted. `squeezed` is part of it. */
function innermostWithText(root, squeezed, isWanted) {
  const found = [];
  const descend = (el) => {
    if (!rawTextOf(el).includes(squeezed) || !mayShow(el)) return false;
    let inside = false;
    const children = isTag(el, "select") && isDropDown(el) ? [] : childrenOf(el);
    for (const child of children) if (!isText(child) && descend(child)) inside = true;
    if (inside) return true;
    if (!readingsOf(el).some(isWanted)) return false;
    found.push(el);
    return true;
  };
  descend(root);
  return found;
}

// What is inside an element with `visibility: hidden` may be visible again; what is inside `display: none` never.
const mayShow = (el) => isRendered(el) || styleOf(el).display !== "none";

// Text that CSS generates before and after the content of elements.
//
// To ask for the style of two pseudo-elements of each element is what takes longest in a search by name. So the rules
// are read once, and only the elements that one of them may be for are asked.

// What the sheets of a root say, with the sheets and the numbers of their rules, by which a change is noticed.
const GENERATING = new WeakMap();
// With more rules than these (fonts of icons have thousands), to ask each element is quicker.
const SELECTORS_MOST = 60;

/** The text that CSS puts before or after the content of an element. */
function generatedText(el, pseudo) {
  if (!mayGenerate(el)) return "";
  const { content } = getComputedStyle(el, pseudo);
  if (content === "none" || content === "normal" || content === "") return "";
  const alternative = content.lastIndexOf(" / ");
  const said = alternative >= 0 && !/"[^"]* \/ [^"]*"$/.test(content) ? content.slice(alternative) : content;
  return Array.from(said.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text]) => text.replace(/\\(.)/g, "$1")).join("");
}

function mayGenerate(el) {
  if (localNameOf(el) === "q") return true;
  const root = rootOf(el);
  let generating = pass.generating.get(root);
  if (generating === undefined) pass.generating.set(root, (generating = generatingIn(root)));
  return generating === true || (generating !== false && generating.has(el));
}

/** The elements of a root that rules with generated text are for; true if that can be any, false if there are none. */
function generatingIn(root) {
  const type = typeOfNode(root);
  if (type !== NODE_DOCUMENT && type !== NODE_FRAGMENT) return true;
  const sheets = sheetsOf(root);
  if (sheets === null) return true;
  const counts = sheets.map((sheet) => sheet.cssRules.length);
  let known = GENERATING.get(root);
  if (!known || !sameItems(known.sheets, sheets) || !sameItems(known.counts, counts)) {
    known = { sheets, counts, selectors: [] };
    for (const sheet of sheets) if (known.selectors !== null && !readRules(sheet.cssRules, known.selectors)) known.selectors = null;
    GENERATING.set(root, known);
  }
  if (known.selectors === null || known.selectors.length > SELECTORS_MOST) return true;
  return known.selectors.length === 0 ? false : new Set(selectAllIn(root, known.selectors.join(", ")));
}

const sameItems = (some, others) => some.length === others.length && some.every((item, at) => item === others[at]);

/** The sheets of a root; null if one of them can't be read: it is of another origin. */
function sheetsOf(root) {
  const isDocument = typeOfNode(root) === NODE_DOCUMENT;
  try {
    const sheets = [...(isDocument ? sheetsOfDocument(root) : sheetsOfShadow(root)), ...(isDocument ? adoptedByDocument(root) : adoptedByShadow(root))];
    for (const sheet of sheets) void sheet.cssRules;
    return sheets;
  } catch {
    return null;
  }
}

const GENERATED = /::?(before|after)\b/;

/** Adds the selectors of rules that generate text; false if one of them can't be told from its text. */
function readRules(rules, selectors) {
  for (const rule of rules) {
    const selector = rule.selectorText;
    if (selector !== undefined) {
      if (rule.cssRules?.length > 0 && GENERATED.test(rule.cssText)) return false;
      if (!GENERATED.test(selector) || !/content/.test(rule.style?.cssText)) continue;
      if (/::slotted|::part|:host|&/.test(selector) || !addSelectors(selector, selectors)) return false;
    } else if (rule.styleSheet) {
      try {
        if (!readRules(rule.styleSheet.cssRules, selectors)) return false;
      } catch {
        return false;
      }
    } else if (rule.cssRules && !readRules(rule.cssRules, selectors)) {
      return false;
    }
  }
  return true;
}

/** Adds the selectors of the elements that a selector of pseudo-elements belongs to. */
function addSelectors(selector, selectors) {
  // A comma in brackets does not part two selectors, and such selectors are rare.
  if (/[("'[].*,.*[)"'\]]/.test(selector)) return false;
  for (const one of selector.split(",")) {
    if (!GENERATED.test(one)) continue;
    const plain = one.replace(/::?(before|after)\b.*$/, "").trim();
    selectors.push(plain === "" || /[\s>+~]$/.test(plain) ? `${plain}*` : plain);
  }
  return true;
}

// Faults of a page for people who use assistive technology, or see less well.

const FINDINGS_MOST = 20;
const NEEDS_NAME = new Set([
  ...["button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "radio"],
  ...["searchbox", "slider", "spinbutton", "switch", "tab", "textbox"],
]);

/** `{findings, notJudged}`: every fault as a sentence. */
function findInaccessible({ names, contrast, except }) {
  const left = leftOut(except ?? []);
  const judged = (el) => !left.some((other) => holds(other, el));
  const findings = [];
  let notJudged = 0;
  if (names !== false) findings.push(...nameFindings(judged));
  if (contrast !== false) {
    const found = contrastFindings(judged);
    findings.push(...found.findings);
    notJudged = found.notJudged;
  }
  return { findings: counted(findings), notJudged };
}

/** Findings without repetition, with the number of times. */
function counted(findings) {
  const times = new Map();
  for (const finding of findings) times.set(finding, (times.get(finding) ?? 0) + 1);
  return Array.from(times, ([finding, count]) => (count > 1 ? `${finding} (${count} times)` : finding));
}

function leftOut(selectors) {
  return selectors.flatMap((selector) => {
    try {
      return allRoots().flatMap((root) => Array.from(selectAllIn(root, selector)));
    } catch {
      return [];
    }
  });
}

function nameFindings(judged) {
  const findings = [];
  const root = documentElementOf(theDocument);
  if (root && judged(root) && !collapse(attributeOf(root, "lang") ?? "")) findings.push("<html> has no lang: the language of the page is not known");
  for (const el of allElements()) {
    // An empty heading has no height, and is read out nevertheless.
    const isThere = isExposed(el) || (roleOf(el) === "heading" && isRendered(el) && !isAriaHidden(el) && !isInert(el));
    if (!isThere || !judged(el)) continue;
    const fault = nameFault(el, roleOf(el));
    if (fault) findings.push(fault);
  }
  findings.push(...duplicateIdFindings(judged));
  return findings;
}

function nameFault(el, role) {
  if (isTag(el, "img") && role === "img" && !hasAttribute(el, "alt") && nameOf(el) === "") return `img ${tagText(el)} has no alt`;
  if (role === "heading" && nameOf(el) === "") return `heading ${tagText(el)} is empty`;
  if (isTag(el, "iframe") && nameOf(el) === "" && !isFocusableOut(el)) return `iframe ${tagText(el)} has no title`;
  if (NEEDS_NAME.has(role) && nameOf(el) === "") return `${role} ${tagText(el)} has no name`;
  if (role === "img" && !isTag(el, "img") && hasAttribute(el, "role") && nameOf(el) === "") return `img ${tagText(el)} has no name`;
  if ((role === "dialog" || role === "alertdialog") && nameOf(el) === "") return `${role} ${tagText(el)} has no name`;
  return null;
}

const isFocusableOut = (el) => attributeOf(el, "tabindex") === "-1";

/** Ids that stand twice in a tree, and that a label refers to. */
function duplicateIdFindings(judged) {
  const counts = new Map();
  const referred = new Map();
  for (const el of allElements()) {
    const root = rootOf(el);
    if (!counts.has(root)) {
      counts.set(root, new Map());
      referred.set(root, new Map());
    }
    const id = attributeOf(el, "id");
    if (id) counts.get(root).set(id, (counts.get(root).get(id) ?? 0) + 1);
    if (!judged(el)) continue;
    const ids = [isTag(el, "label") ? attributeOf(el, "for") : null, ...["aria-labelledby", "aria-describedby", "aria-controls"].map((name) => attributeOf(el, name))];
    for (const value of ids) for (const one of (value ?? "").split(/\s+/)) if (one) referred.get(root).set(one, el);
  }
  const findings = [];
  for (const [root, ids] of counts) {
    for (const [id, count] of ids) {
      const by = count > 1 ? referred.get(root).get(id) : null;
      if (by) findings.push(`id ${quoted(id)} is there ${count} times, and ${tagText(by)} refers to it`);
    }
  }
  return findings;
}

function contrastFindings(judged) {
  const found = new Map();
  let notJudged = 0;
  for (const el of allElements()) {
    const shown = shownTextOf(el);
    if (!shown || !judged(el) || isAriaHidden(el) || isInert(el) || isTransparent(el) || isForScreenReaders(el) || isInactive(el)) continue;
    const verdict = judgeContrast(el, shown.colour, shown.rect);
    if (verdict === NOT_JUDGED || (verdict.ratio < verdict.needed && standsOverOther(el, shown.rect))) {
      notJudged += 1;
      continue;
    }
    if (verdict.ratio >= verdict.needed) continue;
    const ratio = Math.floor(verdict.ratio * 10) / 10;
    const colours = `${hexOf(verdict.text)} on ${hexOf(verdict.behind)}`;
    const key = `${colours} ${verdict.needed}`;
    const same = found.get(key);
    if (same) same.more += 1;
    else found.set(key, { said: `text ${quoted(shorten(shown.text, 40))} has a contrast of ${ratio}, ${verdict.needed} is needed (${colours})`, more: 0 });
  }
  const findings = Array.from(found.values(), ({ said, more }) => (more > 0 ? `${said}, and ${more} more like it` : said));
  return { findings, notJudged };
}

/** The text that an element itself shows, with its colour and the place of its first line; null if there is none. */
function shownTextOf(el) {
  if (isSkipped(el) && !isTag(el, "textarea")) return null;
  if (isSvg(el)) return null;
  const field = isTag(el, "input") || isTag(el, "textarea") ? fieldText(el) : null;
  const text = field ?? ownText(el);
  // Signs that only decorate need no contrast.
  if (!/[\p{L}\p{N}]/u.test(text) || !isVisible(el)) return null;
  const style = styleOf(el);
  if (style.visibility !== "visible") return null;
  const colour = colourOf(style.webkitTextFillColor || style.color);
  if (colour[3] === 0) return null;
  if (field !== null || isTag(el, "select")) return { text: collapse(text), colour, rect: rectOf(el) };
  for (const child of lightChildren(el)) {
    if (!isText(child)) continue;
    const [rect] = textRects(child);
    if (rect && rect.right > 0 - theWindow.scrollX) return { text: collapse(text), colour, rect };
  }
  return null;
}

function fieldText(el) {
  if (isTag(el, "textarea")) return el.value;
  const face = faceOfInput(el);
  if (face !== null) return face;
  return isTypable(el) && !["password", "color", "range"].includes(el.type) ? el.value : "";
}

function ownText(el) {
  if (isTag(el, "select")) return isDropDown(el) ? (el.selectedOptions[0]?.label ?? "") : "";
  let text = "";
  for (let child = firstChildOf(el); child; child = nextSiblingOf(child)) if (isText(child)) text += dataOf(child);
  return collapse(text);
}

/** True for texts of things that can't be used now, whose contrast is left open. */
function isInactive(el) {
  if (disabledBy(el)) return true;
  const label = closestWhere(el, (at) => isTag(at, "label"));
  return Boolean(label?.control && disabledBy(label.control));
}

const PICTURES = new Set(["img", "video", "canvas", "svg", "picture", "iframe", "object", "embed"]);

/** True if something that is not around a text is painted where it stands, so that its background is not known. */
function standsOverOther(el, rect) {
  const doc = documentOf(el);
  for (const other of allElements()) {
    if (other === el || documentOf(other) !== doc) continue;
    const paint = paintOf(other);
    const paints = PICTURES.has(localNameOf(other)) || paint.image || paint.background[3] > 0;
    if (!paints || !intersection(rectOf(other), rect) || !isVisible(other)) continue;
    if (!holds(other, el) && !holds(el, other)) return true;
  }
  return false;
}

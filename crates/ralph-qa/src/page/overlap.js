// Faults of layout: texts and controls that lie on each other, are cut off, or stick out of the page.

const EVERYWHERE = { x: -1e9, y: -1e9, width: 2e9, height: 2e9 };

/** Every fault of layout of what is inside `scope` (the whole page if it is null), as a sentence. */
function findOverlaps(scope) {
  const things = layoutThings();
  const inside = scope === null ? things : things.filter(({ el }) => holds(scope, el));
  const findings = new Set();
  for (const finding of pairFindings(things, scope)) findings.add(finding);
  for (const thing of inside) {
    const cut = thing.kind === "text" ? (cutOffFault(thing) ?? sticksOutFault(thing)) : null;
    if (cut) findings.add(cut);
    const wide = widerThanPage(thing);
    if (wide) findings.add(wide);
  }
  if (scope === null || isRoot(scope)) {
    const root = documentElementOf(theDocument);
    const wider = scrollWidthOf(root) - clientWidthOf(root);
    if (wider > 1 && findings.size === 0) findings.add(`the page is ${wider} px wider than its view${widestText(clientWidthOf(root))}`);
  }
  return [...findings];
}

/** Lines of text and boxes of controls that a user can see, clipped as they are shown. */
function layoutThings() {
  const clips = new Map();
  const rotated = new Map();
  const things = [];
  for (const el of allElements()) {
    if (isSvg(el) || isSkipped(el) || !isRendered(el)) continue;
    const isControl = isBoxedControl(el);
    const texts = lightChildren(el).filter((node) => isText(node) && dataOf(node).trim() !== "");
    if (!isControl && texts.length === 0) continue;
    if (isAriaHidden(el) || isTransparent(el) || isForScreenReaders(el) || isRotated(el, rotated)) continue;
    if (isControl) addThing(things, el, "control", rectOf(el), rectOf(el), outerClip(el, clips));
    if (styleOf(el).visibility !== "visible" || isTag(el, "option")) continue;
    const clip = innerClip(el, clips);
    const lines = texts.flatMap(textRects);
    for (const line of lines) addThing(things, el, "text", tightened(line, el), line, clip, lines.length);
  }
  return things;
}

function addThing(things, el, kind, rect, full, clip, lines = 1) {
  const shown = intersection(rect, clip);
  if (shown) things.push({ el, kind, shown, full, lines, at: things.length });
}

/** A control with a box of its own to be seen: not a link in a text, and not a transparent layer. */
function isBoxedControl(el) {
  const role = roleOf(el);
  if (!ACTED_ROLES.has(role) || role === "option" || role === "gridcell" || !hasSize(el)) return false;
  const style = styleOf(el);
  if (style.display === "inline" && !["img", "input", "select", "textarea", "button"].includes(localNameOf(el))) return false;
  return ["input", "select", "textarea"].includes(localNameOf(el)) || rawTextOf(el) !== "" || isPainted(style);
}

function isPainted(style) {
  if (colourOf(style.backgroundColor)[3] > 0 || style.backgroundImage !== "none") return true;
  return ["Top", "Right", "Bottom", "Left"].some((side) => style[`border${side}Style`] !== "none" && Number.parseFloat(style[`border${side}Width`]) > 0 && colourOf(style[`border${side}Color`])[3] > 0);
}

/** The part of a line in which letters are: lines that are set close together share the rest. */
function tightened(line, el) {
  if (styleOf(el).writingMode !== "horizontal-tb") return { x: line.x + line.width / 4, y: line.y + 1, width: line.width / 2, height: Math.max(0, line.height - 2) };
  return { x: line.x + 1, y: line.y + line.height * 0.25, width: Math.max(0, line.width - 2), height: line.height * 0.52 };
}

/** The area in which the box of an element is shown. */
function outerClip(el, clips) {
  const { position } = styleOf(el);
  if (position === "fixed") return EVERYWHERE;
  let around = parentOf(el);
  if (position === "absolute") around = closestWhere(around, (at) => isContainingBlock(styleOf(at)));
  return around === null || documentOf(around) !== documentOf(el) ? EVERYWHERE : innerClip(around, clips);
}

const isContainingBlock = (style) => style.position !== "static" || style.transform !== "none" || style.contain.includes("paint");

/** The area in which the content of an element is shown. */
function innerClip(el, clips) {
  let clip = clips.get(el);
  if (clip === undefined) {
    clip = outerClip(el, clips);
    const style = styleOf(el);
    if (!isRoot(el) && style.display !== "inline" && style.display !== "contents" && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      clip = intersection(clip, paddingBox(el)) ?? { x: -1e9, y: -1e9, width: 0, height: 0 };
    }
    clips.set(el, clip);
  }
  return clip;
}

function paddingBox(el) {
  const rect = rectOf(el);
  return { x: rect.x + clientLeftOf(el), y: rect.y + clientTopOf(el), width: clientWidthOf(el), height: clientHeightOf(el) };
}

/** True if a box around the element says little of where it is painted. */
function isRotated(el, known) {
  let rotated = known.get(el);
  if (rotated === undefined) {
    const style = styleOf(el);
    const matrix = /^matrix\(([^)]*)\)$/.exec(style.transform);
    const turns = matrix ? matrix[1].split(",").slice(1, 3).some((value) => Math.abs(Number(value)) > 0.01) : style.transform.startsWith("matrix3d");
    const parent = parentOf(el);
    rotated = turns || (style.rotate !== "none" && style.rotate !== "0deg") || (parent !== null && isRotated(parent, known));
    known.set(el, rotated);
  }
  return rotated;
}

// --- things that lie on each other ----------------------------------------------------------------------------------

function* pairFindings(things, scope) {
  const byTop = [...things].sort((one, other) => one.shown.y - other.shown.y);
  for (const [at, upper] of byTop.entries()) {
    for (let next = at + 1; next < byTop.length && byTop[next].shown.y < upper.shown.y + upper.shown.height; next += 1) {
      const [first, second] = upper.at < byTop[next].at ? [upper, byTop[next]] : [byTop[next], upper];
      const common = intersection(first.shown, second.shown);
      if (!common || !isNoticeable(first, second, common)) continue;
      if (scope !== null && !holds(scope, first.el) && !holds(scope, second.el)) continue;
      if (belongTogether(first, second) || isLayered(first, second, common)) continue;
      yield `${thingText(second)} overlaps ${thingText(first)} by ${Math.round(common.width)}x${Math.round(common.height)} px`;
    }
  }
}

function isNoticeable(first, second, common) {
  const least = first.kind === "control" && second.kind === "control" ? 4 : 2;
  return common.width >= least && common.height >= least;
}

/** True for things that are parts of one: an element and what is in it, a label and its control. */
function belongTogether({ el: one, kind: oneKind }, { el: other, kind: otherKind }) {
  if (documentOf(one) !== documentOf(other) || holds(one, other) || holds(other, one)) return true;
  for (const [text, control] of [[one, other], [other, one]]) {
    const label = closestWhere(text, (at) => isTag(at, "label"));
    if (label && (label.control === control || (label.control && holds(control, label.control)))) return true;
    // A sign or a button inside the box of a field.
    if (isField(control) && isOutOfFlow(text, control) && containsRect(rectOf(control), rectOf(text))) return true;
  }
  if (oneKind === "text" && otherKind === "text") {
    const button = closestWhere(one, (at) => ACTED_ROLES.has(roleOf(at)));
    if (button && isField(button) && holds(button, other)) return true;
  }
  return isBadge(one, other) || isBadge(other, one);
}

const isField = (el) => ["input", "select", "textarea"].includes(localNameOf(el));

const containsRect = (outer, inner) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;

/** The element around `el`, without `other`, that was taken out of the flow; null if there is none. */
function layerOf(el, other) {
  return closestWhere(el, (at) => !holds(at, other) && (isTag(at, "dialog") || hasAttribute(at, "popover") || ["fixed", "absolute", "sticky"].includes(styleOf(at).position)));
}

const isOutOfFlow = (el, other) => layerOf(el, other) !== null;

/** True for a small sign at the corner of something: a number of messages, a dot. */
function isBadge(el, other) {
  const layer = layerOf(el, other);
  if (!layer) return false;
  const rect = rectOf(layer);
  return rect.width <= 36 && rect.height <= 28 && !ACTED_ROLES.has(roleOf(layer));
}

/** True if one of two things is in a layer that is meant to lie over the other: a menu, a dialog, a fixed header. */
function isLayered(first, second, common) {
  const hit = hitInDocument(first.el, common);
  if (hit && !isRoot(hit) && !holds(first.el, hit) && !holds(second.el, hit) && !holds(hit, first.el) && !holds(hit, second.el)) return true;
  return liesInLayer(first, second, common) || liesInLayer(second, first, common);
}

function liesInLayer(one, other, common) {
  let isPaintedOver = false;
  for (let at = one.el; at && !holds(at, other.el); at = parentOf(at)) {
    const style = styleOf(at);
    if (["fixed", "sticky"].includes(style.position) || isTag(at, "dialog") || hasAttribute(at, "popover")) return true;
    if (at === one.el && one.kind === "control") continue;
    isPaintedOver ||= (colourOf(style.backgroundColor)[3] > 0.9 || style.backgroundImage !== "none") && intersection(rectOf(at), common) !== null;
    if (isPaintedOver && style.position === "absolute") return true;
  }
  return false;
}

function hitInDocument(el, common) {
  const point = topRect(common, documentOf(el));
  return hitAt(point.x + point.width / 2, point.y + point.height / 2);
}

function thingText({ el, kind, full }) {
  if (kind === "control") return describe(el);
  const text = visibleText(el) || collapse(plainTextOf(el));
  return full.width > 0 ? `text ${quoted(shorten(text, 40))}` : describe(el);
}

// --- texts that are cut off, or leave their box ---------------------------------------------------------------------

function cutOffFault(thing) {
  const { el, full, lines } = thing;
  let owner = el;
  for (let level = 0; owner && level < 3; level += 1, owner = parentOf(owner)) {
    const style = styleOf(owner);
    if (style.display === "inline" || style.display === "contents") continue;
    if (isRoot(owner) || style.position === "absolute" || style.position === "fixed") return null;
    const box = paddingBox(owner);
    if (isCut(style.overflowX) && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none" && owner.scrollLeft === 0) {
      const shown = Math.min(full.right, box.x + box.width) - Math.max(full.left, box.x);
      if (shown > 2 && full.width - shown > 3) return cutOffText(thing, owner, shown, full.width, "wide");
    }
    if (level === 0 && lines === 1 && isCut(style.overflowY) && owner.scrollTop === 0) {
      const shown = Math.min(full.bottom, box.y + box.height) - Math.max(full.top, box.y);
      if (shown > 2 && shown < full.height * 0.6) return cutOffText(thing, owner, shown, full.height, "high");
    }
  }
  return null;
}

const isCut = (overflow) => overflow === "hidden" || overflow === "clip";

const cutOffText = (thing, owner, shown, size, way) => `${thingText(thing)} is cut off by ${tagText(owner)}: ${Math.round(shown)} of ${Math.round(size)} px are shown (${way})`;

/** A text that is wider than the painted box around it. */
function sticksOutFault(thing) {
  const { el, full } = thing;
  for (let at = el, level = 0; at && level < 4; at = parentOf(at), level += 1) {
    const style = styleOf(at);
    if (isRoot(at) || style.position === "absolute" || style.position === "fixed") return null;
    if (style.display === "inline" || style.display === "contents") continue;
    if (style.overflowX !== "visible") return null;
    if (!isPainted(style)) continue;
    const rect = rectOf(at);
    const out = Math.max(full.right - rect.right, rect.left - full.left);
    if (out > 3 && intersection(full, rect)) return `${thingText(thing)} sticks out of ${describeBox(at)} by ${Math.round(out)} px`;
    return null;
  }
  return null;
}

const describeBox = (el) => (ACTED_ROLES.has(roleOf(el)) ? describe(el) : tagText(el));

/** A thing that is partly outside of the page at its left or its right. */
function widerThanPage(thing) {
  if (documentOf(thing.el) !== theDocument) return null;
  const width = clientWidthOf(documentElementOf(theDocument));
  const left = thing.shown.x + theWindow.scrollX;
  const right = left + thing.shown.width;
  // What is beyond an edge as a whole is not seen, unless the page can be scrolled to it.
  const root = documentElementOf(theDocument);
  const scrolls = scrollWidthOf(root) > width + 1 && !isCut(styleOf(root).overflowX) && !isCut(styleOf(bodyOf(theDocument) ?? root).overflowX);
  const toLeft = styleOf(root).direction === "rtl";
  if ((left >= width && (!scrolls || toLeft)) || (right <= 0 && (!scrolls || !toLeft))) return null;
  if (right > width + 2) return `${thingText(thing)} sticks out of the page by ${Math.round(right - width)} px at the right`;
  if (left < -2) return `${thingText(thing)} sticks out of the page by ${Math.round(-left)} px at the left`;
  return null;
}

function widestText(width) {
  for (const el of allElements()) {
    if (isRoot(el) || !isVisible(el) || documentOf(el) !== theDocument) continue;
    const rect = rectOf(el);
    const left = rect.left + theWindow.scrollX;
    const right = rect.right + theWindow.scrollX;
    if ((right > width + 1 && left < width) || (left < -1 && right > 0)) return `: ${tagText(el)} sticks out of it`;
  }
  return "";
}

// The tree as it is rendered (open shadow roots and same-origin frames included), and what of it can be seen.

// What was worked out about elements in one look at the page. Nothing of it holds after the page had a chance to run.
let pass;
function beginPass() {
  pass = {
    elements: null,
    labels: null,
    paints: new Map(),
    canvas: null,
    styles: new Map(),
    rendered: new Map(),
    visible: new Map(),
    folded: new Map(),
    ariaHidden: new Map(),
    inert: new Map(),
    roles: new Map(),
    names: new Map(),
    raw: new Map(),
    texts: new Map(),
    frames: new Map(),
    generating: new Map(),
    modal: undefined,
  };
}
beginPass();

const isElement = (node) => typeOfNode(node) === NODE_ELEMENT;
const isText = (node) => typeOfNode(node) === NODE_TEXT;
const isHtml = (el) => namespaceOf(el) === "http://www.w3.org/1999/xhtml";
const isSvg = (el) => namespaceOf(el) === "http://www.w3.org/2000/svg";
const isTag = (el, name) => localNameOf(el) === name && isHtml(el);

function frameDocument(el) {
  const name = localNameOf(el);
  if (name !== "iframe" && name !== "frame" && name !== "object") return null;
  if (!isHtml(el)) return null;
  try {
    return el.contentDocument ?? null;
  } catch {
    return null;
  }
}

/** The element of the page around that shows a document; null for the outermost one. */
function frameElementOf(doc) {
  if (doc === theDocument) return null;
  try {
    return windowOf(doc)?.frameElement ?? null;
  } catch {
    return null;
  }
}

/** The nodes that are rendered inside a node. */
function childrenOf(node) {
  if (isElement(node)) {
    const shadow = shadowOf(node);
    if (shadow) return lightChildren(shadow);
    if (isTag(node, "slot")) {
      const assigned = node.assignedNodes();
      if (assigned.length > 0) return assigned;
    }
    const inner = frameDocument(node);
    if (inner) return lightChildren(inner);
  }
  return lightChildren(node);
}

function lightChildren(node) {
  const children = [];
  for (let child = firstChildOf(node); child; child = nextSiblingOf(child)) {
    const type = typeOfNode(child);
    if (type === NODE_ELEMENT || type === NODE_TEXT) children.push(child);
  }
  return children;
}

/** The element that a node is rendered in. */
function parentOf(node) {
  const slot = isElement(node) ? slotOfElement(node) : isText(node) ? slotOfText(node) : null;
  if (slot) return slot;
  const parent = lightParent(node);
  if (!parent) return null;
  const type = typeOfNode(parent);
  if (type === NODE_ELEMENT) return parent;
  if (type === NODE_FRAGMENT) return "host" in parent ? hostOf(parent) : null;
  return type === NODE_DOCUMENT ? frameElementOf(parent) : null;
}

function* ancestorsOf(el) {
  for (let at = parentOf(el); at; at = parentOf(at)) yield at;
}

/** True if `outer` is `inner`, or has it inside. */
function holds(outer, inner) {
  for (let at = inner; at; at = parentOf(at)) if (at === outer) return true;
  return false;
}

function closestWhere(el, condition) {
  for (let at = el; at; at = parentOf(at)) if (condition(at)) return at;
  return null;
}

/** All elements of the page, in the order of the document. */
function allElements() {
  if (!pass.elements) {
    pass.elements = [];
    collectElements(theDocument, pass.elements);
  }
  return pass.elements;
}

function collectElements(root, into) {
  for (const el of selectAllIn(root, "*")) {
    into.push(el);
    const shadow = shadowOf(el);
    if (shadow) collectElements(shadow, into);
    const inner = frameDocument(el);
    if (inner) collectElements(inner, into);
  }
}

/** The documents and shadow roots of the page. */
function allRoots() {
  const roots = [theDocument];
  for (const el of allElements()) {
    const shadow = shadowOf(el);
    if (shadow) roots.push(shadow);
    const inner = frameDocument(el);
    if (inner) roots.push(inner);
  }
  return roots;
}

const allDocuments = () => allRoots().filter((root) => typeOfNode(root) === NODE_DOCUMENT);

function styleOf(el) {
  let style = pass.styles.get(el);
  if (!style) pass.styles.set(el, (style = getComputedStyle(el)));
  return style;
}

/** The elements that an attribute names by their ids. */
function referencedBy(el, attribute) {
  const ids = attributeOf(el, attribute);
  if (!ids) return [];
  const root = rootOf(el);
  const type = typeOfNode(root);
  if (type !== NODE_DOCUMENT && type !== NODE_FRAGMENT) return [];
  return ids
    .split(/\s+/)
    .filter(Boolean)
    .map((id) => byIdIn(root, id))
    .filter(Boolean);
}

/** True if the element takes part in the rendering: not `display: none`, `visibility: hidden`, or in closed details. */
function isRendered(el) {
  let rendered = pass.rendered.get(el);
  if (rendered === undefined) pass.rendered.set(el, (rendered = computeRendered(el)));
  return rendered;
}

function computeRendered(el) {
  const doc = documentOf(el);
  if (doc !== theDocument && !frameRendered(doc)) return false;
  if (checkVisibilityOf(el, { visibilityProperty: true })) return true;
  const name = localNameOf(el);
  if ((name === "option" || name === "optgroup") && isHtml(el)) {
    const select = closestTo(el, "select, datalist");
    return select !== null && isTag(select, "select") && !el.hidden && isRendered(select);
  }
  if (name === "area" && isHtml(el)) {
    const picture = pictureOfArea(el);
    return picture !== null && isRendered(picture);
  }
  // An element without a box of its own shows its children.
  if (!isConnected(el) || styleOf(el).display !== "contents") return false;
  return childrenOf(el).some((child) => (isText(child) ? dataOf(child).trim() !== "" && styleOf(el).visibility === "visible" : isRendered(child)));
}

function frameRendered(doc) {
  let rendered = pass.frames.get(doc);
  if (rendered === undefined) {
    const frame = frameElementOf(doc);
    rendered = frame !== null && isVisible(frame);
    pass.frames.set(doc, rendered);
  }
  return rendered;
}

function pictureOfArea(area) {
  const map = closestTo(area, "map");
  const name = map && attributeOf(map, "name");
  if (!name) return null;
  for (const picture of selectAllIn(rootOf(area), "img[usemap]")) {
    if (attributeOf(picture, "usemap") === `#${name}`) return picture;
  }
  return null;
}

/** True if the element is rendered and has a size, or shows something outside its empty box. */
function isVisible(el) {
  let visible = pass.visible.get(el);
  if (visible === undefined) {
    visible = isRendered(el) && (hasSize(el) || isOption(el) || showsOutsideItself(el)) && !isFoldedAway(el);
    pass.visible.set(el, visible);
  }
  return visible;
}

const isOption = (el) => isHtml(el) && ["option", "optgroup", "area"].includes(localNameOf(el));

function hasSize(el) {
  const rect = rectOf(el);
  return rect.width > 0 && rect.height > 0;
}

function showsOutsideItself(el) {
  const style = styleOf(el);
  if (style.display !== "contents" && (style.overflowX !== "visible" || style.overflowY !== "visible")) return false;
  return childrenOf(el).some((child) => (isText(child) ? textRects(child).length > 0 : isVisible(child)));
}

/** True for a box without a size that shows nothing of its content: folded up. */
function isFolded(el) {
  const rect = rectOf(el);
  // What the root and the body cut off is cut off by the view.
  if (isRoot(el)) return false;
  if (rect.width > 0 && rect.height > 0) return false;
  const { display, overflowX, overflowY } = styleOf(el);
  if (display === "inline" || display === "contents" || display === "none") return false;
  return (rect.width === 0 && overflowX !== "visible") || (rect.height === 0 && overflowY !== "visible");
}

/** The innermost folded box around an element; null if there is none. */
function foldAround(el) {
  const parent = parentOf(el);
  if (!parent) return null;
  let fold = pass.folded.get(parent);
  if (fold === undefined) pass.folded.set(parent, (fold = isFolded(parent) ? parent : foldAround(parent)));
  return fold;
}

function isFoldedAway(el) {
  const fold = foldAround(el);
  if (!fold || isOption(el)) return false;
  // A box that is placed by another one is not cut off.
  const isPlaced = styleOf(fold).position !== "static";
  for (let at = el; at && at !== fold; at = parentOf(at)) {
    const { position } = styleOf(at);
    if (position === "fixed" || (position === "absolute" && !isPlaced)) return false;
  }
  return true;
}

/** Boxes of the lines of a text node, without empty ones. */
function textRects(node) {
  if (dataOf(node).trim() === "") return [];
  const range = rangeIn(documentOf(node));
  range.selectNodeContents(node);
  return Array.from(range.getClientRects()).filter((rect) => rect.width > 0 && rect.height > 0);
}

/** True if the element is too small to be seen: text for screen readers only. */
function isForScreenReaders(el) {
  for (let at = el; at; at = parentOf(at)) {
    const style = styleOf(at);
    if (style.display === "contents" || style.display === "inline") continue;
    if (style.overflowX === "visible" && style.clipPath === "none" && (style.clip === "auto" || style.clip === "")) continue;
    const rect = rectOf(at);
    if (rect.width <= 1 || rect.height <= 1) return true;
    if (/^rect\((0px, ){3}0px\)$|^rect\(1px, 1px, 1px, 1px\)$/.test(style.clip) && style.position !== "static") return true;
    if (/^inset\((50|100)%\)$/.test(style.clipPath)) return true;
  }
  return false;
}

const isTransparent = (el) => !checkVisibilityOf(el, { opacityProperty: true }) && isRendered(el) && styleOf(el).display !== "contents";

function isAriaHidden(el) {
  let hidden = pass.ariaHidden.get(el);
  if (hidden === undefined) {
    const parent = parentOf(el);
    hidden = attributeOf(el, "aria-hidden") === "true" || (parent !== null && isAriaHidden(parent));
    pass.ariaHidden.set(el, hidden);
  }
  return hidden;
}

/** True if the element can be neither clicked nor reached: it is inert, or outside of an open modal dialog. */
function isInert(el) {
  let inert = pass.inert.get(el);
  if (inert === undefined) {
    const modal = modalDialog();
    inert = hasInertAround(el) || (modal !== null && !holds(modal, el));
    pass.inert.set(el, inert);
  }
  return inert;
}

function hasInertAround(el) {
  return closestWhere(el, (at) => hasAttribute(at, "inert") && isHtml(at)) !== null;
}

/** The modal dialog that takes all input now. */
function modalDialog() {
  if (pass.modal === undefined) pass.modal = findModalDialog();
  return pass.modal;
}

function findModalDialog() {
  const open = allElements().filter((el) => isTag(el, "dialog") && matchesSelector(el, ":modal"));
  if (open.length <= 1) return open[0] ?? null;
  // Only the last one that was opened can be hit; the others are inert.
  for (const dialog of open) {
    const { x, y, width, height } = topRect(rectOf(dialog), documentOf(dialog));
    const hit = hitAt(x + width / 2, y + height / 2);
    if (hit && holds(dialog, hit)) {
      const inside = open.filter((other) => other !== dialog && holds(other, hit));
      return inside.reduce((deepest, other) => (holds(deepest, other) ? other : deepest), dialog);
    }
  }
  return open[open.length - 1];
}

/** True if assistive technology is told of the element. */
const isExposed = (el) => isVisible(el) && !isAriaHidden(el) && !isInert(el);

/** The reason why an element that is there can't be seen, as the end of a sentence. */
function whyHidden(el) {
  if (!isConnected(el)) return "it is not in the page any more";
  for (let at = el; at; at = parentOf(at)) {
    const of = at === el ? "it" : tagText(at) + " around it";
    const style = styleOf(at);
    if (style.display === "none") return `${of} has display: none`;
    if (at !== el && isTag(at, "details") && !at.open) return `${of} is closed`;
    if (style.contentVisibility === "hidden") return `${of} has content-visibility: hidden`;
  }
  if (styleOf(el).visibility !== "visible") return `it has visibility: ${styleOf(el).visibility}`;
  if (isFoldedAway(el)) return `${tagText(foldAround(el))} around it is folded up`;
  if (!isVisible(el)) return "it has no size";
  if (isAriaHidden(el)) return "it is aria-hidden";
  if (isInert(el)) return whyInert(el);
  return "it can't be seen";
}

function whyInert(el) {
  const modal = modalDialog();
  if (modal && !holds(modal, el)) return `it is behind the modal ${describe(modal)}`;
  const around = closestWhere(el, (at) => hasAttribute(at, "inert"));
  return around && around !== el ? `${tagText(around)} around it is inert` : "it is inert";
}

/** The element that has the focus, in the innermost shadow root or frame. */
function focusedElement() {
  let active = activeInDocument(theDocument);
  while (active) {
    const shadow = shadowOf(active);
    const inner = shadow ? activeInShadow(shadow) : frameDocument(active) ? activeInDocument(frameDocument(active)) : null;
    if (!inner) break;
    active = inner;
  }
  return active;
}

// --- positions ------------------------------------------------------------------------------------------------------

/** How points of a document become points of the outermost viewport. */
function placeOfDocument(doc) {
  const frame = frameElementOf(doc);
  if (!frame) return { x: 0, y: 0, scaleX: 1, scaleY: 1 };
  const outer = placeOfDocument(documentOf(frame));
  const rect = rectOf(frame);
  const style = styleOf(frame);
  const scaleX = (frame.offsetWidth > 0 ? rect.width / frame.offsetWidth : 1) || 1;
  const scaleY = (frame.offsetHeight > 0 ? rect.height / frame.offsetHeight : 1) || 1;
  const left = rect.x + (clientLeftOf(frame) + Number.parseFloat(style.paddingLeft)) * scaleX;
  const top = rect.y + (clientTopOf(frame) + Number.parseFloat(style.paddingTop)) * scaleY;
  return {
    x: outer.x + left * outer.scaleX,
    y: outer.y + top * outer.scaleY,
    scaleX: outer.scaleX * scaleX,
    scaleY: outer.scaleY * scaleY,
  };
}

/** A box of a document, in the outermost viewport. */
function topRect(rect, doc) {
  if (doc === theDocument) return { x: rect.x, y: rect.y, width: rect.width, height: rect.height };
  const place = placeOfDocument(doc);
  return {
    x: place.x + rect.x * place.scaleX,
    y: place.y + rect.y * place.scaleY,
    width: rect.width * place.scaleX,
    height: rect.height * place.scaleY,
  };
}

/** The box of an element in its own document; for one without a box the box around what it shows. */
function boxOf(el) {
  if (isTag(el, "area")) return boxOfArea(el);
  const rect = rectOf(el);
  if (rect.width > 0 && rect.height > 0) return rect;
  const parts = [];
  for (const child of childrenOf(el)) {
    if (isText(child)) parts.push(...textRects(child));
    else if (isVisible(child)) parts.push(boxOf(child));
  }
  return parts.length > 0 ? unionOf(parts) : rect;
}

function unionOf(rects) {
  const left = Math.min(...rects.map((rect) => rect.x));
  const top = Math.min(...rects.map((rect) => rect.y));
  const right = Math.max(...rects.map((rect) => rect.x + rect.width));
  const bottom = Math.max(...rects.map((rect) => rect.y + rect.height));
  return new DOMRect(left, top, right - left, bottom - top);
}

function boxOfArea(area) {
  const picture = pictureOfArea(area);
  if (!picture) return rectOf(area);
  const around = rectOf(picture);
  const numbers = (attributeOf(area, "coords") ?? "").split(/[\s,]+/).map(Number).filter(Number.isFinite);
  const shape = attributeOf(area, "shape") ?? "rect";
  if (shape === "default" || numbers.length < 3) return around;
  if (shape === "circle") {
    const [x, y, radius] = numbers;
    return new DOMRect(around.x + x - radius, around.y + y - radius, 2 * radius, 2 * radius);
  }
  const xs = numbers.filter((_, at) => at % 2 === 0);
  const ys = numbers.filter((_, at) => at % 2 === 1);
  const left = Math.min(...xs);
  const top = Math.min(...ys);
  return new DOMRect(around.x + left, around.y + top, Math.max(...xs) - left, Math.max(...ys) - top);
}

/** The innermost element at a point of the outermost viewport. */
const hitAt = (x, y) => hitIn(theDocument, x, y);

function hitIn(doc, x, y) {
  const place = placeOfDocument(doc);
  let root = doc;
  let hit = null;
  for (;;) {
    const at = elementAtPoint(root, (x - place.x) / place.scaleX, (y - place.y) / place.scaleY);
    if (!at || rootOf(at) !== root) return hit;
    hit = at;
    const inner = frameDocument(at);
    if (inner) return hitIn(inner, x, y) ?? hit;
    root = shadowOf(at);
    if (!root) return hit;
  }
}

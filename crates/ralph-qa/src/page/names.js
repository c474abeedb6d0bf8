// Accessible names, as accname and HTML-AAM say.

const NAMED_BY_CONTENT = new Set([
  ...["button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox"],
  ...["menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem"],
]);

// Roles that have no name by the letter, and that people name by what stands in them.
const CALLED_BY_CONTENT = new Set([
  ...["alert", "blockquote", "caption", "code", "definition", "deletion", "emphasis", "insertion", "listitem", "log", "mark"],
  ...["note", "paragraph", "status", "strong", "subscript", "superscript", "term", "time", "timer"],
]);

/** The accessible name of an element. */
function nameOf(el) {
  let name = pass.names.get(el);
  if (name === undefined) pass.names.set(el, (name = collapse(alternativeOf(el, { seen: new Set(), inside: false, referenced: false, hiddenToo: false }))));
  return name;
}

/** The name by which people call an element: the accessible one, else what stands in it where that is usual. */
function callNameOf(el) {
  const name = nameOf(el);
  if (name !== "" || !CALLED_BY_CONTENT.has(roleOf(el))) return name;
  return visibleText(el);
}

/**
 * The text that stands for an element. `walk.inside`: as a part of another's name; `walk.referenced`: by an id, which
 * is not followed twice; `walk.hiddenToo`: below something hidden that was referenced.
 */
function alternativeOf(el, walk) {
  if (walk.seen.has(el)) return "";
  walk.seen.add(el);
  if (walk.inside && !walk.hiddenToo && (!isRendered(el) || isAriaHidden(el))) return "";
  if (!walk.referenced) {
    const labels = referencedBy(el, "aria-labelledby");
    const text = labels.map((label) => referencedText(label, walk)).join(" ");
    if (collapse(text) !== "") return text;
  }
  const role = roleOf(el);
  if (walk.inside && !walk.direct) {
    const value = embeddedValue(el, role);
    if (value !== null) return value;
  }
  const label = attributeOf(el, "aria-label");
  if (label && collapse(label) !== "") return label;
  const within = { ...walk, inside: true, direct: false };
  if (role !== "none") {
    const native = nativeName(el, within);
    if (native !== null && collapse(native) !== "") return native;
  }
  if (walk.inside || NAMED_BY_CONTENT.has(role)) {
    const content = contentOf(el, within);
    if (collapse(content) !== "") return content;
  }
  return tooltipOf(el);
}

function referencedText(label, walk) {
  // An element may refer to itself, as a part of its own name.
  const seen = new Set(walk.seen);
  seen.delete(label);
  return alternativeOf(label, { seen, inside: true, direct: true, referenced: true, hiddenToo: !isRendered(label) || isAriaHidden(label) });
}

/** The value of a field that stands inside of a label; null for other elements. */
function embeddedValue(el, role) {
  switch (role) {
    case "textbox":
    case "searchbox":
      return isTag(el, "input") || isTag(el, "textarea") ? (el.type === "password" ? "" : el.value) : visibleText(el);
    case "combobox":
    case "listbox":
      if (isTag(el, "select")) return Array.from(el.selectedOptions, (option) => option.label).join(" ");
      return isTag(el, "input") ? el.value : null;
    case "slider":
    case "spinbutton":
    case "scrollbar":
    case "meter":
    case "progressbar":
      return attributeOf(el, "aria-valuetext") ?? attributeOf(el, "aria-valuenow") ?? (isHtml(el) && "value" in el ? String(el.value) : "");
    default:
      return null;
  }
}

const LABELABLE = new Set(["button", "input", "meter", "output", "progress", "select", "textarea"]);

/** The `<label>`s of a control. */
function labelsOf(el) {
  if (!pass.labels) {
    pass.labels = new Map();
    for (const label of allElements()) {
      if (!isTag(label, "label") || !label.control) continue;
      const known = pass.labels.get(label.control);
      if (known) known.push(label);
      else pass.labels.set(label.control, [label]);
    }
  }
  return pass.labels.get(el) ?? NO_LABELS;
}

const NO_LABELS = [];

function nativeName(el, walk) {
  const name = localNameOf(el);
  if (!isHtml(el)) {
    if (!isSvg(el)) return null;
    const title = lightChildren(el).find((child) => isElement(child) && localNameOf(child) === "title");
    return title ? plainTextOf(title) : null;
  }
  if (labelsOf(el).length > 0) {
    const text = labelsOf(el).map((label) => labelText(label, walk.seen)).join(" ");
    if (collapse(text) !== "") return text;
  }
  switch (name) {
    case "input":
      return inputName(el);
    case "textarea":
      return attributeOf(el, "title") || attributeOf(el, "placeholder");
    case "img":
    case "area":
      return attributeOf(el, "alt");
    case "fieldset":
      return childText(el, "legend", walk);
    case "table":
      return childText(el, "caption", walk);
    case "figure":
      return childText(el, "figcaption", walk);
    case "option":
    case "optgroup":
      return attributeOf(el, "label");
    default:
      return null;
  }
}

/** What a `<label>` says, also a hidden one. `seen` are the elements that are not read again: the control inside. */
function labelText(label, seen) {
  return alternativeOf(label, { seen: new Set(seen), inside: true, direct: true, referenced: false, hiddenToo: !isRendered(label) || isAriaHidden(label) });
}

function inputName(el) {
  switch (el.type) {
    case "submit":
    case "reset":
    case "button":
      return faceOfInput(el);
    case "image":
      return attributeOf(el, "alt") || attributeOf(el, "title") || "Submit";
    case "checkbox":
    case "radio":
    case "hidden":
      return null;
    default:
      return attributeOf(el, "title") || attributeOf(el, "placeholder");
  }
}

function childText(el, tag, walk) {
  const child = lightChildren(el).find((node) => isElement(node) && isTag(node, tag));
  return child ? alternativeOf(child, walk) : null;
}

const tooltipOf = (el) => attributeOf(el, "title") || attributeOf(el, "aria-placeholder") || "";

/** The text of what is inside an element, from both its children and CSS. */
function contentOf(el, walk) {
  if (isSkipped(el) && !isSvg(el)) return "";
  let text = generatedText(el, "::before");
  const nodes = childrenOf(el);
  for (const owned of referencedBy(el, "aria-owns")) if (!holds(el, owned)) nodes.push(owned);
  for (const node of nodes) {
    if (isText(node)) {
      if (walk.hiddenToo || styleOf(el).visibility === "visible") text += dataOf(node);
    } else if (isTag(node, "br")) {
      text += " ";
    } else {
      const part = alternativeOf(node, walk);
      text += part === "" || isInline(node) ? part : ` ${part} `;
    }
  }
  return text + generatedText(el, "::after");
}

function isInline(el) {
  const { display } = styleOf(el);
  return display === "inline" || display === "contents";
}

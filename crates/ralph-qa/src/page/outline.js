// The page as assistive technology is told of it: lines of role and name, with their depth.

// Roles whose content is their name, and nothing else.
const WITHOUT_CHILDREN = new Set([
  ...["button", "checkbox", "img", "math", "menuitemcheckbox", "menuitemradio", "meter", "option", "progressbar", "radio"],
  ...["scrollbar", "separator", "slider", "spinbutton", "switch", "tab", "textbox", "searchbox"],
]);
const OPTIONS_MOST = 12;
const LINES_MOST = 400;

async function outline({ limit } = {}) {
  beginPass();
  const lines = outlineLines();
  const most = limit ?? LINES_MOST;
  return {
    lines: lines.slice(0, most).map(({ el, ...line }) => line),
    left_out: Math.max(0, lines.length - most),
    url: theWindow.location.href,
    title: titleOf(theDocument),
  };
}

function outlineLines() {
  const lines = [];
  const root = documentElementOf(theDocument);
  if (root) flatten(outlineOf(root), 0, lines);
  return lines;
}

/** What an element adds to the outline: nodes with a role, and loose texts as strings. */
function outlineOf(el) {
  if (isSkipped(el) && !isEditable(el) && !isTag(el, "textarea")) return [];
  if (isAriaHidden(el) || isInert(el) || !mayShow(el)) {
    // Everything but the modal dialog is inert; the dialog is somewhere inside.
    return isInert(el) && holdsModal(el) ? childrenOf(el).flatMap((child) => (isText(child) ? [] : outlineOf(child))) : [];
  }
  const role = roleOf(el);
  if (isSvg(el) && nameOf(el) === "") return [];
  if (role === "generic" || role === "none" || role === "document" || !isRendered(el)) {
    const nodes = contentNodes(el);
    return namesItsPlace(el) ? nodes.filter((node) => typeof node !== "string") : nodes;
  }
  const name = nameOf(el);
  const node = { role, name, value: valueLine(el, role), state: statesOf(el, role), el, children: [] };
  if (WITHOUT_CHILDREN.has(role)) return role !== "img" || name !== "" || isTag(el, "img") ? [node] : [];
  node.children = isTag(el, "select") ? optionNodes(el) : contentNodes(el);
  if (NAMED_BY_CONTENT.has(role)) {
    node.children = node.children.filter((child) => typeof child !== "string");
  } else if (name === "" && CALLED_BY_CONTENT.has(role) && node.children.every((child) => typeof child === "string" || isPhrase(child))) {
    node.name = visibleText(el);
    node.children = node.children.filter((child) => typeof child !== "string");
  }
  // What has the name of the thing that it is in says nothing more, and neither does an empty box.
  if (node.children.length === 1 && node.children[0].role === "img" && node.children[0].name === name) node.children = [];
  const isEmpty = node.name === "" && !ACTED_ROLES.has(role) && node.children.every((child) => typeof child === "string" && collapse(child) === "");
  return isEmpty ? [] : [node];
}

const holdsModal = (el) => modalDialog() !== null && holds(el, modalDialog());

/** True for the label of a field that can be seen, the legend of a field set and the like: the name of another line. */
function namesItsPlace(el) {
  if (isTag(el, "label")) return Boolean(el.control && isExposed(el.control) && nameOf(el.control) !== "");
  return (isTag(el, "legend") || isTag(el, "figcaption")) && ["group", "figure"].includes(roleOf(parentOf(el)));
}

// Parts of a sentence, which do not make it more than a text.
const isPhrase = ({ role }) => ["link", "strong", "emphasis", "code", "mark", "time", "subscript", "superscript", "insertion", "deletion", "term"].includes(role);

function contentNodes(el) {
  const nodes = [];
  const visible = styleOf(el).visibility === "visible";
  const face = faceOfInput(el);
  if (face) nodes.push(face);
  for (const child of childrenOf(el)) {
    if (!isText(child)) nodes.push(...outlineOf(child), ...(isInline(child) ? [] : [" "]));
    else if (visible) nodes.push(dataOf(child));
  }
  return nodes;
}

function optionNodes(select) {
  const options = Array.from(select.options).filter((option) => isRendered(option));
  const nodes = options.slice(0, OPTIONS_MOST).flatMap((option) => outlineOf(option));
  if (options.length > OPTIONS_MOST) nodes.push(`… ${options.length - OPTIONS_MOST} more options`);
  return nodes;
}

function flatten(nodes, depth, lines) {
  let text = "";
  const endText = () => {
    const name = collapse(text);
    text = "";
    if (name !== "") lines.push({ depth, role: "text", name, value: null, state: [], el: null });
  };
  for (const node of nodes) {
    if (typeof node === "string") {
      text += node;
      continue;
    }
    endText();
    const { children, ...line } = node;
    lines.push({ depth, ...line });
    flatten(children, depth + 1, lines);
  }
  endText();
}

const VALUE_ROLES = new Set(["combobox", "listbox", "meter", "progressbar", "searchbox", "slider", "spinbutton", "textbox"]);

/** The value of an element for people: never that of a field for passwords. */
function valueLine(el, role) {
  if (!VALUE_ROLES.has(role)) return null;
  const value = valueOf(el);
  if (value === null || value === "") return null;
  if (isPassword(el)) return "••••";
  return isTag(el, "select") ? Array.from(el.selectedOptions, (option) => collapse(option.label)).join(", ") : shorten(collapse(value), 200);
}

const isPassword = (el) => isTag(el, "input") && el.type === "password";

/** The value of a field; null for what has none. */
function valueOf(el) {
  if (isHtml(el)) {
    switch (localNameOf(el)) {
      case "input":
      case "textarea":
      case "select":
      case "output":
      case "meter":
        return String(el.value);
      case "progress":
        return hasAttribute(el, "value") ? String(el.value) : null;
    }
  }
  const said = attributeOf(el, "aria-valuetext") ?? attributeOf(el, "aria-valuenow");
  if (said !== null) return said;
  return isEditable(el) === true ? visibleText(el) : null;
}

function statesOf(el, role) {
  const states = [];
  const checked = CHECKED_ROLES.has(role) ? checkedStateOf(el) : null;
  if (checked === "true") states.push("checked");
  if (checked === "mixed") states.push("mixed");
  if (attributeOf(el, "aria-pressed") === "true") states.push("pressed");
  if (attributeOf(el, "aria-selected") === "true" || (isTag(el, "option") && el.selected)) states.push("selected");
  const expanded = isTag(el, "summary") && lightParent(el) && isTag(lightParent(el), "details") ? String(lightParent(el).open) : attributeOf(el, "aria-expanded");
  if (expanded === "true") states.push("expanded");
  if (expanded === "false") states.push("collapsed");
  if (ACTED_ROLES.has(role) && disabledBy(el)) states.push("disabled");
  if (el.required === true || attributeOf(el, "aria-required") === "true") states.push("required");
  const invalid = attributeOf(el, "aria-invalid");
  if ((invalid !== null && invalid !== "false") || matchesSelector(el, ":user-invalid")) states.push("invalid");
  if (TYPED_ROLES.has(role) && (el.readOnly === true || attributeOf(el, "aria-readonly") === "true")) states.push("readonly");
  if (focusedElement() === el && el !== bodyOf(theDocument)) states.push("focused");
  if (role === "heading") states.push(`level ${levelOf(el)}`);
  if (isTag(el, "dialog") && matchesSelector(el, ":modal")) states.push("modal");
  return states;
}

/** "true", "false" or "mixed"; null for what can't be checked. */
function checkedStateOf(el) {
  if (isTag(el, "input") && (el.type === "checkbox" || el.type === "radio")) return el.indeterminate ? "mixed" : String(el.checked);
  if (isTag(el, "option")) return null;
  const role = roleOf(el);
  if (CHECKED_ROLES.has(role)) return attributeOf(el, "aria-checked") ?? "false";
  if (role === "button") return attributeOf(el, "aria-pressed");
  if (role === "option" || role === "tab" || role === "treeitem") return attributeOf(el, "aria-checked") ?? attributeOf(el, "aria-selected") ?? "false";
  return null;
}

// Roles, as HTML-AAM and WAI-ARIA say. Elements that have none are "generic"; "none" are those that an author took the
// role from.

const ROLES = new Set(
  `alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox
  comment complementary contentinfo definition deletion dialog document emphasis feed figure form generic graphics-document
  graphics-object graphics-symbol grid gridcell group heading img insertion link list listbox listitem log main mark
  marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph
  progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status
  strong subscript suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree
  treegrid treeitem`.split(/\s+/),
);
const ROLE_SYNONYMS = { presentation: "none", image: "img", directory: "list" };

const TAG_ROLES = {
  address: "group",
  article: "article",
  blockquote: "blockquote",
  button: "button",
  caption: "caption",
  code: "code",
  datalist: "listbox",
  dd: "definition",
  del: "deletion",
  details: "group",
  dfn: "term",
  dialog: "dialog",
  dt: "term",
  em: "emphasis",
  fieldset: "group",
  figure: "figure",
  h1: "heading",
  h2: "heading",
  h3: "heading",
  h4: "heading",
  h5: "heading",
  h6: "heading",
  hgroup: "group",
  hr: "separator",
  html: "document",
  iframe: "iframe",
  ins: "insertion",
  main: "main",
  mark: "mark",
  math: "math",
  menu: "list",
  meter: "meter",
  nav: "navigation",
  ol: "list",
  optgroup: "group",
  option: "option",
  output: "status",
  p: "paragraph",
  progress: "progressbar",
  s: "deletion",
  search: "search",
  strong: "strong",
  sub: "subscript",
  summary: "button",
  sup: "superscript",
  svg: "img",
  table: "table",
  tbody: "rowgroup",
  textarea: "textbox",
  tfoot: "rowgroup",
  thead: "rowgroup",
  time: "time",
  tr: "row",
  ul: "list",
};

const INPUT_ROLES = {
  button: "button",
  checkbox: "checkbox",
  file: "button",
  hidden: "none",
  image: "button",
  number: "spinbutton",
  radio: "radio",
  range: "slider",
  reset: "button",
  search: "searchbox",
  submit: "button",
};
const INPUTS_WITH_LIST = new Set(["text", "search", "tel", "url", "email"]);

// Roles that an element keeps from its author only while it can't be acted on.
const GLOBAL_NAMES = ["aria-label", "aria-labelledby", "aria-describedby", "aria-live", "aria-controls", "aria-owns"];

const SECTIONING = new Set(["article", "aside", "main", "nav", "section"]);
const SECTION_ROLES = new Set(["article", "complementary", "main", "navigation", "region"]);

function roleOf(el) {
  let role = pass.roles.get(el);
  if (role === undefined) {
    // An element asks for the roles of those around it, never of itself.
    role = explicitRole(el) ?? nativeRole(el);
    pass.roles.set(el, role);
  }
  return role;
}

/** The first valid token of the attribute `role`, if it holds. */
function explicitRole(el) {
  const attribute = attributeOf(el, "role");
  if (!attribute) return null;
  for (const token of attribute.toLowerCase().split(/\s+/)) {
    const role = ROLE_SYNONYMS[token] ?? token;
    if (!ROLES.has(role)) continue;
    if (role !== "none" || !keepsItsRole(el)) return role;
    return null;
  }
  return null;
}

/** True for elements that "presentation" does not take the role from: they can be focused, or are named. */
const keepsItsRole = (el) => isFocusable(el) || GLOBAL_NAMES.some((name) => hasAttribute(el, name));

function isFocusable(el) {
  if (isHtml(el) && isDisabledNatively(el)) return false;
  if (hasAttribute(el, "tabindex")) return true;
  if (!isHtml(el)) return false;
  switch (localNameOf(el)) {
    case "a":
    case "area":
      return hasAttribute(el, "href");
    case "button":
    case "select":
    case "textarea":
    case "iframe":
    case "summary":
      return true;
    case "input":
      return el.type !== "hidden";
    default:
      return hasAttribute(el, "contenteditable") && attributeOf(el, "contenteditable") !== "false";
  }
}

const DISABLEABLE = new Set(["button", "input", "select", "textarea", "option", "optgroup", "fieldset"]);
const isDisabledNatively = (el) => (DISABLEABLE.has(localNameOf(el)) || localNameOf(el).includes("-")) && matchesSelector(el, ":disabled");

function nativeRole(el) {
  const name = localNameOf(el);
  if (!isHtml(el)) return name === "svg" || name === "math" ? TAG_ROLES[name] : "generic";
  switch (name) {
    case "a":
    case "area":
      return hasAttribute(el, "href") ? "link" : "generic";
    case "aside":
      return isInSection(el) && !isNamed(el) ? "generic" : "complementary";
    case "footer":
      return isInSection(el) ? "generic" : "contentinfo";
    case "header":
      return isInSection(el) ? "generic" : "banner";
    case "form":
      return isNamed(el) ? "form" : "generic";
    case "section":
      return isNamed(el) ? "region" : "generic";
    case "img":
      return attributeOf(el, "alt") === "" && !attributeOf(el, "title") && !isNamed(el) ? "none" : "img";
    case "input":
      return inputRole(el);
    case "select":
      return isDropDown(el) ? "combobox" : "listbox";
    case "li":
      return listAround(el) === "list" ? "listitem" : "generic";
    case "table":
    case "thead":
    case "tbody":
    case "tfoot":
    case "tr":
    case "td":
    case "th":
      return tableRole(el, name);
    default:
      return TAG_ROLES[name] ?? (isEditingHost(el) ? "textbox" : "generic");
  }
}

const isEditingHost = (el) => hasAttribute(el, "contenteditable") && isEditable(el);

/** True if the author gave the element a name of its own. */
const isNamed = (el) => collapse(attributeOf(el, "aria-label") ?? "") !== "" || referencedBy(el, "aria-labelledby").length > 0 || Boolean(attributeOf(el, "title")?.trim());

function isInSection(el) {
  for (const around of ancestorsOf(el)) {
    if (SECTIONING.has(localNameOf(around)) && isHtml(around)) return true;
    if (hasAttribute(around, "role") && SECTION_ROLES.has(roleOf(around))) return true;
  }
  return false;
}

function inputRole(el) {
  const { type } = el;
  if (type === "checkbox" && hasAttribute(el, "switch")) return "switch";
  if (INPUTS_WITH_LIST.has(type) && hasAttribute(el, "list") && referencedBy(el, "list").some((list) => isTag(list, "datalist"))) return "combobox";
  return INPUT_ROLES[type] ?? "textbox";
}

function listAround(el) {
  const parent = parentOf(el);
  return parent && ["ul", "ol", "menu"].includes(localNameOf(parent)) ? roleOf(parent) : "none";
}

function tableRole(el, name) {
  if (name === "table") return "table";
  const table = closestTo(el, "table");
  const around = table ? roleOf(table) : "none";
  if (!["table", "grid", "treegrid"].includes(around)) return around === "none" ? "none" : "generic";
  if (name === "td") return around === "table" ? "cell" : "gridcell";
  if (name !== "th") return TAG_ROLES[name];
  switch ((attributeOf(el, "scope") ?? "").toLowerCase()) {
    case "row":
    case "rowgroup":
      return "rowheader";
    case "col":
    case "colgroup":
      return "columnheader";
    default:
      return isHeaderOfRow(el) ? "rowheader" : "columnheader";
  }
}

function isHeaderOfRow(th) {
  const row = lightParent(th);
  return row !== null && lightChildren(row).some((cell) => isElement(cell) && isTag(cell, "td"));
}

/** The level of a heading; null for other elements. */
function levelOf(el) {
  if (roleOf(el) !== "heading") return null;
  const level = Number.parseInt(attributeOf(el, "aria-level") ?? "", 10);
  if (level > 0) return level;
  const native = /^h([1-6])$/.exec(localNameOf(el));
  return native ? Number(native[1]) : 2;
}

const TYPED_ROLES = new Set(["textbox", "searchbox", "combobox", "spinbutton"]);
const CHECKED_ROLES = new Set(["checkbox", "menuitemcheckbox", "menuitemradio", "radio", "switch"]);
const ACTED_ROLES = new Set([
  ...["button", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio"],
  ...["option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem"],
]);

/** True if a user could do with the element what a step wants, by what kind of element it is. */
function canBe(el, wants) {
  switch (wants) {
    case "type":
      return isTypable(el);
    case "select":
      return isTag(el, "select");
    case "upload":
      return isFileInput(el);
    default: {
      const role = roleOf(el);
      return role === "gridcell" ? isFocusable(el) : ACTED_ROLES.has(role);
    }
  }
}

const NOT_TYPED = new Set(["button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden"]);

function isTypable(el) {
  if (isTag(el, "input")) return !NOT_TYPED.has(el.type);
  return isTag(el, "textarea") || (isEditable(el) === true && isEditingHost(el));
}

const isFileInput = (el) => isTag(el, "input") && el.type === "file";

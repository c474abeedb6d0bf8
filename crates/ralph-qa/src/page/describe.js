// How elements are called in messages.

/** An element as a person reads it: `button "Sign in"`, else its tag. */
function describe(el) {
  const role = roleOf(el);
  if (role !== "generic" && role !== "none" && role !== "document") {
    const name = callNameOf(el);
    if (name !== "") return `${role} ${quoted(shorten(name, 60))}`;
  }
  return tagText(el);
}

/** An element that can't be seen, and so has no name now. */
function describeHidden(el) {
  const text = describe(el);
  const words = collapse(plainTextOf(el));
  return text.startsWith("<") && words !== "" && ACTED_ROLES.has(roleOf(el)) ? `${roleOf(el)} ${quoted(shorten(words, 60))}` : text;
}

/** The opening tag of an element, with the attributes that tell it apart. */
function tagText(el) {
  let text = `<${localNameOf(el)}`;
  for (const name of ["id", "class", "name", "type", "href", "src", "data-testid", "data-test-id", "data-test"]) {
    const value = attributeOf(el, name);
    if (value === null || value === "" || text.length > 80) continue;
    text += ` ${name}="${shorten(collapse(value), 40)}"`;
  }
  return `${text}>`;
}

const DESCRIBED_AROUND = new Set(["article", "dialog", "form", "group", "listitem", "navigation", "region", "row", "table", "tabpanel"]);

/** Elements with what they stand in, so that they can be told apart. */
function describeAll(elements) {
  const texts = elements.map(describe);
  return texts.map((text, at) => {
    if (texts.indexOf(text) === texts.lastIndexOf(text)) return text;
    const around = closestWhere(parentOf(elements[at]), (el) => DESCRIBED_AROUND.has(roleOf(el)) && aroundName(el) !== "");
    return around ? `${text} in ${roleOf(around)} ${quoted(shorten(aroundName(around), 40))}` : text;
  });
}

const aroundName = (el) => callNameOf(el) || (["listitem", "row", "article"].includes(roleOf(el)) ? visibleText(el) : "");

/** A target as a person reads it. */
function describeTarget(target) {
  let text = targetText(target);
  if (target.nth) text += ` (number ${target.nth})`;
  if (target.within) text += ` within ${describeTarget(target.within)}`;
  return text;
}

function targetText({ by, value, role, name }) {
  switch (by) {
    case "role":
      return name === null || name === undefined ? (role ?? value) : `${role ?? value} ${quoted(name)}`;
    case "any":
      return quoted(value);
    case "testid":
      return `test id ${quoted(value)}`;
    default:
      return `${by} ${quoted(value)}`;
  }
}

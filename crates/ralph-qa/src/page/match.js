// From a target to the elements that it names.

const TEST_ID_ATTRIBUTES = ["data-testid", "data-test-id", "data-test"];

/**
 * The elements that a target names. `all` are those that can be seen, in the order of the document; `hidden` would be
 * named too, and can't be seen; `problem` says why nothing could be looked for.
 */
function find(target, wants) {
  const scopes = target.within ? findScopes(target.within) : { roots: [null] };
  if (!scopes.roots) return { all: [], hidden: [], problem: scopes.problem, ambiguous: scopes.ambiguous };
  const result = { all: [], hidden: [], problem: null };
  for (const scope of scopes.roots) {
    const found = findBy(target, wants, scope);
    result.problem ??= found.problem ?? null;
    for (const el of found.all) if (!result.all.includes(el)) result.all.push(el);
    result.hidden.push(...found.hidden);
  }
  return result;
}

/** The element that a step means, of those that a target names: all of them if that can't be said. */
function meantBy(target, wants, all) {
  let meant = all;
  if (all.length > 1 && target.by === "label") meant = preferring(meant, (el) => canBe(el, wants));
  if (all.length > 1 && (target.by === "text" || target.by === "any")) meant = preferring(meant, (el) => !isForScreenReaders(el));
  const wanted = target.by === "role" ? target.name : target.value;
  if (all.length > 1 && !target.exact && wanted) {
    meant = preferring(meant, (el) => textsFor(target, el).some((text) => fold(text) === fold(wanted)));
    const cased = meant.filter((el) => textsFor(target, el).some((text) => text === collapse(wanted)));
    if (cased.length === 1) meant = cased;
  }
  if (!target.nth) return meant;
  return meant.slice(target.nth - 1, target.nth);
}

function preferring(elements, condition) {
  const preferred = elements.filter(condition);
  return preferred.length > 0 ? preferred : elements;
}

/** The texts of an element that a target is compared with. */
function textsFor({ by }, el) {
  switch (by) {
    case "role":
      return [callNameOf(el)];
    case "text":
      return readingsOf(el);
    case "label":
      return labelTextsOf(el);
    case "placeholder":
      return [collapse(placeholderOf(el))];
    case "any":
      return [callNameOf(el), ...readingsOf(el), ...labelTextsOf(el), collapse(placeholderOf(el))];
    default:
      return [];
  }
}

const CONTAINERS = new Set([
  ...["article", "dialog", "alertdialog", "form", "group", "listitem", "option", "region", "row", "tabpanel", "treeitem"],
  ...["complementary", "navigation", "banner", "contentinfo", "figure", "radiogroup", "search", "menuitem"],
]);

/** The elements that a search is limited to. */
function findScopes(target) {
  const { all, hidden, problem, ambiguous } = find(target, "see");
  if (problem || ambiguous) return { problem, ambiguous };
  const meant = meantBy(target, "see", all);
  if (meant.length === 0) {
    const why = hidden.length > 0 ? `: ${whyHidden(hidden[0])}` : "";
    return { problem: `there is no ${describeTarget(target)} to look in${why}` };
  }
  // A text stands for what it is a part of: its row, its list item, its dialog.
  const isByText = target.by === "text" || target.by === "any";
  const roots = isByText ? meant.map((el) => closestWhere(el, (at) => CONTAINERS.has(roleOf(at))) ?? el) : meant;
  const different = [...new Set(roots)];
  if (different.length > 1) return { ambiguous: different };
  return { roots: different };
}

function findBy(target, wants, scope) {
  switch (target.by) {
    case "role":
      return findByRole(target, wants, scope);
    case "text":
      return findByText(target, scope);
    case "label":
      return findByLabel(target, wants, scope);
    case "placeholder":
      return sorted(elementsIn(scope).filter((el) => accepts(target, placeholderOf(el))));
    case "testid":
      return sorted(
        elementsIn(scope).filter((el) => TEST_ID_ATTRIBUTES.some((name) => attributeOf(el, name) === target.value)),
        wants,
      );
    case "css":
      return findByCss(target, wants, scope);
    default:
      return findByAny(target, wants, scope);
  }
}

const elementsIn = (scope) => (scope === null ? allElements() : allElements().filter((el) => el !== scope && holds(scope, el)));

/** Parts elements that can be seen from those that can't. Fields for files are used while they are hidden. */
function sorted(elements, wants) {
  const result = { all: [], hidden: [] };
  for (const el of elements) {
    if (isVisible(el) || (wants === "upload" && fileInputFor(el) !== null)) result.all.push(el);
    else result.hidden.push(el);
  }
  return result;
}

/** True if a text is what a target asks for. */
function accepts({ value, exact }, text) {
  if (!text) return false;
  return exact ? collapse(text) === collapse(value) : fold(text).includes(fold(value));
}

function findByRole({ role: asked, value, name, exact }, wants, scope) {
  const role = normalRole(asked || value);
  const elements = elementsIn(scope).filter((el) => roleOf(el) === role);
  if (name !== null && name !== undefined && collapse(name) !== "") return sortedByName(elements, { value: name, exact }, wants);
  const result = { all: [], hidden: [] };
  for (const el of elements) (isThere(el, wants) ? result.all : result.hidden).push(el);
  return result;
}

const isThere = (el, wants) => isExposed(el) || (wants === "upload" && isFileInput(el));

/** The elements with a name, those that are there apart from those that are hidden. */
function sortedByName(elements, target, wants) {
  const result = { all: [], hidden: [] };
  const squeezed = squeeze(target.value);
  for (const el of elements) {
    // To see that a name is another one is quicker than to see whether the element is there.
    if (accepts(target, callNameOf(el))) (isThere(el, wants) ? result.all : result.hidden).push(el);
    // What is hidden has no name, or a shorter one.
    else if (rawTextOf(el).includes(squeezed) && !isThere(el, wants) && accepts(target, plainTextOf(el))) result.hidden.push(el);
  }
  return result;
}

function normalRole(role) {
  const lower = role.toLowerCase();
  return ROLE_SYNONYMS[lower] ?? lower;
}

function findByText(target, scope) {
  const squeezed = squeeze(target.value);
  if (squeezed === "") return { all: [], hidden: [], problem: "the text is empty" };
  const root = scope ?? documentElementOf(theDocument);
  if (!root) return { all: [], hidden: [] };
  const found = innermostWithText(root, squeezed, (text) => accepts(target, text)).filter((el) => el !== scope && isVisible(el));
  return { all: found, hidden: found.length > 0 ? [] : hiddenWithText(root, target, squeezed) };
}

/** The innermost element that has a text and does not show it. */
function hiddenWithText(root, target, squeezed) {
  if (!rawTextOf(root).includes(squeezed)) return [];
  let at = root;
  for (;;) {
    const inner = childrenOf(at).find((child) => isElement(child) && rawTextOf(child).includes(squeezed));
    if (!inner) break;
    at = inner;
  }
  return isVisible(at) && !isTransparent(at) ? [] : accepts(target, plainTextOf(at)) ? [at] : [];
}

/** The texts that label an element: those that its author gave it, not its content. */
function labelTextsOf(el) {
  const texts = labelsOf(el).map((label) => labelText(label, new Set([el])));
  const referenced = referencedBy(el, "aria-labelledby");
  if (referenced.length > 0) texts.push(nameOf(el));
  const label = attributeOf(el, "aria-label");
  if (label) texts.push(label);
  if (isTag(el, "fieldset")) texts.push(nameOf(el));
  return texts.map(collapse).filter((text) => text !== "");
}

function findByLabel(target, wants, scope) {
  const named = elementsIn(scope).filter((el) => mayHaveLabel(el) && labelTextsOf(el).some((text) => accepts(target, text)));
  const result = { all: [], hidden: [] };
  for (const el of named) {
    const shown = isVisible(el) || labelsOf(el).some(isVisible) || (wants === "upload" && isFileInput(el));
    (shown ? result.all : result.hidden).push(el);
  }
  return result;
}

const mayHaveLabel = (el) => LABELABLE.has(localNameOf(el)) || localNameOf(el) === "fieldset" || hasAttribute(el, "aria-label") || hasAttribute(el, "aria-labelledby");

const placeholderOf = (el) => attributeOf(el, "placeholder") ?? attributeOf(el, "aria-placeholder") ?? "";

function findByCss({ value }, wants, scope) {
  const matched = new Set();
  try {
    for (const root of allRoots()) for (const el of selectAllIn(root, value)) matched.add(el);
  } catch {
    return { all: [], hidden: [], problem: `${quoted(value)} is not a valid CSS selector` };
  }
  return sorted(elementsIn(scope).filter((el) => matched.has(el)), wants);
}

/** The kinds of thing that a plain text may name, in the order in which they are looked for. */
function findByAny(target, wants, scope) {
  const { value, exact } = target;
  const kinds = [
    () => findActed(target, wants, scope),
    () => findByText(target, scope),
    () => findByLabel(target, wants, scope),
    () => findNamed(target, scope),
    () => findBy({ by: "placeholder", value, exact }, wants, scope),
    () => findBy({ by: "testid", value }, wants, scope),
  ];
  // A field is meant where something is typed, chosen or uploaded, and not a text that reads the same.
  if (["type", "select", "upload"].includes(wants)) kinds.push(...kinds.splice(1, 1));
  const hidden = [];
  let problem = null;
  for (const kind of kinds) {
    const found = kind();
    if (found.all.length > 0) return { all: found.all, hidden: [] };
    hidden.push(...found.hidden);
    problem ??= found.problem ?? null;
  }
  return { all: [], hidden, problem };
}

const findActed = (target, wants, scope) => sortedByName(elementsIn(scope).filter((el) => canBe(el, wants)), target, wants);

const NOT_NAMED = new Set(["generic", "none", "document"]);

function findNamed(target, scope) {
  const named = elementsIn(scope).filter((el) => !NOT_NAMED.has(roleOf(el)) && isExposed(el) && accepts(target, nameOf(el)));
  return { all: named, hidden: [] };
}

/** The field for files that an element stands for: itself, that of its label, or the only one inside it. */
function fileInputFor(el) {
  if (isFileInput(el)) return el;
  const label = closestTo(el, "label");
  if (label?.control && isFileInput(label.control)) return label.control;
  const inside = allElements().filter((other) => isFileInput(other) && holds(el, other));
  return inside.length === 1 ? inside[0] : null;
}

/** The control that an element stands for: that of the label that it is a part of. */
function controlFor(el) {
  const label = closestWhere(el, (at) => isTag(at, "label"));
  return label?.control ?? null;
}

// --- what is nearest to something that is not there -----------------------------------------------------------------

const NEAREST_MOST = 5;
const LOOKED_AT_MOST = 2000;

/** The things of the page that are most like what was looked for. */
function nearestTo(target, wants) {
  const wanted = target.by === "role" ? (target.name ?? "") : target.value;
  const scored = [];
  const seen = new Set();
  const offer = (said, name, bonus) => {
    if (seen.has(said) || name === "") return;
    seen.add(said);
    const like = bonus >= 1 ? 1 : likeness(name, wanted);
    if (like >= 0.4) scored.push({ said, score: like + bonus });
  };
  for (const { el, said, name, bonus } of poolFor(target, wants)) offer(said ?? describe(el), name, bonus);
  scored.sort((a, b) => b.score - a.score);
  // What is much further away than the best is of no help.
  return scored
    .filter(({ score }) => score >= scored[0].score * 0.7)
    .slice(0, NEAREST_MOST)
    .map(({ said }) => said);
}

function* poolFor(target, wants) {
  const { by } = target;
  const role = by === "role" ? normalRole(target.role || target.value) : null;
  let count = 0;
  for (const el of allElements()) {
    if (count > LOOKED_AT_MOST) return;
    if (by === "testid" || by === "css") {
      yield* handlesOf(el, target.value);
      continue;
    }
    if (!isExposed(el)) continue;
    if (by === "role") {
      const own = roleOf(el);
      if (NOT_NAMED.has(own)) continue;
      const bonus = own === role ? 0.2 : ACTED_ROLES.has(role) && ACTED_ROLES.has(own) ? 0.1 : 0;
      count += 1;
      if (target.name) yield { el, name: callNameOf(el), bonus };
      else if (own === role) yield { el, name: describe(el), bonus: 1 };
      continue;
    }
    const labels = by === "text" ? [] : mayHaveLabel(el) ? labelTextsOf(el) : [];
    if (by === "placeholder") labels.push(collapse(placeholderOf(el)));
    if (by === "any" && canBe(el, wants)) labels.push(callNameOf(el));
    for (const name of labels) {
      count += 1;
      yield { el, name, bonus: 0.1 };
    }
    if ((by === "text" || by === "any") && hasOwnText(el)) {
      const name = visibleText(el);
      count += 1;
      if (name.length <= 200) yield { el, said: ACTED_ROLES.has(roleOf(el)) ? describe(el) : `text ${quoted(shorten(name, 60))}`, name, bonus: 0 };
    }
  }
}

const hasOwnText = (el) => !isSkipped(el) && lightChildren(el).some((child) => isText(child) && dataOf(child).trim() !== "");

function* handlesOf(el, value) {
  for (const name of TEST_ID_ATTRIBUTES) {
    const id = attributeOf(el, name);
    if (id) yield { el, said: `test id ${quoted(id)}`, name: id, bonus: 0 };
  }
  if (!/^[#.][\w-]+$/.test(value)) return;
  const handles = value.startsWith("#") ? [attributeOf(el, "id")] : (attributeOf(el, "class") ?? "").split(/\s+/);
  for (const handle of handles) {
    if (handle) yield { el, said: `${value[0]}${handle}`, name: value[0] + handle, bonus: 0 };
  }
}

/** How much a text is like another one, from 0 to 1: by its letters, or by the words that they share. */
function likeness(text, wanted) {
  const one = fold(text).slice(0, 80);
  const other = fold(wanted).slice(0, 80);
  if (one === "" || other === "") return 0;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  if (shorter.length > 2 && longer.includes(shorter)) return 0.6 + (0.4 * shorter.length) / longer.length;
  // The difference of their lengths is the least that their distance can be.
  const byLetters = shorter.length / longer.length < 0.45 ? 0 : 1 - editDistance(one, other) / longer.length;
  const words = new Set(one.split(" "));
  const asked = [...new Set(other.split(" "))];
  const shared = asked.filter((word) => words.has(word)).length;
  return Math.max(byLetters, (0.9 * shared) / Math.max(asked.length, Math.min(words.size, 4)));
}

function editDistance(one, other) {
  let previous = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const changed = previous[column - 1] + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(changed, previous[column] + 1, current[column - 1] + 1));
    }
    previous = current;
  }
  return previous[other.length];
}

// Checks of the document, each waited for until its limit is over.

async function check({ check: asked, limit }) {
  const look = CHECKS[asked.kind];
  if (!look) return { ok: false, kind: "expectation", expected: `a check of a known kind`, actual: `${quoted(asked.kind)} is not one`, nearest: Object.keys(CHECKS) };
  if (asked.kind === "no_broken_images") return checkImages(limit);
  const course = { findings: "", since: now() };
  const answer = await until(limit, () => look(asked, course));
  return answer.value();
}

const passed = (more = {}) => ({ done: true, value: () => ({ ok: true, ...more }) });
const failed = (value) => ({ done: false, value: () => ({ ok: false, nearest: [], ...value() }) });
const unexpected = (expected, actual, more = {}) => failed(() => ({ kind: "expectation", expected, actual, ...more }));

const CHECKS = {
  text: checkText,
  no_text: checkNoText,
  element: checkElement,
  no_element: checkNoElement,
  count: checkCount,
  title: checkTitle,
  value: (asked) => withOne(asked.target, (el) => checkValue(el, asked)),
  state: (asked) => withOne(asked.target, (el) => checkState(el, asked)),
  attribute: (asked) => withOne(asked.target, (el) => checkAttribute(el, asked)),
  style: (asked) => withOne(asked.target, (el) => checkStyle(el, asked)),
  tree: checkTree,
  no_broken_images: checkImages,
  links: checkLinks,
  no_overlap: checkOverlap,
  accessible: checkAccessible,
};

// --- texts ----------------------------------------------------------------------------------------------------------

/** True if the page shows a text: as it is written or as CSS shows it, over the borders of elements. */
function pageShows(text) {
  const root = documentElementOf(theDocument);
  if (!root) return false;
  const wanted = collapse(text);
  const isThere = (reading) => reading.includes(wanted);
  if (rawTextOf(root).includes(squeeze(text)) && innermostWithText(root, squeeze(text), isThere).length > 0) return true;
  return readings(computeText(root, true)).some(isThere);
}

function checkText({ text }) {
  if (pageShows(text)) return passed();
  return failed(() => {
    const inOtherCase = readingsOf(documentElementOf(theDocument)).find((reading) => reading.toLowerCase().includes(fold(text)));
    const nearest = nearestTo({ by: "text", value: text }, "see").map((said) => said.replace(/^text /, ""));
    let actual = "it does not";
    if (inOtherCase) {
      const start = inOtherCase.toLowerCase().indexOf(fold(text));
      actual = `it shows ${quoted(inOtherCase.slice(start, start + fold(text).length))}, in another case`;
    } else {
      const [hidden] = hiddenWithText(documentElementOf(theDocument), { value: text, exact: false }, squeeze(text));
      if (hidden) actual = `it is in ${tagText(hidden)}, but ${whyHidden(hidden)}`;
      else if (nearest.length > 0) actual = `it does not; nearest is ${nearest[0]}`;
      else if (rawTextOf(documentElementOf(theDocument)) === "") actual = "the page is empty";
    }
    return { kind: "expectation", expected: `the page shows ${quoted(text)}`, actual, nearest };
  });
}

function checkNoText({ text }) {
  if (!pageShows(text)) return passed();
  return failed(() => {
    const [el] = innermostWithText(documentElementOf(theDocument), squeeze(text), (reading) => reading.includes(collapse(text)));
    const where = el && !isRoot(el) ? `, in ${describe(el)}` : "";
    return { kind: "expectation", expected: `the page does not show ${quoted(text)}`, actual: `it does${where}` };
  });
}

function checkTitle({ is }) {
  const title = collapse(titleOf(theDocument));
  return matchesPattern(collapse(is), title) ? passed() : unexpected(`the title is ${quoted(is)}`, `it is ${quoted(title)}`);
}

// --- elements -------------------------------------------------------------------------------------------------------

function checkElement({ target }) {
  const { all, hidden, problem, ambiguous } = find(target, "see");
  if (ambiguous) return ambiguousFailure(target.within, ambiguous);
  const there = target.nth ? all.slice(target.nth - 1, target.nth) : all;
  return there.length > 0 ? passed() : notFound(target, all, hidden, problem);
}

function checkNoElement({ target }) {
  const { all, problem } = find(target, "see");
  if (problem && !target.within) return failed(() => ({ kind: "not_found", expected: `there is no ${describeTarget(target)}`, actual: problem }));
  const there = target.nth ? all.slice(target.nth - 1, target.nth) : all;
  if (there.length === 0) return passed();
  return failed(() => {
    const said = describeAll(there.slice(0, 5));
    const actual = there.length === 1 ? `${said[0]} is there` : `${there.length} are there: ${said.join(", ")}${there.length > 5 ? ", …" : ""}`;
    return { kind: "expectation", expected: `there is no ${describeTarget(target)}`, actual };
  });
}

function checkCount({ target, least, most }) {
  const { all, hidden, problem, ambiguous } = find(target, "see");
  if (ambiguous) return ambiguousFailure(target.within, ambiguous);
  const count = all.length;
  const upTo = most ?? Number.POSITIVE_INFINITY;
  if (!problem && count >= least && count <= upTo) return passed();
  return failed(() => {
    const range = most === least ? `${least}` : most === null || most === undefined ? `at least ${least}` : least === 0 ? `at most ${most}` : `${least} to ${most}`;
    const more = hidden.length > 0 ? ` (${hidden.length} more can't be seen)` : "";
    const said = count > 0 && count <= 10 ? `: ${describeAll(all).join(", ")}` : "";
    return {
      kind: "expectation",
      expected: `the number of ${describeTarget(target)} is ${range}`,
      actual: problem ?? `it is ${count}${more}${said}`,
      nearest: count === 0 ? nearestTo(target, "see") : [],
    };
  });
}

function notFound(target, all, hidden, problem) {
  return failed(() => {
    const why = whyMissing(target, all, hidden, problem);
    return { kind: "not_found", expected: `there is ${describeTarget(target)}`, actual: why ?? "there is no such element", nearest: nearestTo(target, "see") };
  });
}

function ambiguousFailure(target, elements) {
  return failed(() => ({
    kind: "ambiguous",
    expected: `there is one ${describeTarget(target)}`,
    actual: `${elements.length} match`,
    nearest: describeAll(elements.slice(0, 10)),
  }));
}

/** Looks at the one element that a target means. */
function withOne(target, look) {
  const { all, hidden, problem, ambiguous } = find(target, "see");
  if (ambiguous) return ambiguousFailure(target.within, ambiguous);
  const meant = meantBy(target, "see", all);
  if (meant.length === 0) return notFound(target, all, hidden, problem);
  if (meant.length > 1) return ambiguousFailure(target, meant);
  return look(meant[0]);
}

const VALUED = new Set(["input", "textarea", "select", "output", "meter", "progress"]);

/** The field that a check of a value or a state is about: that of a label, too. */
const fieldOf = (el) => (VALUED.has(localNameOf(el)) || ACTED_ROLES.has(roleOf(el)) ? el : (controlFor(el) ?? el));

function checkValue(found, { is }) {
  const el = fieldOf(found);
  const expected = `the value of ${describe(el)} is ${quoted(is)}`;
  const value = valueOf(el);
  if (value === null) return unexpected(expected, "it has no value: it is not a field");
  if (valuesOf(el, value).some((one) => one === is || collapse(one) === collapse(is))) return passed();
  if (isPassword(el)) return unexpected(`the value of ${describe(el)} is as expected`, `it is another one, of ${value.length} characters`);
  const shown = isTag(el, "select") ? Array.from(el.selectedOptions, (option) => collapse(option.label)).join(", ") : value;
  return unexpected(expected, shown === "" ? "it is empty" : `it is ${quoted(shorten(shown, 200))}`);
}

function valuesOf(el, value) {
  if (!isTag(el, "select")) return [value];
  const options = Array.from(el.selectedOptions);
  return [options.map((option) => option.value).join(", "), options.map((option) => collapse(option.label)).join(", ")];
}

function checkState(found, { state }) {
  const el = fieldOf(found);
  const expected = `${describe(el)} is ${state}`;
  switch (state) {
    case "checked":
    case "unchecked": {
      const checked = checkedStateOf(el);
      if (checked === null) return unexpected(expected, "it is nothing that can be checked");
      if (checked === "mixed") return unexpected(expected, "it is neither: partly checked");
      if ((checked === "true") === (state === "checked")) return passed();
      return unexpected(expected, checked === "true" ? "it is checked" : "it is not checked");
    }
    case "enabled":
    case "disabled": {
      const disabled = disabledBy(el);
      if ((disabled !== null) === (state === "disabled")) return passed();
      if (!disabled) return unexpected(expected, "it is enabled");
      return unexpected(expected, disabled === el ? "it is disabled" : `${describe(disabled)} around it is disabled`);
    }
    case "focused": {
      const active = focusedElement();
      if (active && holds(el, active)) return passed();
      const isNowhere = !active || isRoot(active);
      return unexpected(expected, isNowhere ? "nothing has the focus" : `the focus is on ${describe(active)}`);
    }
    default:
      return unexpected(expected, `${quoted(state)} is not a state`);
  }
}

const ADDRESSES = new Set(["href", "src", "action", "formaction", "poster"]);

function checkAttribute(el, { name, is }) {
  const expected = `${name} of ${describe(el)} is ${quoted(is)}`;
  const value = attributeOf(el, name);
  if (value === null) return unexpected(expected, "it has no such attribute");
  if (value === is || collapse(value) === collapse(is)) return passed();
  if (ADDRESSES.has(name.toLowerCase()) && sameAddress(value, is, el)) return passed();
  return unexpected(expected, `it is ${quoted(shorten(value, 200))}`);
}

/** True if two addresses lead to the same place; a path alone leaves out the host. */
function sameAddress(value, is, el) {
  try {
    const there = new URL(value, el.baseURI);
    const wanted = new URL(is, el.baseURI);
    if (there.href === wanted.href) return true;
    return is.startsWith("/") && there.pathname + there.search + there.hash === is;
  } catch {
    return false;
  }
}

function checkStyle(el, { name, is }) {
  const expected = `${name} of ${describe(el)} is ${quoted(is)}`;
  const value = styleOf(el).getPropertyValue(name).trim();
  if (value === "") return unexpected(expected, "there is no such property");
  return sameStyle(value, is.trim(), el) ? passed() : unexpected(expected, `it is ${quoted(value)}`);
}

const WEIGHTS = { normal: "400", bold: "700" };

/** True if two values of a property mean the same. */
function sameStyle(value, is, el) {
  const plain = (text) => text.toLowerCase().replace(/["']/g, "").replace(/\s*,\s*/g, ",").replace(/\s+/g, " ");
  if (plain(value) === plain(is) || value === WEIGHTS[is]) return true;
  const [one, other] = [pixelsOf(value, el), pixelsOf(is, el)];
  if (one !== null && other !== null) return Math.abs(one - other) < 0.05;
  if (CSS.supports("color", value) && CSS.supports("color", is) && is !== "currentcolor") {
    const [there, wanted] = [colourOf(value), colourOf(is)];
    return there.every((part, at) => Math.abs(part - wanted[at]) <= (at === 3 ? 0.005 : 1));
  }
  return false;
}

/** A length in pixels; null for what is none. */
function pixelsOf(text, el) {
  const match = /^(-?[\d.]+)(px|rem|em)?$/.exec(text);
  if (!match) return null;
  const number = Number(match[1]);
  if (match[2] === "rem") return number * Number.parseFloat(styleOf(documentElementOf(documentOf(el))).fontSize);
  if (match[2] === "em") return number * Number.parseFloat(styleOf(el).fontSize);
  return number;
}

// --- the tree -------------------------------------------------------------------------------------------------------

function checkTree({ lines }) {
  const there = forest(outlineLines());
  const wanted = forest(lines.map((line, at) => ({ ...line, role: normalRole(line.role), at })));
  const course = { far: -1, parent: null };
  if (matchForest(wanted, there, null, course)) return passed();
  return failed(() => {
    const line = lines[Math.max(0, course.far)] ?? lines[0];
    const said = line.name === null || line.name === undefined ? line.role : `${line.role} ${quoted(line.name)}`;
    const place = course.parent ? ` in ${course.parent.role}${course.parent.name ? ` ${quoted(course.parent.name)}` : ""}` : "";
    const known = line.name ? nearestTo({ by: "role", role: line.role, name: line.name }, "see") : [];
    return {
      kind: "expectation",
      expected: `the tree has ${said}${place} (line ${Math.max(0, course.far) + 1})`,
      actual: known.length > 0 ? `it has not, in this place and order; nearest is ${known[0]}` : "it has not, in this place and order",
      nearest: known,
    };
  });
}

/** Lines as a tree. */
function forest(lines) {
  const roots = [];
  const open = [];
  for (const line of lines) {
    const node = { ...line, children: [] };
    while (open.length > 0 && open[open.length - 1].depth >= line.depth) open.pop();
    (open.length > 0 ? open[open.length - 1].children : roots).push(node);
    open.push(node);
  }
  return roots;
}

/** True if the wanted nodes are there in this order, each with its children somewhere inside of it. */
function matchForest(wanted, there, parent, course) {
  const flat = [];
  const walk = (nodes) => {
    for (const node of nodes) {
      const at = flat.length;
      flat.push({ node, end: 0 });
      walk(node.children);
      flat[at].end = flat.length;
    }
  };
  walk(there);
  // The first place for each node leaves the most room for those behind it.
  let from = 0;
  for (const node of wanted) {
    let found = false;
    for (let at = from; at < flat.length && !found; at += 1) {
      if (!sameLine(node, flat[at].node)) continue;
      if (!matchForest(node.children, flat[at].node.children, node, course)) continue;
      found = true;
      from = flat[at].end;
    }
    if (!found) {
      if (node.at > course.far) Object.assign(course, { far: node.at, parent });
      return false;
    }
  }
  return true;
}

function sameLine(wanted, there) {
  if (wanted.role !== there.role) return false;
  return wanted.name === null || wanted.name === undefined || matchesPattern(collapse(wanted.name), there.name);
}

// --- pictures and links ---------------------------------------------------------------------------------------------

/** Pictures are decoded to know whether they are broken, so this check waits in its own way. */
async function checkImages(limit) {
  const end = now() + (limit ?? 0);
  for (;;) {
    beginPass();
    const pictures = allElements().filter((el) => isTag(el, "img") && (attributeOf(el, "src") || attributeOf(el, "srcset") || el.currentSrc) && isRendered(el));
    const loading = pictures.filter((el) => !el.complete && el.loading !== "lazy");
    const suspects = pictures.filter((el) => el.complete && el.naturalWidth === 0);
    const broken = (await Promise.all(suspects.map(async (el) => ((await decodes(el)) ? null : el)))).filter(Boolean);
    if (broken.length === 0 && loading.length === 0) return { ok: true };
    if (now() >= end) return imagesAnswer(broken, loading);
    const pause = Math.min(end, now() + BETWEEN_LOOKS);
    while (now() < pause) await nextFrame();
  }
}

const decodes = (el) =>
  el.decode().then(
    () => true,
    () => false,
  );

function imagesAnswer(broken, loading) {
  beginPass();
  const findings = [
    ...broken.map((el) => `${pictureText(el)} is broken`),
    ...loading.map((el) => `${pictureText(el)} is still loading`),
  ];
  return { ok: false, kind: "expectation", expected: "all pictures of the page are there", ...summaryOf(findings), nearest: [] };
}

function pictureText(el) {
  const source = attributeOf(el, "src") || el.currentSrc || "";
  const alt = collapse(attributeOf(el, "alt") ?? "");
  return `img ${alt === "" ? "" : `${quoted(shorten(alt, 40))} `}(${shorten(source, 120)})`;
}

/** Findings, and a sentence of them. */
function summaryOf(findings) {
  const first = findings.slice(0, 3).join("; ");
  const actual = findings.length === 1 ? first : `${findings.length} faults: ${first}${findings.length > 3 ? "; …" : ""}`;
  return { actual, findings: findings.slice(0, FINDINGS_MOST) };
}

function checkLinks() {
  const links = new Map();
  const dead = [];
  for (const el of allElements()) {
    if ((!isTag(el, "a") && !isTag(el, "area")) || !hasAttribute(el, "href") || !isVisible(el)) continue;
    if (el.protocol !== "http:" && el.protocol !== "https:") continue;
    const url = new URL(el.href);
    const fragment = url.hash;
    url.hash = "";
    if (!links.has(url.href)) links.set(url.href, { url: url.href, text: describe(el) });
    const own = new URL(documentOf(el).URL);
    own.hash = "";
    if (url.href === own.href && isDeadFragment(el, fragment)) dead.push({ url: el.href, text: describe(el) });
  }
  return passed({ links: [...links.values()], dead });
}

/** True for a fragment of this document that no element has; routes of applications and the top are none. */
function isDeadFragment(el, fragment) {
  if (fragment.length < 2 || /[/!=?]/.test(fragment) || fragment === "#top" || hasAttribute(el, "role") || hasAttribute(el, "onclick")) return false;
  const root = documentOf(el);
  let id = fragment.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // It is taken as it is written.
  }
  if (id.startsWith(":~:")) return false;
  return !byIdIn(root, id) && !byIdIn(root, fragment.slice(1)) && !Array.from(selectAllIn(root, "a[name]")).some((anchor) => attributeOf(anchor, "name") === id);
}

// --- the whole page -------------------------------------------------------------------------------------------------

// Findings that did not change for so long are final: no need to wait for the end of the limit.
const FINAL_AFTER = 2000;

function findingsAnswer(findings, expected, more, course) {
  if (findings.length === 0) return passed(more);
  const all = findings.join("\n");
  if (all !== course.findings) Object.assign(course, { findings: all, since: now() });
  const answer = failed(() => ({ kind: "expectation", expected, ...summaryOf(findings), ...more }));
  return now() - course.since >= FINAL_AFTER ? { ...answer, done: true } : answer;
}

function checkOverlap({ target }, course) {
  if (!target) return findingsAnswer(findOverlaps(null), "nothing on the page overlaps or is cut off", {}, course);
  return withOne(target, (el) => findingsAnswer(findOverlaps(el), `nothing in ${describe(el)} overlaps or is cut off`, {}, course));
}

function checkAccessible(rules, course) {
  const { findings, notJudged } = findInaccessible(rules);
  return findingsAnswer(findings, "the page is accessible", { not_judged: notJudged }, course);
}

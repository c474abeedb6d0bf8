// Elements made ready for a step: found, in view, and such that a user could act on them.

const POINTED = new Set(["click", "hover", "type", "select"]);
// How an element is scrolled into view, one way after the other while something covers it.
const SCROLLS = ["center", "end", "start", "center", "end", "start"];

// Looks that are needed to see that an element stands still, and to scroll it into view in one way or another.
const LOOKS_LEAST = 4;

async function ready({ target, wants, limit }) {
  library.chosen = null;
  const course = { element: null, rect: null, still: 0, scrolls: 0 };
  const answer = await until(limit, () => lookReady(target, wants, course), LOOKS_LEAST);
  return answer.value();
}

const notYet = (value, again = false) => ({ done: false, again, value });
const blocked = (el, why, again) => notYet(() => ({ state: "blocked", why, element: describe(el) }), again);

function lookReady(target, wants, course) {
  const { all, hidden, problem, ambiguous } = find(target, wants);
  if (ambiguous) return notYet(() => ambiguousAnswer(ambiguous));
  const meant = meantBy(target, wants, all);
  if (meant.length === 0) return notYet(() => missingAnswer(target, wants, all, hidden, problem));
  if (meant.length > 1) return notYet(() => ambiguousAnswer(meant));
  const el = standIn(meant[0], wants);
  const hindrance = whyNot(el, wants);
  if (hindrance) return blocked(el, hindrance);
  if (wants === "upload") return readyAnswer(el, null);
  return lookInPlace(el, wants, course);
}

/** True at once, without a wait for the second frame, where nothing is pointed at. */
function lookInPlace(el, wants, course) {
  const shown = pointedElement(el);
  const rect = topRect(boxOf(shown), documentOf(shown));
  course.still = course.element === el && sameRect(course.rect, rect) ? course.still + 1 : 0;
  course.element = el;
  course.rect = rect;
  if (!POINTED.has(wants)) {
    if (!isInView(shown) && course.scrolls < 1) {
      course.scrolls += 1;
      scrollTo(shown, "center");
      return blocked(el, "it is not in view", true);
    }
    return readyAnswer(el, { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 });
  }
  if (course.still === 0 || (course.still < STILL_FRAMES && isAnimated(shown))) return blocked(el, "it is moving", true);
  const point = pointOf(el, shown);
  if (point.hit) return readyAnswer(el, point);
  if (course.scrolls < SCROLLS.length) {
    scrollTo(shown, SCROLLS[course.scrolls]);
    course.scrolls += 1;
    beginPass();
    course.rect = topRect(boxOf(shown), documentOf(shown));
    return blocked(el, point.why, course.scrolls <= SCROLLS.length / 2);
  }
  return blocked(el, point.why);
}

// An animation that has not begun yet, or pauses, does not move its element for some frames; one that does not move it
// for so many is another kind of animation.
const STILL_FRAMES = 12;
const MOVES = /^(transform|translate|scale|rotate|left|right|top|bottom|inset|width|height|min|max|margin|padding|offset|flex|grid|font)/;

/** True if an animation that comes to an end moves an element, or what is around it. */
function isAnimated(el) {
  return allDocuments().some((doc) => animationsOfDocument(doc).some((animation) => {
    if (animation.playState !== "running" || !animation.effect?.target || isScrolled(animation)) return false;
    if (!Number.isFinite(Number(animation.effect.getComputedTiming().endTime)) || !holds(animation.effect.target, el)) return false;
    return animation.effect.getKeyframes().some((frame) => Object.keys(frame).some((property) => MOVES.test(property)));
  }));
}

const sameRect = (one, other) => one !== null && ["x", "y", "width", "height"].every((side) => Math.abs(one[side] - other[side]) < 0.1);

function readyAnswer(el, point) {
  return {
    done: true,
    value: () => {
      library.chosen = el;
      const box = topRect(boxOf(el), documentOf(el));
      return {
        state: "ready",
        x: point?.x ?? box.x + box.width / 2,
        y: point?.y ?? box.y + box.height / 2,
        box,
        tag: localNameOf(el),
        type: isHtml(el) && ["input", "button", "select", "textarea"].includes(localNameOf(el)) ? el.type : isEditable(el) === true ? "editable" : "",
        element: describe(el),
        frame: documentOf(el) !== theDocument,
      };
    },
  };
}

function ambiguousAnswer(elements) {
  return { state: "ambiguous", matches: describeAll(elements.slice(0, 20)), count: elements.length };
}

function missingAnswer(target, wants, all, hidden, problem) {
  const answer = { state: "missing", nearest: nearestTo(target, wants) };
  const why = whyMissing(target, all, hidden, problem);
  if (why) answer.why = why;
  return answer;
}

function whyMissing(target, all, hidden, problem) {
  if (target.nth && all.length > 0) return `there ${all.length === 1 ? "is only 1" : `are only ${all.length}`}`;
  if (hidden.length === 0 && !problem) return foreignFrames();
  if (hidden.length > 0) return `${describeHidden(hidden[0])} is there, but ${whyHidden(hidden[0])}`;
  return problem;
}

/** What could not be looked into; null if there is nothing. */
function foreignFrames() {
  const frames = allElements().filter((el) => isTag(el, "iframe") && /^https?:/.test(el.src) && !frameDocument(el) && isVisible(el));
  return frames.length === 0 ? null : `frames of another origin are not looked into: ${frames.slice(0, 3).map(tagText).join(", ")}`;
}

/** The element that a step acts on, where a target names one that stands for it: a label, a host of a field. */
function standIn(el, wants) {
  if (wants === "upload") return fileInputFor(el) ?? el;
  if (wants !== "type" && wants !== "select" && wants !== "focus") return el;
  if (wants !== "focus" && canBe(el, wants)) return el;
  if (wants === "type") {
    const host = closestWhere(el, (at) => isEditable(at) === true && isEditingHost(at));
    if (host) return host;
  }
  const control = controlFor(el);
  if (control && (wants === "focus" || canBe(control, wants))) return control;
  if (wants === "focus") return el;
  const inside = allElements().filter((other) => other !== el && canBe(other, wants) && isVisible(other) && holds(el, other));
  return inside.length === 1 ? inside[0] : el;
}

/** The reason why a user could not act on an element that is there; null if there is none. */
function whyNot(el, wants) {
  if (!canBe(el, wants) && wants === "type") return "nothing can be typed into it";
  if (!canBe(el, wants) && wants === "select") return "it is not a <select>: click it, then click the option";
  if (!canBe(el, wants) && wants === "upload") return "it is not a field for files";
  if (isOption(el) && closestTo(el, "select") && wants === "click") return "it is an option of a <select>: use `select`";
  if (wants === "see") return null;
  if (isInert(el)) return whyInert(el);
  if (wants === "hover") return null;
  const disabled = disabledBy(el);
  if (disabled) return disabled === el ? "it is disabled" : `${describe(disabled)} around it is disabled`;
  if (wants === "type" && (el.readOnly === true || attributeOf(el, "aria-readonly") === "true")) return "it is read-only";
  return null;
}

/** The element that makes another one disabled: itself, its field set, what it is a part of. */
function disabledBy(el) {
  for (let at = el; at; at = parentOf(at)) {
    if (isHtml(at) && localNameOf(at) !== "fieldset" && localNameOf(at) !== "optgroup" && isDisabledNatively(at)) {
      const set = closestTo(at, "fieldset:disabled");
      return set && !hasAttribute(at, "disabled") ? set : at;
    }
    if (attributeOf(at, "aria-disabled") === "true") return at;
    // A field set disables controls; a text inside of it can be clicked.
    if (at === el && isTag(at, "label") && at.control && isDisabledNatively(at.control)) return at.control;
  }
  return null;
}

/** The element whose place is pointed at: for a control that can't be seen, its label. */
function pointedElement(el) {
  if (isVisible(el) && !isForScreenReaders(el)) return el;
  return labelsOf(el).find(isVisible) ?? el;
}

/** A point at which an input of the user reaches the element, or the reason why there is none. */
function pointOf(el, shown) {
  const found = pointOn(el, shown);
  if (found.hit || shown !== el) return found;
  for (const label of labelsOf(el).filter(isVisible)) {
    const other = pointOn(el, label);
    if (other.hit) return other;
  }
  return found;
}

function pointOn(el, shown) {
  const doc = documentOf(shown);
  const view = viewOf(doc);
  let why = "it is outside of the page: it can't be scrolled into view";
  for (const rect of hitRects(shown)) {
    const seen = intersection(rect, view);
    if (!seen) continue;
    const points = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75]];
    for (const [at, [partX, partY]] of points.entries()) {
      const point = topRect({ x: seen.x + seen.width * partX, y: seen.y + seen.height * partY, width: 0, height: 0 }, doc);
      const hit = hitAt(point.x, point.y);
      if (hit && reaches(hit, el)) return { x: point.x, y: point.y, hit };
      if (at === 0) why = whyUnreached(el, hit);
    }
  }
  return { hit: null, why };
}

/** Boxes of an element in which it may be hit: of each of its lines. */
function hitRects(el) {
  const rects = isTag(el, "area") ? [] : Array.from(rectsOf(el)).filter((rect) => rect.width > 0 && rect.height > 0);
  return rects.length > 0 ? rects.slice(0, 4) : [boxOf(el)];
}

function viewOf(doc) {
  const win = windowOf(doc);
  return { x: 0, y: 0, width: win.innerWidth, height: win.innerHeight };
}

function intersection(one, other) {
  const x = Math.max(one.x, other.x);
  const y = Math.max(one.y, other.y);
  const width = Math.min(one.x + one.width, other.x + other.width) - x;
  const height = Math.min(one.y + one.height, other.y + other.height) - y;
  return width > 0 && height > 0 ? { x, y, width, height } : null;
}

/** True if an input at `hit` is one on `el`. */
function reaches(hit, el) {
  if (holds(el, hit)) return true;
  const label = closestWhere(hit, (at) => isTag(at, "label"));
  if (label && label.control === el) return true;
  if (isTag(el, "label") && el.control === hit) return true;
  if (isTag(el, "area") && hit === pictureOfArea(el)) return true;
  // A part of a button that takes no input itself: the button gets it.
  const acted = closestWhere(el, (at) => ACTED_ROLES.has(roleOf(at)));
  if (acted && acted !== el) return holds(acted, hit);
  return holds(hit, el) && styleOf(el).pointerEvents === "none" && !ACTED_ROLES.has(roleOf(el));
}

function whyUnreached(el, hit) {
  if (!hit) return "it is outside of the view";
  if (styleOf(el).pointerEvents === "none") return "it takes no input (pointer-events: none)";
  if (holds(hit, el)) return `${tagText(hit)} around it cuts it off or takes its input`;
  const cover = closestWhere(hit, (at) => !holds(at, el) && (isTag(at, "dialog") || ["fixed", "absolute", "sticky"].includes(styleOf(at).position)));
  return `it is covered by ${describe(cover ?? hit)}`;
}

function isInView(el) {
  const doc = documentOf(el);
  return intersection(boxOf(el), viewOf(doc)) !== null && (doc === theDocument || isInView(frameElementOf(doc)));
}

function scrollTo(el, block) {
  const at = isTag(el, "area") ? (pictureOfArea(el) ?? el) : hasSize(el) ? el : (childrenOf(el).find((child) => isElement(child) && hasSize(child)) ?? el);
  scrollElementIntoView(at, { behavior: "instant", block, inline: block === "center" ? "nearest" : "center" });
}

// --- what is done with the chosen element ---------------------------------------------------------------------------

async function focus() {
  const el = library.chosen;
  if (!el || !isConnected(el)) return { focused: false, why: "it is not in the page any more" };
  beginPass();
  focusOn(el);
  const active = focusedElement();
  return active && holds(el, active) ? { focused: true } : { focused: false, why: "it does not take the focus" };
}

function focusOn(el) {
  const active = focusedElement();
  if (active !== el) focusElement(el, { preventScroll: true });
}

const SET_BY_VALUE = {
  date: "2026-12-31",
  time: "13:45",
  month: "2026-12",
  week: "2026-W53",
  "datetime-local": "2026-12-31T13:45",
  color: "#3366ff",
  range: "a number",
};

async function fill({ append, text } = {}) {
  const el = library.chosen;
  if (!el || !isConnected(el)) return { typed: false, why: "it is not in the page any more" };
  beginPass();
  focusOn(el);
  const isInput = isTag(el, "input");
  if (isInput && el.type in SET_BY_VALUE) return text === undefined ? { typed: false } : setValue(el, text);
  const active = focusedElement();
  if (!active || !holds(el, active)) return { typed: false, why: `the focus went to ${active ? describe(active) : "nothing"}` };
  selectContent(el, Boolean(append));
  if (text !== "" || append) return { typed: false };
  execCommandOf(documentOf(el), "delete");
  return { typed: true };
}

function setValue(el, text) {
  const before = el.value;
  el.value = text;
  const isTaken = el.type === "range" ? Number(el.value) === Number(text) : el.value !== "" && (el.type !== "color" || el.value === text.trim().toLowerCase());
  if (text !== "" && !isTaken) {
    el.value = before;
    const hint = el.type === "range" ? `it takes ${el.min || 0} to ${el.max || 100} in steps of ${el.step || 1}` : `write it as ${SET_BY_VALUE[el.type]}`;
    return { typed: false, why: `${quoted(text)} is not a value of this ${el.type} field: ${hint}` };
  }
  if (el.value !== before) tellOfChange(el);
  return { typed: true };
}

function tellOfChange(el) {
  dispatchOn(el, new Event("input", { bubbles: true, composed: true }));
  dispatchOn(el, new Event("change", { bubbles: true }));
}

function selectContent(el, atEnd) {
  if (isTag(el, "input") || isTag(el, "textarea")) {
    if (!atEnd) el.select();
    else if (el.selectionStart === null) selectionOf(documentOf(el)).modify("move", "forward", "documentboundary");
    else el.setSelectionRange(el.value.length, el.value.length);
    return;
  }
  const range = rangeIn(documentOf(el));
  range.selectNodeContents(el);
  if (atEnd) range.collapse(false);
  const selection = selectionOf(documentOf(el));
  selection.removeAllRanges();
  selection.addRange(range);
}

async function chooseOptions({ options, limit }) {
  const el = library.chosen;
  if (!el || !isConnected(el) || !isTag(el, "select")) return { state: "missing", there: [], why: "it is not a <select> of the page any more" };
  const answer = await until(limit, () => lookForOptions(el, options));
  if (!answer.done) return answer.value();
  const picked = new Set(answer.picked);
  const before = Array.from(el.selectedOptions);
  focusOn(el);
  for (const option of el.options) if (el.multiple || picked.has(option)) option.selected = picked.has(option);
  if (before.length !== picked.size || before.some((option) => !picked.has(option))) tellOfChange(el);
  return { state: "done", chosen: answer.picked.map((option) => collapse(option.label)) };
}

function lookForOptions(el, wanted) {
  const there = Array.from(el.options).filter((option) => !option.hidden);
  const said = () => there.slice(0, 30).map((option) => collapse(option.label) + (isDisabledNatively(option) ? " (disabled)" : ""));
  const missing = (why) => notYet(() => ({ state: "missing", there: said(), why }));
  if (wanted.length > 1 && !el.multiple) return missing("it takes one option");
  const picked = [];
  for (const text of wanted) {
    const option = optionCalled(there, text);
    if (!option) return missing(`there is no option ${quoted(text)}`);
    if (isDisabledNatively(option)) return missing(`option ${quoted(text)} is disabled`);
    picked.push(option);
  }
  return { done: true, picked };
}

/** The option with a label, else with a value; in another case only where no option has it as it is written. */
function optionCalled(options, text) {
  const wanted = collapse(text);
  return (
    options.find((option) => collapse(option.label) === wanted) ??
    options.find((option) => option.value === text) ??
    options.find((option) => fold(option.label) === fold(text))
  );
}

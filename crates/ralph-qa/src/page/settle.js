// A page that holds still for a picture, and goes on afterwards.

const STILL_CSS = `
  *, *::before, *::after { transition: none !important; caret-color: transparent !important; scroll-behavior: auto !important; }
`;
const SETTLE_LIMIT = 3000;

// What was changed, to be undone: sheets by their root, and animations that were stopped.
const settled = { sheets: [], stopped: [] };

async function settle({ limit } = {}) {
  const end = now() + (limit ?? SETTLE_LIMIT);
  beginPass();
  for (const root of allRoots()) addStillSheet(root);
  let last = null;
  for (;;) {
    beginPass();
    stopAnimations();
    const waits = waitsFor();
    const layout = layoutText();
    if (!waits && layout === last) return { settled: true };
    if (now() >= end) return { settled: false, why: waits ?? "the layout keeps changing" };
    last = layout;
    await nextFrame();
  }
}

async function unsettle() {
  for (const { root, sheet } of settled.sheets) {
    root.adoptedStyleSheets = Array.from(root.adoptedStyleSheets).filter((other) => other !== sheet);
  }
  for (const animation of settled.stopped) if (animation.playState === "paused") animation.play();
  settled.sheets = [];
  settled.stopped = [];
  return {};
}

function addStillSheet(root) {
  if (settled.sheets.some((known) => known.root === root)) return;
  const doc = typeOfNode(root) === NODE_DOCUMENT ? root : documentOf(root);
  const view = windowOf(doc);
  if (!view) return;
  const sheet = new view.CSSStyleSheet();
  sheet.replaceSync(STILL_CSS);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  settled.sheets.push({ root, sheet });
}

/** Animations that end are taken to their end; those that don't are stopped at their beginning. */
function stopAnimations() {
  for (const doc of allDocuments()) {
    for (const animation of animationsOfDocument(doc)) {
      if (animation.playState !== "running" || !animation.effect || isScrolled(animation)) continue;
      const { endTime, delay } = animation.effect.getComputedTiming();
      if (Number.isFinite(Number(endTime)) && animation.playbackRate !== 0) {
        animation.finish();
      } else {
        animation.pause();
        animation.currentTime = Math.max(0, Number(delay) || 0);
        settled.stopped.push(animation);
      }
    }
  }
}

const isScrolled = (animation) => animation.timeline !== null && !("currentTime" in animation.timeline && typeof (animation.timeline.currentTime ?? 0) === "number");

/** What the page still waits for; null if there is nothing. */
function waitsFor() {
  for (const doc of allDocuments()) {
    if (readyStateOf(doc) === "loading") return "the document is still loading";
    if (fontsOf(doc).status === "loading") return "fonts are still loading";
  }
  const loading = allElements().filter((el) => isTag(el, "img") && !el.complete && isRendered(el) && (el.loading !== "lazy" || isInView(el)));
  return loading.length === 0 ? null : `${loading.length === 1 ? "1 image is" : `${loading.length} images are`} still loading`;
}

/** The places of what is in view, as a text: equal for two frames that look the same. */
function layoutText() {
  const root = documentElementOf(theDocument);
  const parts = [scrollWidthOf(root), scrollHeightOf(root), theWindow.scrollX, theWindow.scrollY];
  for (const el of allElements().slice(0, 3000)) {
    const rect = rectOf(el);
    parts.push(Math.round(rect.x * 10), Math.round(rect.y * 10), Math.round(rect.width * 10), Math.round(rect.height * 10));
  }
  return parts.join(" ");
}

async function boxes({ targets }) {
  beginPass();
  const answer = { boxes: [], missing: [] };
  for (const [at, target] of targets.entries()) {
    const { all } = find(target, "see");
    const meant = target.nth ? all.slice(target.nth - 1, target.nth) : all;
    if (meant.length === 0) answer.missing.push(at);
    for (const el of meant) {
      const box = topRect(boxOf(el), documentOf(el));
      answer.boxes.push({ target: at, x: box.x + theWindow.scrollX, y: box.y + theWindow.scrollY, width: box.width, height: box.height });
    }
  }
  return answer;
}

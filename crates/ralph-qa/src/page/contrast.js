// Contrast of texts with what is behind them, as WCAG 2 reckons it.

// Colours that were read once: [red, green, blue] from 0 to 255, and alpha from 0 to 1.
const COLOURS = new Map();
let paintedPixel = null;

function colourOf(text) {
  let colour = COLOURS.get(text);
  if (!colour) COLOURS.set(text, (colour = readColour(text)));
  return colour;
}

function readColour(text) {
  const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
  if (plain) return [Number(plain[1]), Number(plain[2]), Number(plain[3]), plain[4] === undefined ? 1 : Number(plain[4])];
  paintedPixel ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  paintedPixel.clearRect(0, 0, 1, 1);
  paintedPixel.fillStyle = "rgba(0, 0, 0, 0)";
  paintedPixel.fillStyle = text;
  paintedPixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = paintedPixel.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}

/** One colour put over another one. */
function over(top, bottom) {
  const alpha = top[3] + bottom[3] * (1 - top[3]);
  if (alpha === 0) return [0, 0, 0, 0];
  const mix = (at) => (top[at] * top[3] + bottom[at] * bottom[3] * (1 - top[3])) / alpha;
  return [mix(0), mix(1), mix(2), alpha];
}

const faded = (colour, opacity) => [colour[0], colour[1], colour[2], colour[3] * opacity];

function luminanceOf(colour) {
  const linear = (value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

function contrastOf(one, other) {
  const lighter = Math.max(luminanceOf(one), luminanceOf(other));
  const darker = Math.min(luminanceOf(one), luminanceOf(other));
  return (lighter + 0.05) / (darker + 0.05);
}

/** A colour as people write it: `#aaa`, `#12ab34`. */
function hexOf(colour) {
  const pairs = colour.slice(0, 3).map((value) => Math.round(value).toString(16).padStart(2, "0"));
  return pairs.every((pair) => pair[0] === pair[1]) ? `#${pairs.map((pair) => pair[0]).join("")}` : `#${pairs.join("")}`;
}

/** The colour of the page where nothing is painted. */
const canvasColour = () => (pass.canvas ??= readCanvasColour());

function readCanvasColour() {
  const root = documentElementOf(theDocument);
  const scheme = styleOf(root).colorScheme;
  const isDark = scheme.includes("dark") && (!scheme.includes("light") || theWindow.matchMedia("(prefers-color-scheme: dark)").matches);
  return isDark ? [18, 18, 18, 1] : [255, 255, 255, 1];
}

const NOT_JUDGED = "not judged";

/**
 * The contrast of the text of an element: `{ratio, needed, text, behind}`, or NOT_JUDGED where it stands over a
 * picture, or is painted in a way whose colours can't be known.
 */
function judgeContrast(el, colour, rect) {
  const style = styleOf(el);
  if (style.textShadow !== "none" || style.backgroundClip.includes("text")) return NOT_JUDGED;
  let text = colour;
  let behind = [0, 0, 0, 0];
  const center = { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
  for (let at = el; at; at = parentOf(at)) {
    const own = paintOf(at);
    if (own.mixes) return NOT_JUDGED;
    if ((own.image || own.background[3] > 0) && (isRoot(at) || contains(rectOf(at), center, documentOf(at) === documentOf(el)))) {
      if (own.image && behind[3] < 1) return NOT_JUDGED;
      text = over(text, own.background);
      behind = over(behind, own.background);
    }
    if (own.opacity < 1) {
      text = faded(text, own.opacity);
      behind = faded(behind, own.opacity);
    }
  }
  const canvas = canvasColour();
  text = over(text, canvas);
  behind = over(behind, canvas);
  return { ratio: contrastOf(text, behind), needed: isLargeText(style) ? 3 : 4.5, text, behind };
}

/** What an element itself paints behind its content, and how it changes what is painted. */
function paintOf(el) {
  let paint = pass.paints.get(el);
  if (!paint) {
    const style = styleOf(el);
    const isShown = style.display !== "contents";
    paint = {
      background: isShown ? colourOf(style.backgroundColor) : [0, 0, 0, 0],
      image: isShown && style.backgroundImage !== "none",
      opacity: Number(style.opacity),
      mixes: style.filter !== "none" || style.mixBlendMode !== "normal" || style.backdropFilter !== "none",
    };
    pass.paints.set(el, paint);
  }
  return paint;
}

// The background of the body is painted on the whole page, as that of the root is.
const isRoot = (el) => isTag(el, "html") || isTag(el, "body");

// An inline box may be parted into lines; the text of an element is always inside its own.
const contains = (rect, point, sameDocument) => !sameDocument || (point.x >= rect.x && point.x <= rect.right && point.y >= rect.y && point.y <= rect.bottom);

function isLargeText(style) {
  const size = Number.parseFloat(style.fontSize);
  return size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
}

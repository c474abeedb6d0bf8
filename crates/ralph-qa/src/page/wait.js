// Waiting inside the page, until something holds or the time is over.

/** The next frame; soon, where a page in the background gets none. */
function nextFrame() {
  return new Promise((resolve) => {
    const fallback = setTimeout(resolve, 100);
    requestAnimationFrame(() => {
      clearTimeout(fallback);
      resolve();
    });
  });
}

// The time between two looks at a page that does not change: things can change without a sign of it.
const BETWEEN_LOOKS = 100;

/**
 * Looks at the page until `look` answers with something that is `done`, or the limit is over: then its last answer
 * holds. A look that asks for the next frame (`again`) gets it, at least `least` times, also when the limit is over.
 */
async function until(limit, look, least = 1) {
  const end = now() + (limit ?? 0);
  let changed = true;
  const observer = new MutationObserver(() => {
    changed = true;
  });
  let observed = false;
  try {
    for (let looks = 1; ; looks += 1) {
      beginPass();
      const start = now();
      const answer = look();
      const isOver = now() >= end;
      if (answer.done || (isOver && (!answer.again || looks >= least))) return answer;
      if (!observed) {
        observed = true;
        for (const root of allRoots()) observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      }
      // A look that took long leaves the page some time for itself.
      const took = now() - start;
      const pause = answer.again ? 0 : took;
      changed = false;
      await nextFrame();
      while (now() < Math.min(end, start + took + pause)) await nextFrame();
      while (!answer.again && !changed && now() < Math.min(end, start + Math.max(BETWEEN_LOOKS, 4 * took))) await nextFrame();
    }
  } finally {
    observer.disconnect();
    beginPass();
  }
}

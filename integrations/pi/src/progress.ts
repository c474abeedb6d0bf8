/** The progress of a loop as text: the status line and the lines of the widget. Shows nothing itself. */

import { dollars, duration, oneLine, tokenCount } from "./figures.ts";
import type { LoopState, LoopTotals } from "./state.ts";
import { allTokens } from "./usage.ts";

/** `Ralph iteration: 2/5 · 3.1k tokens · $0.02` */
export function statusText(state: LoopState, totals: LoopTotals): string {
	return `Ralph iteration: ${position(state)} · ${spent(totals)}`;
}

export function widgetLines(state: LoopState, totals: LoopTotals, now: Date, doing: string): string[] {
	const elapsed = duration(now.getTime() - Date.parse(state.startedAt));
	const lines = [`Ralph loop · iteration ${position(state)} · ${elapsed} · ${spent(totals)} · ${doing}`];
	const until = state.completionPromise === null ? "no promise: runs until it is stopped" : `until <promise>${oneLine(state.completionPromise, 80)}</promise>`;
	const contexts = { fresh: "a fresh context each iteration", same: "one context", subagent: "a subagent each iteration" };
	lines.push(`  ${until} · ${contexts[state.context]}${state.verify ? " · verified" : ""}`);
	if (state.lastError !== null) {
		lines.push(`  errors: ${state.errors}, ${state.errorsInRow} in a row, last: ${oneLine(state.lastError, 100)}`);
	}
	lines.push("  /cancel-ralph stops after this iteration, /cancel-ralph now or Esc at once");
	return lines;
}

function position(state: LoopState): string {
	return state.maxIterations > 0 ? `${state.iteration}/${state.maxIterations}` : String(state.iteration);
}

function spent(totals: LoopTotals): string {
	return `${tokenCount(allTokens(totals))} tokens · ${dollars(totals.costUsd)}`;
}

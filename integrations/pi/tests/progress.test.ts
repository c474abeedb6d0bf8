/** Texts of progress: the status line, the widget, a run of ralph's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { dollars, duration, oneLine, plainText, tokenCount } from "../src/figures.ts";
import { statusText, widgetLines } from "../src/progress.ts";
import { newProgress, runLines, takeEvent } from "../src/run.ts";
import type { LoopState } from "../src/state.ts";
import { addCalls, allTokens, callOf, noTotals, textOf, toolCallsOf } from "../src/usage.ts";

const STATE: LoopState = {
	active: true,
	iteration: 2,
	maxIterations: 5,
	completionPromise: "DONE",
	startedAt: "2026-01-02T17:35:00Z",
	owner: { pid: 1, started: null },
	sessionId: "s",
	context: "fresh",
	verify: true,
	loopId: null,
	errors: 2,
	errorsInRow: 1,
	lastError: "500 \u001b[31mred\nsecond line",
	totals: noTotals(),
	prompt: "p",
};
const TOTALS = { input: 3000, output: 100, cacheRead: 20, cacheWrite: 0, costUsd: 0.0123 };

test("the status line says iteration, tokens and cost", () => {
	assert.equal(statusText(STATE, TOTALS), "Ralph iteration: 2/5 · 3.1k tokens · $0.0123");
	assert.equal(statusText({ ...STATE, maxIterations: 0 }, noTotals()), "Ralph iteration: 2 · 0 tokens · $0.00");
});

test("the widget says more, and shows no control characters", () => {
	const now = new Date("2026-01-02T17:36:05Z");
	assert.deepEqual(widgetLines(STATE, TOTALS, now, "running"), [
		"Ralph loop · iteration 2/5 · 1m 05s · 3.1k tokens · $0.0123 · running",
		"  until <promise>DONE</promise> · a fresh context each iteration · verified",
		"  errors: 2, 1 in a row, last: 500 red second line",
		"  /cancel-ralph stops after this iteration, /cancel-ralph now or Esc at once",
	]);
});

test("figures are short", () => {
	assert.deepEqual([999, 1000, 999_949, 999_950, 2_500_000].map(tokenCount), ["999", "1.0k", "999.9k", "1.0M", "2.5M"]);
	assert.deepEqual([0, 0.004, 0.1, 12.345].map(dollars), ["$0.00", "$0.0040", "$0.10", "$12.35"]);
	assert.deepEqual([0, 59_999, 60_000, 3_723_000].map(duration), ["0s", "59s", "1m 00s", "1h 02m"]);
	assert.equal(oneLine("a\n\tb\u0007c", 10), "a bc");
	assert.equal(plainText("\u001b[1;31mred\u001b[0m\r\n\tx\u0000\u001b]0;title\u0007y \u001b[2Jz"), "red\n\txy z");
	assert.equal(oneLine("✅✅✅✅", 3), "✅✅…");
});

test("usage is summed over messages, and input has no cached tokens in it", () => {
	const message = {
		provider: "p",
		model: "m",
		usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.1 } },
		content: [{ type: "text", text: "one" }, { type: "toolCall" }, { type: "thinking", thinking: "x" }, { type: "text", text: "two" }],
	};
	const call = callOf(message);
	assert.deepEqual(call, { model: "p/m", input: 1, output: 2, cacheRead: 3, cacheWrite: 4, costUsd: 0.1 });
	const totals = addCalls(noTotals(), [call, call, call]);
	assert.deepEqual(totals, { input: 3, output: 6, cacheRead: 9, cacheWrite: 12, costUsd: 0.3 });
	assert.equal(allTokens(totals), 30);
	assert.equal(textOf(message), "one\ntwo");
	assert.equal(toolCallsOf(message), 1);
	assert.equal(callOf({}).model, "unknown/unknown");
});

test("a run is followed by its events, and unknown ones are ignored", () => {
	const progress = newProgress(0);
	for (const event of [
		{ event: "loop_started", source: "tasks.md", agent: "claude", tasks: { total: 3, completed: 0 } },
		{ event: "something_new" },
		{ event: "iteration_started", task: "T1", title: "Login", nth: 1 },
		{ event: "landed", commit: "0123456789abcdef" },
		{ event: "iteration_ended", verdict: "verified", usage: { costUsd: 0.5 } },
	]) {
		takeEvent(progress, JSON.stringify(event));
	}
	takeEvent(progress, "no JSON");
	assert.deepEqual(runLines(progress, 61_000), [
		"ralph run · iteration 1 · 0/3 tasks · 1m 01s · $0.50 · claude",
		"  T1 Login",
		"  verdict: verified",
		"  /cancel-ralph stops it",
	]);
	takeEvent(progress, JSON.stringify({ event: "loop_ended", sentence: "all tasks are complete", tasks: { total: 3, completed: 3 } }));
	assert.equal(progress.end, "all tasks are complete");
});

/** Decisions: what follows an iteration, in which order. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { countResult, decide, type IterationResult } from "../src/decision.ts";
import type { LoopState } from "../src/state.ts";
import { noTotals } from "../src/usage.ts";

const OK: IterationResult = { outcome: "ok", error: null, promise: null };
const FAILED: IterationResult = { outcome: "error", error: "401 no", promise: null };

function loop(over: Partial<LoopState> = {}): LoopState {
	return {
		active: true,
		iteration: 1,
		maxIterations: 0,
		completionPromise: "DONE",
		startedAt: "2026-01-02T17:35:07Z",
		owner: { pid: 1, started: null },
		sessionId: "s",
		context: "fresh",
		verify: false,
		loopId: null,
		errors: 0,
		errorsInRow: 0,
		lastError: null,
		totals: noTotals(),
		prompt: "p",
		...over,
	};
}

test("without a limit and a promise a loop goes on", () => {
	const state = loop({ iteration: 1000, completionPromise: null });
	assert.deepEqual(decide(state, { ...OK, promise: "DONE" }), { kind: "next", waitMs: 0 });
});

test("the limit comes before the promise", () => {
	const state = loop({ iteration: 3, maxIterations: 3 });
	const end = { kind: "end", reason: "max_iterations", message: "Ralph: Max iterations (3) reached", type: "info" };
	assert.deepEqual(decide(state, { ...OK, promise: "DONE" }), end);
	assert.equal(decide(loop({ iteration: 2, maxIterations: 3 }), OK).kind, "next");
});

test("a promise ends the loop if it is the loop's own", () => {
	const end = { kind: "end", reason: "promise", message: "Ralph: Completion detected: <promise>DONE</promise>", type: "info" };
	assert.deepEqual(decide(loop(), { ...OK, promise: "DONE" }), end);
	assert.equal(decide(loop(), { ...OK, promise: "done" }).kind, "next");
	assert.deepEqual(decide(loop({ verify: true }), { ...OK, promise: "DONE" }), { kind: "verify", promise: "DONE" });
});

test("a stop by a person comes before everything", () => {
	const state = loop({ iteration: 3, maxIterations: 3 });
	const decision = decide(state, { outcome: "aborted", error: null, promise: null });
	assert.deepEqual(decision, { kind: "end", reason: "aborted", message: "Ralph: Stopped in iteration 3", type: "info" });
});

test("failures wait longer each time, and the third in a row ends the loop", () => {
	const first = countResult(loop(), FAILED);
	assert.deepEqual(decide(first, FAILED), { kind: "next", waitMs: 2000 });
	const second = countResult(first, FAILED);
	assert.deepEqual(decide(second, FAILED), { kind: "next", waitMs: 4000 });
	const third = countResult(second, FAILED);
	assert.deepEqual(decide(third, FAILED), {
		kind: "end",
		reason: "errors",
		message: "Ralph: Stopped after 3 failed iterations in a row: 401 no",
		type: "warning",
	});
	const better = countResult(second, OK);
	assert.deepEqual([better.errors, better.errorsInRow, better.lastError], [2, 0, "401 no"]);
});

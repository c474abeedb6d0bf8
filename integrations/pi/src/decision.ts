/**
 * Decides what follows an iteration. A function of what is known, without effects.
 *
 * The order is fixed: a person's stop, the limit, the promise, failures, and else the next iteration.
 */

import { collapse } from "./promise.ts";
import type { LoopState } from "./state.ts";

/** A loop of which this many iterations in a row fail stops: what fails so often does not pass by itself. */
export const MAX_ERRORS_IN_ROW = 3;

export type IterationOutcome = "ok" | "error" | "aborted";

export type EndReason = "promise" | "max_iterations" | "cancelled" | "aborted" | "errors" | "failed";

/** What an iteration came to. */
export interface IterationResult {
	outcome: IterationOutcome;
	error: string | null;
	/** The promise that its last message makes. */
	promise: string | null;
}

export type LoopDecision =
	| { kind: "end"; reason: EndReason; message: string; type: "info" | "warning" }
	| { kind: "verify"; promise: string }
	| { kind: "next"; waitMs: number };

/** Counts an iteration into the state: errors, and errors in a row. */
export function countResult(state: LoopState, result: IterationResult): LoopState {
	if (result.outcome !== "error") return { ...state, errorsInRow: 0 };
	return {
		...state,
		errors: state.errors + 1,
		errorsInRow: state.errorsInRow + 1,
		lastError: result.error,
	};
}

/** Decides what follows; the state has the result counted in. */
export function decide(state: LoopState, result: IterationResult): LoopDecision {
	if (result.outcome === "aborted") {
		return end("aborted", `Ralph: Stopped in iteration ${state.iteration}`);
	}
	if (state.maxIterations > 0 && state.iteration >= state.maxIterations) {
		return end("max_iterations", `Ralph: Max iterations (${state.maxIterations}) reached`);
	}
	// A person may have edited the file.
	if (result.promise !== null && state.completionPromise !== null && result.promise === collapse(state.completionPromise)) {
		return state.verify ? { kind: "verify", promise: result.promise } : completion(result.promise);
	}
	if (state.errorsInRow >= MAX_ERRORS_IN_ROW) {
		const message = `Ralph: Stopped after ${state.errorsInRow} failed iterations in a row: ${result.error ?? "no reason given"}`;
		return { kind: "end", reason: "errors", message, type: "warning" };
	}
	return { kind: "next", waitMs: state.errorsInRow === 0 ? 0 : 1000 * 2 ** state.errorsInRow };
}

/** The end of a loop whose promise was made, and holds. */
export function completion(promise: string): LoopDecision & { kind: "end" } {
	return end("promise", `Ralph: Completion detected: <promise>${promise}</promise>`);
}

function end(reason: EndReason, message: string): LoopDecision & { kind: "end" } {
	return { kind: "end", reason, message, type: "info" };
}

/**
 * The loop in ralph's journal, by `ralph hook`. What can't be recorded is said once and never stops a loop; only
 * verification counts as failed if it can't be had.
 */

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LoopArguments } from "./arguments.ts";
import { askRalph, findRalph } from "./binary.ts";
import type { EndReason, IterationResult } from "./decision.ts";
import { oneLine, plainText } from "./figures.ts";
import { memory, type RunningIteration } from "./memory.ts";
import { say } from "./say.ts";
import type { LoopState } from "./state.ts";

/** Enough for a program that writes a row; a loop must not hang on it. */
const TIMEOUT_MS = 20_000;
/** Everything that is sent to an agent has a cap: the end of what failed says most. */
export const MAX_VERIFY_BYTES = 16 * 1024;

export type JournalStart = { kind: "recorded"; loopId: string } | { kind: "unrecorded" } | { kind: "refused"; reason: string };

/** Begins the loop in the journal, where there is one. */
export async function recordStart(ctx: ExtensionContext, wanted: LoopArguments): Promise<JournalStart> {
	const program = findRalph();
	if (!program) {
		const where = process.env.RALPH_BIN ? `RALPH_BIN names no program (${process.env.RALPH_BIN})` : "there is no ralph on the PATH";
		if (wanted.verify) return { kind: "refused", reason: `--verify needs the program ralph: ${where}` };
		warnOnce(ctx, `Ralph: The loop is not recorded: ${where}`, "info");
		return { kind: "unrecorded" };
	}
	const answer = await askRalph({
		program,
		cwd: ctx.cwd,
		verb: "start",
		body: {
			agent: "pi",
			session: ctx.sessionManager.getSessionId(),
			prompt: wanted.prompt,
			maxIterations: wanted.maxIterations,
			completionPromise: wanted.completionPromise,
			verify: wanted.verify,
		},
		timeoutMs: TIMEOUT_MS,
	});
	if (answer.ok && typeof answer.value.refused === "string") return { kind: "refused", reason: answer.value.refused };
	if (answer.ok && typeof answer.value.loop === "string") return { kind: "recorded", loopId: answer.value.loop };
	const note = answer.ok ? answer.value.note : answer.reason;
	const why = typeof note === "string" ? oneLine(note, 300) : "ralph gave no reason";
	if (wanted.verify) return { kind: "refused", reason: `--verify needs a loop that ralph records: ${why}` };
	warnOnce(ctx, `Ralph: The loop is not recorded: ${why}`, "warning");
	return { kind: "unrecorded" };
}

export async function recordIteration(ctx: ExtensionContext, state: LoopState, run: RunningIteration, result: IterationResult): Promise<void> {
	await tell(ctx, state, "iteration", {
		iteration: run.iteration,
		startedAt: run.startedAt.toISOString(),
		endedAt: new Date().toISOString(),
		outcome: result.outcome,
		error: result.error,
		toolCalls: run.toolCalls,
		calls: run.calls,
	});
}

export async function recordEnd(ctx: ExtensionContext, state: LoopState, reason: EndReason): Promise<void> {
	await tell(ctx, state, "end", { reason });
}

async function tell(ctx: ExtensionContext, state: LoopState, verb: "iteration" | "end", body: object): Promise<void> {
	if (state.loopId === null) return;
	const program = findRalph();
	const answer = program
		? await askRalph({ program, cwd: ctx.cwd, verb, body: { loop: state.loopId, ...body }, timeoutMs: TIMEOUT_MS })
		: ({ ok: false, reason: "the program ralph is gone" } as const);
	if (!answer.ok) warnOnce(ctx, `Ralph: Not recorded: ${oneLine(answer.reason, 300)}`, "warning");
}

export interface VerifyReport {
	passed: boolean;
	text: string;
}

/** Has ralph run the verify commands. Takes as long as they take. */
export async function verify(ctx: ExtensionContext, state: LoopState, signal: AbortSignal): Promise<VerifyReport> {
	const program = findRalph();
	if (!program) return { passed: false, text: "the program ralph is gone, so nothing could be verified" };
	const answer = await askRalph({ program, cwd: ctx.cwd, verb: "verify", body: { loop: state.loopId }, timeoutMs: 0, signal });
	if (!answer.ok) return { passed: false, text: tail(plainText(answer.reason)) };
	const text = typeof answer.value.text === "string" ? answer.value.text : "";
	return { passed: answer.value.passed === true, text: tail(plainText(text)) };
}

/** The end of a text, as much of it as may be sent. */
export function tail(text: string): string {
	const bytes = Buffer.from(text);
	if (bytes.length <= MAX_VERIFY_BYTES) return text;
	return `…${bytes
		.subarray(bytes.length - MAX_VERIFY_BYTES + 4)
		.toString("utf8")
		.replace(/^�+/, "")}`;
}

function warnOnce(ctx: ExtensionContext, message: string, type: "info" | "warning"): void {
	if (memory().saidUnrecorded) return;
	memory().saidUnrecorded = true;
	say(ctx, message, type);
}

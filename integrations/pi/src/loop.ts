/**
 * The loop: starts it, begins and ends its iterations, stops it.
 *
 * An iteration is over at `agent_settled`. What follows is done by the internal command `/ralph-next`, because only a
 * command may begin a new session. `end` is the only way out of a loop.
 */

import type { ExtensionAPI, ExtensionCommandContext, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LoopArguments } from "./arguments.ts";
import { completion, countResult, decide, type EndReason, type IterationOutcome, type IterationResult } from "./decision.ts";
import { oneLine } from "./figures.ts";
import { hideFromGit } from "./git.ts";
import { recordEnd, recordIteration, recordStart, verify } from "./journal.ts";
import { type ActiveLoop, memory, type RunningIteration } from "./memory.ts";
import { standingOf, thisProcess } from "./owner.ts";
import { findPromise } from "./promise.ts";
import { promiseRule, takePrompt } from "./prompt.ts";
import { type IterationDetails, MESSAGE_TYPE } from "./renderer.ts";
import { type MessageType, refuse, say } from "./say.ts";
import { createState, deleteState, type LoopState, readState, STATE_FILE, writeState } from "./state.ts";
import { runSubagent } from "./subagent.ts";
import { addCalls, noTotals, textOf } from "./usage.ts";
import { clearProgress, showProgress } from "./view.ts";

type ThinkingLevel = ReturnType<ExtensionAPI["getThinkingLevel"]>;

/** The command that Pi sends itself between two iterations. */
export const NEXT_COMMAND = "ralph-next";

/** Starts a loop, or says why not. */
export async function startLoop(pi: ExtensionAPI, ctx: ExtensionCommandContext, wanted: LoopArguments): Promise<void> {
	if (process.env.RALPH_RUN) {
		return refuse(ctx, "this Pi is run by ralph, which has a loop of its own: no other is started inside it");
	}
	const running = memory().loop;
	if (running?.cancelled) {
		return refuse(ctx, "the last iteration of the cancelled loop still runs: wait for it, or /cancel-ralph now");
	}
	if (running) return refuse(ctx, `a loop is active (${nameOf(running.state)}): /cancel-ralph first`);
	if (!ctx.isIdle()) return refuse(ctx, "Pi is working: wait for it, or stop it with Esc, and start the loop then");
	if (!makeRoom(ctx)) return;
	const journal = await recordStart(ctx, wanted);
	if (journal.kind === "refused") return refuse(ctx, journal.reason);
	const state: LoopState = {
		active: true,
		iteration: 1,
		maxIterations: wanted.maxIterations,
		completionPromise: wanted.completionPromise,
		startedAt: new Date().toISOString(),
		owner: thisProcess(),
		sessionId: ctx.sessionManager.getSessionId(),
		context: wanted.context,
		verify: wanted.verify,
		loopId: journal.kind === "recorded" ? journal.loopId : null,
		errors: 0,
		errorsInRow: 0,
		lastError: null,
		totals: noTotals(),
		prompt: wanted.prompt,
	};
	hideFromGit(ctx.cwd);
	try {
		if (!createState(ctx.cwd, state)) {
			await recordEnd(ctx, state, "failed");
			return refuse(ctx, `another Pi has just started a loop in this folder (${STATE_FILE})`);
		}
	} catch (error) {
		await recordEnd(ctx, state, "failed");
		return refuse(ctx, `${STATE_FILE} can't be written: ${(error as Error).message}`);
	}
	const loop: ActiveLoop = {
		state,
		iteration: undefined,
		concluded: 0,
		cancelled: false,
		stop: new AbortController(),
		notes: [],
		verifyText: undefined,
		nextExpected: false,
		ended: Promise.withResolvers(),
	};
	memory().loop = loop;
	await begin(pi, ctx, loop);
}

/** Says whether a new loop may be started; takes away what is left of one that is over. */
function makeRoom(ctx: ExtensionContext): boolean {
	const reading = readState(ctx.cwd);
	if (reading.kind === "none") return true;
	if (reading.kind === "corrupt") {
		say(ctx, `Ralph: ${STATE_FILE} could not be read (${reading.reason}), and is replaced`, "warning");
	} else if (reading.state.active) {
		const { owner } = reading.state;
		const which = nameOf(reading.state);
		switch (standingOf(owner)) {
			case "mine":
				// This process has no loop, or it would have refused: the file could not be deleted at the end.
				say(ctx, `Ralph: ${STATE_FILE} was left by a loop of this Pi (${which}), and is replaced`, "warning");
				break;
			case "alive":
				refuse(ctx, `another Pi (process ${owner.pid}) has a loop in this folder (${which}): cancel it there first`);
				return false;
			case "dead":
				say(ctx, `Ralph: ${STATE_FILE} was left by a Pi that has ended (process ${owner.pid}, ${which}), and is replaced`, "warning");
		}
	}
	deleteState(ctx.cwd);
	return true;
}

function nameOf(state: LoopState): string {
	return `iteration ${state.iteration} of ${JSON.stringify(oneLine(state.prompt, 60))}`;
}

/** Begins the iteration that the state names. */
async function begin(pi: ExtensionAPI, ctx: ExtensionCommandContext, loop: ActiveLoop): Promise<void> {
	try {
		await beginIn(pi, ctx, loop);
	} catch (error) {
		await broken(memory().context ?? ctx, loop, error);
	}
}

async function beginIn(pi: ExtensionAPI, ctx: ExtensionCommandContext, loop: ActiveLoop): Promise<void> {
	switch (loop.state.context) {
		case "fresh":
			return beginFresh(ctx, loop);
		case "same":
			return beginInSession(pi, ctx, loop);
		case "subagent": {
			const done = delegate(pi, ctx, loop);
			if (mustAwait(ctx)) await done;
		}
	}
}

async function beginFresh(ctx: ExtensionCommandContext, loop: ActiveLoop): Promise<void> {
	const hasWords = ctx.sessionManager.getEntries().some((entry) => entry.type === "message");
	const parentSession = hasWords ? ctx.sessionManager.getSessionFile() : undefined;
	const { model } = ctx;
	const thinking = memory().api?.getThinkingLevel();
	memory().switching = true;
	try {
		const replaced = await ctx.newSession({
			...(parentSession === undefined ? {} : { parentSession }),
			withSession: async (fresh) => {
				memory().switching = false;
				// Only the context of the new session works from here on. A person may have stopped the loop meanwhile.
				if (await lost(fresh, loop, `Ralph: Cancelled before iteration ${loop.state.iteration}`)) return;
				loop.state = { ...loop.state, sessionId: fresh.sessionManager.getSessionId() };
				writeState(fresh.cwd, loop.state);
				await keepModel(fresh, model, thinking);
				if (await lost(fresh, loop)) return;
				loop.iteration = newIteration(loop.state.iteration);
				showProgress(fresh, loop);
				const run = fresh.sendMessage(messageOf(loop), { triggerTurn: true }).catch((error) => broken(fresh, loop, error));
				if (mustAwait(fresh)) await run;
			},
		});
		if (replaced.cancelled) await end(ctx, loop, "failed", "Ralph: Stopped: another extension keeps this session", "warning");
	} finally {
		memory().switching = false;
	}
}

/** A new session begins with the model of the settings; the loop goes on with the one that the person chose. */
async function keepModel(fresh: ExtensionContext, model: ExtensionContext["model"], thinking: ThinkingLevel | undefined): Promise<void> {
	const api = memory().api;
	if (!api || !model) return;
	if (fresh.model?.provider !== model.provider || fresh.model.id !== model.id) await api.setModel(model);
	if (thinking !== undefined && api.getThinkingLevel() !== thinking) api.setThinkingLevel(thinking);
}

async function beginInSession(pi: ExtensionAPI, ctx: ExtensionCommandContext, loop: ActiveLoop): Promise<void> {
	loop.iteration = newIteration(loop.state.iteration);
	showProgress(ctx, loop);
	pi.sendMessage(messageOf(loop), { triggerTurn: true });
	if (mustAwait(ctx)) await ctx.waitForIdle();
}

function messageOf(loop: ActiveLoop): { customType: string; content: string; display: boolean; details: IterationDetails } {
	const { iteration, maxIterations } = loop.state;
	return { customType: MESSAGE_TYPE, content: takePrompt(loop), display: true, details: { iteration, maxIterations } };
}

/** Where nobody waits for input, Pi ends when the command does. */
function mustAwait(ctx: ExtensionContext): boolean {
	return ctx.mode === "print" || ctx.mode === "json";
}

function newIteration(iteration: number): RunningIteration {
	return { iteration, startedAt: new Date(), calls: [], toolCalls: 0, last: undefined };
}

async function broken(ctx: ExtensionContext, loop: ActiveLoop, error: unknown): Promise<void> {
	if (memory().loop !== loop) return;
	const why = error instanceof Error ? error.message : String(error);
	await end(ctx, loop, "failed", `Ralph: Stopped in iteration ${loop.state.iteration}: ${oneLine(why, 300)}`, "error");
}

/** Runs iterations in processes of their own, one after another, until the loop ends. */
async function delegate(pi: ExtensionAPI, ctx: ExtensionCommandContext, loop: ActiveLoop): Promise<void> {
	const unlisten = stopOnEscape(ctx, loop);
	try {
		while (memory().loop === loop) {
			const run = newIteration(loop.state.iteration);
			loop.iteration = run;
			showProgress(ctx, loop, "a subagent works");
			const message = messageOf(loop);
			pi.appendEntry<IterationDetails>(MESSAGE_TYPE, { ...message.details, text: message.content });
			const ended = await runSubagent({
				cwd: ctx.cwd,
				prompt: message.content,
				options: inherited(pi, ctx),
				systemPrompt: promiseRule(loop.state.completionPromise),
				signal: loop.stop.signal,
				onMessage: (call, toolCalls, words) => {
					run.calls.push(call);
					run.toolCalls += toolCalls;
					run.last = words;
					showProgress(ctx, loop, "a subagent works");
				},
			});
			if (memory().loop !== loop) return;
			await memory().question;
			const failure = ended.kind === "failed" ? ended.reason : undefined;
			if (!(await concludeSafely(ctx, loop, run, resultOf(run, ended.kind === "stopped", failure)))) return;
		}
	} catch (error) {
		// The session was replaced under it; its end has ended the loop.
		if (memory().loop === loop) throw error;
	} finally {
		unlisten();
	}
}

/** The options by which another Pi works as this one does. */
function inherited(pi: ExtensionAPI, ctx: ExtensionContext): string[] {
	const model = ctx.model ? ["--model", `${ctx.model.provider}/${ctx.model.id}`] : [];
	return [...model, "--thinking", pi.getThinkingLevel(), ctx.isProjectTrusted() ? "--approve" : "--no-approve"];
}

/** Takes the end of an agent's run. */
export async function settle(pi: ExtensionAPI, ctx: ExtensionContext, aborted: boolean): Promise<void> {
	const loop = memory().loop;
	const run = loop?.iteration;
	if (!loop || !run || loop.state.context === "subagent") return;
	// A question that is still open belongs to this session, which would be gone.
	await memory().question;
	if (memory().loop !== loop) return;
	if (aborted || loop.cancelled) {
		await concludeSafely(ctx, loop, run, resultOf(run, aborted, undefined));
		return;
	}
	loop.nextExpected = true;
	pi.sendUserMessage(`/${nextCommand(pi)}`, { expandPromptTemplates: true });
}

/** Returns what the internal command is called: Pi numbers it where the package is installed twice. */
function nextCommand(pi: ExtensionAPI): string {
	const names = pi.getCommands().map((command) => command.name);
	return names.find((name) => name === NEXT_COMMAND || name.startsWith(`${NEXT_COMMAND}:`)) ?? NEXT_COMMAND;
}

/** Ends an iteration and begins the next, in the command that Pi sent itself. */
export async function nextIteration(pi: ExtensionAPI, ctx: ExtensionCommandContext): Promise<void> {
	const loop = memory().loop;
	const run = loop?.iteration;
	if (!loop?.nextExpected || !run) return refuse(ctx, `/${NEXT_COMMAND} is for the loop itself: /ralph-loop starts one`);
	loop.nextExpected = false;
	const unlisten = stopOnEscape(ctx, loop);
	let goesOn: boolean;
	try {
		goesOn = await concludeSafely(ctx, loop, run, resultOf(run, false, undefined));
	} finally {
		unlisten();
	}
	if (goesOn) await begin(pi, ctx, loop);
}

function resultOf(run: RunningIteration, aborted: boolean, failure: string | undefined): IterationResult {
	const last = run.last;
	const failed =
		failure ?? (last === undefined ? "the model was not asked" : last.stopReason === "error" ? (last.errorMessage ?? "the model failed") : undefined);
	const outcome: IterationOutcome = aborted ? "aborted" : failed === undefined ? "ok" : "error";
	const promise = outcome === "ok" && last ? findPromise(textOf(last)) : null;
	return { outcome, error: outcome === "error" ? oneLine(failed ?? "", 300) : null, promise };
}

/** The same, with an end for a loop whose file can't be written any more. */
async function concludeSafely(ctx: ExtensionContext, loop: ActiveLoop, run: RunningIteration, result: IterationResult): Promise<boolean> {
	try {
		return await conclude(ctx, loop, run, result);
	} catch (error) {
		await broken(memory().context ?? ctx, loop, error);
		return false;
	}
}

/** Counts and records an iteration and decides. Returns true if the next one begins; its number is written then. */
async function conclude(ctx: ExtensionContext, loop: ActiveLoop, run: RunningIteration, result: IterationResult): Promise<boolean> {
	loop.iteration = undefined;
	loop.concluded = run.iteration;
	const known = current(ctx, loop);
	const before = known.kind === "loop" ? known.state : loop.state;
	const state = countResult({ ...before, totals: addCalls(before.totals, run.calls) }, result);
	loop.state = state;
	if (known.kind === "loop") writeState(ctx.cwd, state);
	await recordIteration(ctx, state, run, result);
	if (await lost(ctx, loop)) return false;
	const decision = decide(state, result);
	if (decision.kind === "end") {
		await end(ctx, loop, decision.reason, decision.message, decision.type);
		return false;
	}
	if (decision.kind === "verify") {
		showProgress(ctx, loop, "verifying");
		const report = await verify(ctx, state, loop.stop.signal);
		if (await lost(ctx, loop)) return false;
		if (report.passed) {
			const done = completion(decision.promise);
			await end(ctx, loop, done.reason, done.message, done.type);
			return false;
		}
		say(ctx, `Ralph: The promise was made in iteration ${state.iteration}, but verification failed; the loop goes on`, "warning");
		loop.verifyText = report.text;
	} else if (decision.waitMs > 0) {
		const wait = `waits ${decision.waitMs / 1000} s after an error`;
		showProgress(ctx, loop, wait);
		say(
			ctx,
			`Ralph: Iteration ${state.iteration} failed (${state.errorsInRow} in a row): ${result.error}; the next begins in ${decision.waitMs / 1000} s`,
			"warning",
		);
		await pause(decision.waitMs, loop.stop.signal);
		if (await lost(ctx, loop)) return false;
	}
	// A person may have edited the file meanwhile.
	const latest = current(ctx, loop);
	loop.state = { ...(latest.kind === "loop" ? latest.state : state), iteration: state.iteration + 1 };
	writeState(ctx.cwd, loop.state);
	return true;
}

type CurrentState = { kind: "loop"; state: LoopState } | { kind: "gone"; reason: EndReason; message: string; type: MessageType };

/** Reads the state of the loop of this process, or says why it is no longer that. */
function current(ctx: ExtensionContext, loop: ActiveLoop): CurrentState {
	const after = `the loop has stopped after iteration ${loop.concluded}`;
	const gone = (message: string, type: MessageType, reason: EndReason = "cancelled"): CurrentState => ({ kind: "gone", reason, message, type });
	const reading = readState(ctx.cwd);
	switch (reading.kind) {
		case "none":
			return gone(`Ralph: ${STATE_FILE} was deleted: ${after}`, "info");
		case "corrupt":
			return gone(`Ralph: ${STATE_FILE} can't be read (${reading.reason}): ${after}; the file is left as it is`, "warning", "failed");
		case "loop":
			if (standingOf(reading.state.owner) !== "mine" || reading.state.startedAt !== loop.state.startedAt) {
				return gone(`Ralph: ${STATE_FILE} belongs to another loop now: ${after}`, "warning");
			}
			if (!reading.state.active) return gone(`Ralph: ${STATE_FILE} says that the loop is not active: ${after}`, "info");
			// Whether a promise is verified is settled when the loop begins: the file is the agent's to write.
			return { kind: "loop", state: { ...reading.state, verify: loop.state.verify, loopId: loop.state.loopId } };
	}
}

/**
 * Ends a loop that was cancelled, or whose file is not its own any more. Returns true if it did. Where nobody could be
 * told that it was cancelled, `said` is said now.
 */
async function lost(ctx: ExtensionContext, loop: ActiveLoop, said?: string): Promise<boolean> {
	if (memory().loop !== loop) return true;
	if (loop.cancelled) {
		await end(ctx, loop, "cancelled", said, "info");
		return true;
	}
	const known = current(ctx, loop);
	if (known.kind === "loop") return false;
	await end(ctx, loop, known.reason, known.message, known.type);
	return true;
}

/** The one way out of a loop. */
async function end(ctx: ExtensionContext, loop: ActiveLoop, reason: EndReason, message: string | undefined, type: MessageType): Promise<void> {
	if (memory().loop !== loop) return;
	memory().loop = undefined;
	loop.stop.abort();
	const reading = readState(ctx.cwd);
	if (reading.kind === "loop" && reading.state.startedAt === loop.state.startedAt && standingOf(reading.state.owner) === "mine") deleteState(ctx.cwd);
	clearProgress(ctx);
	if (message !== undefined) say(ctx, message, type);
	await recordEnd(ctx, loop.state, reason);
	loop.ended.resolve();
}

/** How a loop is cancelled: after its iteration, or at once. */
export type CancelKind = "after_iteration" | "now";

/** Cancels the loop of this process. Returns false if there is none. */
export async function cancelLoop(ctx: ExtensionContext, kind: CancelKind): Promise<boolean> {
	const loop = memory().loop;
	if (!loop) return false;
	const { iteration } = loop.state;
	loop.cancelled = true;
	// Between two sessions no context works. The next one ends the loop, and says so.
	if (memory().switching) return true;
	if (current(ctx, loop).kind === "loop") deleteState(ctx.cwd);
	clearProgress(ctx);
	const runs = loop.iteration !== undefined && !loop.nextExpected;
	if (runs && kind === "after_iteration") {
		say(ctx, `Ralph: Cancelled: iteration ${iteration} is the last; /cancel-ralph now stops it too`);
		return true;
	}
	say(ctx, `Ralph: Cancelled in iteration ${iteration}`);
	loop.stop.abort();
	// An agent of this session ends by itself; what else the loop waits for is ours to wait for.
	if (runs && loop.state.context !== "subagent") ctx.abort();
	else await loop.ended.promise;
	return true;
}

/** Ends the loop because the session ends that it runs in: Pi quits, or a person began or resumed another one. */
export async function leaveSession(ctx: ExtensionContext): Promise<void> {
	const loop = memory().loop;
	if (!loop || memory().switching) return;
	await end(ctx, loop, "aborted", `Ralph: Stopped in iteration ${loop.state.iteration}: its session has ended`, "info");
}

/** While no agent runs in this session, Esc would reach nothing. */
function stopOnEscape(ctx: ExtensionContext, loop: ActiveLoop): () => void {
	if (ctx.mode !== "tui") return () => {};
	return ctx.ui.onTerminalInput((data) => {
		if ((data === "\u001b" || data === "\u001b[27u") && memory().loop === loop && !memory().question) void cancelLoop(ctx, "now");
		return undefined;
	});
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
	const { promise, resolve } = Promise.withResolvers<void>();
	const timer = setTimeout(resolve, milliseconds);
	signal.addEventListener("abort", () => {
		clearTimeout(timer);
		resolve();
	});
	if (signal.aborted) resolve();
	return promise;
}

/** The Ralph loop as an extension of Pi: what it registers, and which event goes where. */

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { registerCommands } from "../src/commands.ts";
import { leaveSession, settle } from "../src/loop.ts";
import { memory } from "../src/memory.ts";
import { takeMessage } from "../src/message.ts";
import { standingOf } from "../src/owner.ts";
import { promiseRule } from "../src/prompt.ts";
import { registerRenderers } from "../src/renderer.ts";
import { endRunWithPi, showRun } from "../src/run.ts";
import { say } from "../src/say.ts";
import { readState, STATE_FILE } from "../src/state.ts";
import { callOf, toolCallsOf } from "../src/usage.ts";
import { showProgress, stopTicking } from "../src/view.ts";

export default function ralph(pi: ExtensionAPI): void {
	registerCommands(pi);
	registerRenderers(pi);
	const instance = {};
	const isMine = () => memory().claim?.instance === instance;

	pi.on("session_start", (event, ctx) => {
		const session = ctx.sessionManager.getSessionId();
		// The package may be installed twice: the first instance of a session takes its events.
		if (memory().claim?.session === session) return;
		memory().claim = { session, instance };
		memory().context = ctx;
		memory().api = pi;
		showRun();
		if (event.reason === "startup") mentionStale(ctx);
	});
	pi.on("session_shutdown", async (event, ctx) => {
		if (!isMine()) return;
		stopTicking();
		await leaveSession(ctx);
		if (event.reason === "quit") await endRunWithPi();
		memory().claim = undefined;
		memory().context = undefined;
		memory().api = undefined;
	});
	pi.on("before_agent_start", (event) => {
		const loop = memory().loop;
		if (!isMine() || !loop?.iteration) return;
		const rule = promiseRule(loop.state.completionPromise);
		if (rule !== undefined) event.systemPromptOptions.sections.ralph = rule;
	});
	pi.on("message_end", (event, ctx) => {
		const loop = memory().loop;
		if (!isMine() || !loop?.iteration || loop.state.context === "subagent" || event.message.role !== "assistant") return;
		loop.iteration.calls.push(callOf(event.message));
		loop.iteration.toolCalls += toolCallsOf(event.message);
		loop.iteration.last = event.message;
		showProgress(ctx, loop);
	});
	pi.on("agent_settled", async (event, ctx) => {
		if (isMine()) await settle(pi, ctx, event.aborted ?? wasAborted());
	});
	pi.on("input", async (event, ctx) => {
		if (isMine()) return takeMessage(pi, ctx, event);
		return { action: "continue" };
	});
}

/** A Pi before 1.1 does not say that a run was aborted; its last message does. */
function wasAborted(): boolean {
	const last = memory().loop?.iteration?.last;
	return last?.stopReason === "aborted" || /\baborted\b/.test(last?.errorMessage ?? "");
}

/** A loop that was killed does not go on by itself; a person who could is told that it was there. */
function mentionStale(ctx: ExtensionContext): void {
	const reading = readState(ctx.cwd);
	if (!ctx.hasUI || reading.kind !== "loop" || !reading.state.active || standingOf(reading.state.owner) !== "dead") return;
	say(
		ctx,
		`Ralph: A loop was left in iteration ${reading.state.iteration} by a Pi that has ended (${STATE_FILE}). It does not go on by itself: /ralph-loop starts a new one, /cancel-ralph removes what is left`,
	);
}

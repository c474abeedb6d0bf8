/** The commands of the person. Thin: arguments in, the right function called, an answer said. */

import type { ExtensionAPI, ExtensionCommandContext, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { parseArguments } from "./arguments.ts";
import { oneLine } from "./figures.ts";
import { HELP } from "./help.ts";
import { cancelLoop, NEXT_COMMAND, nextIteration, startLoop } from "./loop.ts";
import { memory } from "./memory.ts";
import { standingOf } from "./owner.ts";
import { widgetLines } from "./progress.ts";
import { runLines, startRun, stopRun } from "./run.ts";
import { refuse, say } from "./say.ts";
import { deleteState, readState, STATE_FILE } from "./state.ts";
import { addCalls } from "./usage.ts";

export function registerCommands(pi: ExtensionAPI): void {
	pi.registerCommand("ralph-loop", {
		description: "Start Ralph Wiggum iterative loop",
		handler: async (args, ctx) => {
			const parsed = parseArguments(args);
			if (parsed.ok) await startLoop(pi, ctx, parsed.value);
			else refuse(ctx, parsed.error);
		},
	});
	pi.registerCommand("cancel-ralph", {
		description: "Cancel the Ralph loop after this iteration; with `now`, at once",
		handler: async (args, ctx) => cancel(ctx, args.trim()),
	});
	pi.registerCommand("ralph-help", {
		description: "Show what Ralph does and how",
		handler: async (_args, ctx) => say(ctx, HELP),
	});
	pi.registerCommand("ralph-status", {
		description: "Show where the Ralph loop is",
		handler: async (_args, ctx) => say(ctx, statusOf(ctx)),
	});
	pi.registerCommand("ralph-run", {
		description: "Start ralph's own loop on a task file, and show its progress",
		handler: async (args, ctx) => {
			const run = startRun(ctx, args);
			// Without a person Pi would end with the command, and the run with it.
			if (!ctx.hasUI) await run?.ended;
		},
	});
	pi.registerCommand(NEXT_COMMAND, {
		description: "Internal: Ralph sends it to itself between two iterations",
		handler: async (_args, ctx) => nextIteration(pi, ctx),
	});
}

async function cancel(ctx: ExtensionCommandContext, word: string): Promise<void> {
	if (word !== "" && word !== "now") return refuse(ctx, `/cancel-ralph takes nothing or now, not ${JSON.stringify(oneLine(word, 40))}`);
	const { run } = memory();
	if (run) {
		stopRun(run, word === "now" ? "SIGTERM" : "SIGINT");
		say(ctx, "Ralph: The run was asked to stop");
	}
	if (await cancelLoop(ctx, word === "now" ? "now" : "after_iteration")) return;
	const reading = readState(ctx.cwd);
	if (reading.kind === "none") {
		if (!run) say(ctx, "Ralph: No loop is active");
		return;
	}
	if (reading.kind === "loop" && reading.state.active && standingOf(reading.state.owner) === "alive") {
		return refuse(ctx, `the loop in this folder belongs to another Pi (process ${reading.state.owner.pid}): cancel it there`);
	}
	deleteState(ctx.cwd);
	const why = reading.kind === "corrupt" ? `could not be read (${reading.reason})` : "was left by a Pi that has ended";
	say(ctx, `Ralph: No loop is active; ${STATE_FILE} ${why}, and is removed`);
}

function statusOf(ctx: ExtensionContext): string {
	const { loop, run } = memory();
	const parts: string[] = [];
	if (loop) {
		const doing = loop.cancelled ? "cancelled, its last iteration runs" : loop.iteration ? "running" : "between two iterations";
		parts.push(widgetLines(loop.state, addCalls(loop.state.totals, loop.iteration?.calls ?? []), new Date(), doing).join("\n"));
		parts.push(loop.state.loopId === null ? "  not recorded" : `  recorded by ralph as ${loop.state.loopId}`);
	} else {
		parts.push(foreignStatus(ctx));
	}
	if (run) parts.push(runLines(run.progress, Date.now()).join("\n"));
	return parts.join("\n");
}

function foreignStatus(ctx: ExtensionContext): string {
	const reading = readState(ctx.cwd);
	if (reading.kind === "none") return "Ralph: No loop is active";
	if (reading.kind === "corrupt") return `Ralph: No loop is active; ${STATE_FILE} can't be read (${reading.reason})`;
	const { owner, iteration } = reading.state;
	if (reading.state.active && standingOf(owner) === "alive")
		return `Ralph: Another Pi (process ${owner.pid}) has a loop in this folder, in iteration ${iteration}`;
	return `Ralph: No loop is active; ${STATE_FILE} was left in iteration ${iteration} by a Pi that has ended (process ${owner.pid})`;
}

/**
 * `ralph run` as a child of Pi: started, shown by the events that it writes, ended with Pi. The loop is ralph's
 * own; nothing here decides about it.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { endGroup, findRalph } from "./binary.ts";
import { dollars, duration, oneLine } from "./figures.ts";
import { memory } from "./memory.ts";
import { refuse, say } from "./say.ts";

const KEY = "ralph-run";
/** The longest that the end of Pi waits for the end of the run. */
const QUIT_MS = 5000;

/** A run of ralph's that this Pi has started. */
export interface RalphRun {
	child: ChildProcess;
	progress: RunProgress;
	ended: Promise<void>;
}

/** What the events of a run told so far. */
export interface RunProgress {
	startedAt: number;
	source: string;
	agent: string;
	task: string;
	iterations: number;
	completed: number;
	total: number;
	costUsd: number;
	last: string;
	/** How it ended, in ralph's words. */
	end: string | undefined;
}

/** One event line of `ralph run --json`, as far as it is read here. */
interface RunEvent {
	event?: string;
	source?: string;
	agent?: string;
	task?: string;
	title?: string;
	nth?: number;
	verdict?: string;
	message?: string;
	sentence?: string;
	command?: string;
	commit?: string;
	tasks?: { total?: number; completed?: number };
	usage?: { costUsd?: number | null };
}

/** Starts a run, or says why not. */
export function startRun(ctx: ExtensionContext, args: string): RalphRun | undefined {
	const source = args.trim().replace(/^(["'])(.*)\1$/s, "$2");
	const program = findRalph();
	const reason = whyNot(source, program);
	if (reason !== undefined || program === undefined) {
		refuse(ctx, reason ?? "");
		return undefined;
	}
	const child = spawn(program, ["run", "--json", ...(source === "" ? [] : [source])], {
		cwd: ctx.cwd,
		detached: process.platform !== "win32",
		stdio: ["ignore", "pipe", "pipe"],
	});
	const { promise, resolve } = Promise.withResolvers<void>();
	const run: RalphRun = { child, progress: newProgress(Date.now()), ended: promise };
	memory().run = run;
	show(run);
	say(ctx, "Ralph: The run has started; /cancel-ralph stops it");
	follow(run, resolve);
	return run;
}

function whyNot(source: string, program: string | undefined): string | undefined {
	if (memory().run) return "a run is running: /cancel-ralph stops it";
	if (process.env.RALPH_RUN) return "this Pi is itself run by ralph, and does not start another run";
	if (source.startsWith("-")) return `/ralph-run takes a task file or folder, not ${oneLine(source, 40)}`;
	if (!program) return "/ralph-run needs the program ralph on the PATH or in RALPH_BIN";
	return undefined;
}

function follow(run: RalphRun, ended: () => void): void {
	const { child, progress } = run;
	let rest = "";
	let complaint = "";
	child.stdout?.setEncoding("utf8").on("data", (part: string) => {
		const lines = (rest + part).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) takeEvent(progress, line);
		show(run);
	});
	child.stderr?.setEncoding("utf8").on("data", (part: string) => {
		complaint = (complaint + part).slice(-2000);
	});
	child.on("error", (error) => {
		complaint = error.message;
	});
	child.on("close", (code, signal) => {
		memory().run = undefined;
		const how = progress.end ?? (complaint.trim() || `it ended with ${signal ?? `code ${code}`}`);
		withContext((ctx) => {
			ctx.ui.setWidget(KEY, undefined);
			say(ctx, `Ralph: The run has ended: ${oneLine(how, 300)}`, code === 0 ? "info" : "warning");
		});
		ended();
	});
}

/** Asks the run to stop; the second time it has to. */
export function stopRun(run: RalphRun, signal: NodeJS.Signals): void {
	endGroup(run.child.pid, signal);
}

/** Ends the run because Pi ends. */
export async function endRunWithPi(): Promise<void> {
	const run = memory().run;
	if (!run) return;
	stopRun(run, "SIGTERM");
	const limit = new Promise<void>((resolve) => setTimeout(resolve, QUIT_MS).unref());
	await Promise.race([run.ended, limit]);
}

/** Shows the run again in the session of now. */
export function showRun(): void {
	const run = memory().run;
	if (run) show(run);
}

function show(run: RalphRun): void {
	withContext((ctx) => ctx.ui.setWidget(KEY, runLines(run.progress, Date.now())));
}

/** A session that Pi has replaced throws; the next one shows the run again. */
function withContext(use: (ctx: ExtensionContext) => void): void {
	const ctx = memory().context;
	if (!ctx) return;
	try {
		use(ctx);
	} catch {
		// Between two sessions.
	}
}

export function newProgress(now: number): RunProgress {
	return { startedAt: now, source: "", agent: "", task: "", iterations: 0, completed: 0, total: 0, costUsd: 0, last: "starting", end: undefined };
}

/** Takes one line of `ralph run --json`. What is not known is ignored, as its contract asks. */
export function takeEvent(progress: RunProgress, line: string): void {
	let event: RunEvent;
	try {
		event = JSON.parse(line) as RunEvent;
	} catch {
		return;
	}
	progress.total = event.tasks?.total ?? progress.total;
	progress.completed = event.tasks?.completed ?? progress.completed;
	switch (event.event) {
		case "loop_started":
			progress.source = event.source ?? "";
			progress.agent = event.agent ?? "";
			progress.last = "started";
			break;
		case "iteration_started":
			progress.task = `${event.task ?? ""} ${event.title ?? ""}`.trim();
			progress.iterations = event.nth ?? progress.iterations + 1;
			progress.last = "the agent works";
			break;
		case "verify_started":
			progress.last = `verifying: ${event.command ?? ""}`;
			break;
		case "landed":
			progress.last = `landed ${(event.commit ?? "").slice(0, 10)}`;
			break;
		case "iteration_ended":
			progress.costUsd += event.usage?.costUsd ?? 0;
			progress.last = `verdict: ${event.verdict ?? ""}`;
			break;
		case "warning":
		case "notice":
			progress.last = event.message ?? progress.last;
			break;
		case "loop_ended":
			progress.costUsd = event.usage?.costUsd ?? progress.costUsd;
			progress.end = event.sentence;
			break;
	}
}

export function runLines(progress: RunProgress, now: number): string[] {
	const tasks = progress.total > 0 ? ` · ${progress.completed}/${progress.total} tasks` : "";
	const agent = progress.agent ? ` · ${oneLine(progress.agent, 40)}` : "";
	const lines = [`ralph run · iteration ${progress.iterations}${tasks} · ${duration(now - progress.startedAt)} · ${dollars(progress.costUsd)}${agent}`];
	if (progress.task) lines.push(`  ${oneLine(progress.task, 100)}`);
	lines.push(`  ${oneLine(progress.last, 100)}`, "  /cancel-ralph stops it");
	return lines;
}

/**
 * The state of a loop, in `.pi/ralph-loop.local.md`: front matter, then the prompt.
 *
 * The file is the only truth about a loop. What can't be read is no loop; it is never repaired or guessed at.
 */

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { ContextKind } from "./arguments.ts";
import type { ProcessOwner } from "./owner.ts";

export const STATE_NAME = "ralph-loop.local.md";
/** The file as people are told of it. */
export const STATE_FILE = `.pi/${STATE_NAME}`;

/** Tokens and cost of a whole loop. */
export interface LoopTotals {
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	costUsd: number;
}

export interface LoopState {
	active: boolean;
	iteration: number;
	/** 0 is no limit. */
	maxIterations: number;
	completionPromise: string | null;
	/** RFC 3339. */
	startedAt: string;
	owner: ProcessOwner;
	sessionId: string;
	context: ContextKind;
	verify: boolean;
	/** The id of the loop in ralph's journal; null where nothing is recorded. */
	loopId: string | null;
	errors: number;
	errorsInRow: number;
	lastError: string | null;
	totals: LoopTotals;
	prompt: string;
}

export type StateReading = { kind: "none" } | { kind: "loop"; state: LoopState } | { kind: "corrupt"; reason: string };

export function statePath(cwd: string): string {
	return join(cwd, ".pi", STATE_NAME);
}

/** Reads the state of the loop in a folder. */
export function readState(cwd: string): StateReading {
	let text: string;
	try {
		text = readFileSync(statePath(cwd), "utf8");
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code;
		if (code === "ENOENT" || code === "ENOTDIR") return { kind: "none" };
		return { kind: "corrupt", reason: String(code ?? error) };
	}
	return parseState(text);
}

/** Replaces the state as a whole: a reader sees the old one or the new one. */
export function writeState(cwd: string, state: LoopState): void {
	const path = statePath(cwd);
	const temporary = writeBeside(path, renderState(state));
	try {
		renameSync(temporary, path);
	} catch (error) {
		rmSync(temporary, { force: true });
		throw error;
	}
}

/** Writes the state of a new loop, and says whether it could: of two that start at once, one does. */
export function createState(cwd: string, state: LoopState): boolean {
	const path = statePath(cwd);
	mkdirSync(join(cwd, ".pi"), { recursive: true });
	const temporary = writeBeside(path, renderState(state));
	try {
		linkSync(temporary, path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	} finally {
		rmSync(temporary, { force: true });
	}
}

export function deleteState(cwd: string): void {
	rmSync(statePath(cwd), { force: true });
}

function writeBeside(path: string, text: string): string {
	const temporary = `${path}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
	const file = openSync(temporary, "wx", 0o600);
	try {
		writeSync(file, text);
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
	return temporary;
}

/** The state as text. Every value is one line of JSON, which YAML reads too, so that any text survives. */
export function renderState(state: LoopState): string {
	const fields: [string, string | number | boolean | null][] = [
		["active", state.active],
		["iteration", state.iteration],
		["max_iterations", state.maxIterations],
		["completion_promise", state.completionPromise],
		["started_at", state.startedAt],
		["owner_pid", state.owner.pid],
		["owner_started", state.owner.started],
		["session_id", state.sessionId],
		["context", state.context],
		["verify", state.verify],
		["loop_id", state.loopId],
		["errors", state.errors],
		["errors_in_row", state.errorsInRow],
		["last_error", state.lastError],
		["input_tokens", state.totals.input],
		["output_tokens", state.totals.output],
		["cache_read_tokens", state.totals.cacheRead],
		["cache_write_tokens", state.totals.cacheWrite],
		["cost_usd", state.totals.costUsd],
	];
	const lines = fields.map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
	return `---\n${lines.join("\n")}\n---\n\n${state.prompt}\n`;
}

class StateMistake extends Error {}

/** Reads a state from its text. */
export function parseState(text: string): StateReading {
	try {
		return { kind: "loop", state: readFields(text) };
	} catch (error) {
		if (error instanceof StateMistake) return { kind: "corrupt", reason: error.message };
		throw error;
	}
}

function readFields(text: string): LoopState {
	const parts = /^---\r?\n([\s\S]*?\n)---\r?\n(?:\r?\n)?([\s\S]*)$/.exec(text);
	if (!parts) throw new StateMistake("no front matter between two lines of ---");
	const prompt = (parts[2] as string).replace(/\r?\n$/, "");
	if (prompt.trim() === "") throw new StateMistake("no prompt below the front matter");
	const fields = new FrontMatter(parts[1] as string);
	const context = fields.text("context");
	if (context !== "fresh" && context !== "same" && context !== "subagent") {
		throw new StateMistake(`context is ${JSON.stringify(context)}, not fresh, same or subagent`);
	}
	const startedAt = fields.text("started_at");
	if (Number.isNaN(Date.parse(startedAt))) {
		throw new StateMistake(`started_at is ${JSON.stringify(startedAt)}, not a time`);
	}
	const iteration = fields.whole("iteration");
	if (iteration < 1) throw new StateMistake("iteration is 0, and the first is 1");
	return {
		active: fields.truth("active"),
		iteration,
		maxIterations: fields.whole("max_iterations"),
		completionPromise: fields.optional("completion_promise"),
		startedAt,
		owner: { pid: fields.whole("owner_pid"), started: fields.optional("owner_started") },
		sessionId: fields.text("session_id"),
		context,
		verify: fields.truth("verify"),
		loopId: fields.optional("loop_id"),
		errors: fields.whole("errors"),
		errorsInRow: fields.whole("errors_in_row"),
		lastError: fields.optional("last_error"),
		totals: {
			input: fields.whole("input_tokens"),
			output: fields.whole("output_tokens"),
			cacheRead: fields.whole("cache_read_tokens"),
			cacheWrite: fields.whole("cache_write_tokens"),
			costUsd: fields.amount("cost_usd"),
		},
		prompt,
	};
}

/** The fields of a front matter: `name: value`, one a line, values as JSON or as plain words. */
class FrontMatter {
	private readonly values = new Map<string, unknown>();

	constructor(text: string) {
		for (const line of text.split(/\r?\n/)) {
			if (line.trim() === "" || line.startsWith("#")) continue;
			const field = /^([a-z_]+):\s*(.*?)\s*$/s.exec(line);
			if (!field) throw new StateMistake(`the line ${JSON.stringify(line.slice(0, 80))} is no field`);
			const [, name, value] = field as unknown as [string, string, string];
			if (this.values.has(name)) throw new StateMistake(`${name} is there twice`);
			this.values.set(name, scalar(name, value));
		}
	}

	text(name: string): string {
		const value = this.get(name);
		if (typeof value !== "string" || value === "") throw new StateMistake(`${name} is not a text`);
		return value;
	}

	optional(name: string): string | null {
		const value = this.get(name);
		if (value === null || typeof value === "string") return value;
		// A person may have written a promise such as 42 without quotes.
		return String(value);
	}

	truth(name: string): boolean {
		const value = this.get(name);
		if (typeof value !== "boolean") throw new StateMistake(`${name} is neither true nor false`);
		return value;
	}

	whole(name: string): number {
		const value = this.amount(name);
		if (!Number.isSafeInteger(value)) throw new StateMistake(`${name} is not a whole number`);
		return value;
	}

	amount(name: string): number {
		const value = this.get(name);
		if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
			throw new StateMistake(`${name} is not a number from 0`);
		}
		return value;
	}

	private get(name: string): unknown {
		if (!this.values.has(name)) throw new StateMistake(`${name} is missing`);
		return this.values.get(name);
	}
}

function scalar(name: string, value: string): unknown {
	try {
		const read: unknown = JSON.parse(value);
		if (read === null || typeof read !== "object") return read;
	} catch {
		if (value === "" || value === "~") return null;
		const single = /^'((?:[^']|'')*)'$/.exec(value);
		if (single) return (single[1] as string).replace(/''/g, "'");
		if (!/^["'[{&*!|>%@`]/.test(value)) return value;
	}
	throw new StateMistake(`${name} can't be read`);
}

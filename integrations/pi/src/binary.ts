/** The program `ralph`: where it is, and one question to it. Never decides what an answer means. */

import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** `ralph install pi` puts the path of the program here where the PATH does not lead to it. */
const DEFAULT_PROGRAM = "ralph";

/** An answer that is longer is none. */
const MAX_ANSWER_BYTES = 1024 * 1024;

export type RalphAnswer = { ok: true; value: Record<string, unknown> } | { ok: false; reason: string };

/** Finds the program by `RALPH_BIN`, else on the path. */
export function findRalph(env: NodeJS.ProcessEnv = process.env): string | undefined {
	if (env.RALPH_BIN) return isProgram(env.RALPH_BIN) ? env.RALPH_BIN : undefined;
	if (isAbsolute(DEFAULT_PROGRAM) && isProgram(DEFAULT_PROGRAM)) return DEFAULT_PROGRAM;
	const name = process.platform === "win32" ? "ralph.exe" : "ralph";
	const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
	return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}

export interface HookQuestion {
	program: string;
	cwd: string;
	verb: "start" | "iteration" | "verify" | "end";
	body: object;
	/** 0 is no limit. */
	timeoutMs: number;
	signal?: AbortSignal;
}

/** Asks `ralph hook VERB`: one JSON object in, one out. */
export function askRalph(question: HookQuestion): Promise<RalphAnswer> {
	const { promise, resolve } = Promise.withResolvers<RalphAnswer>();
	const fail = (reason: string) => resolve({ ok: false, reason: `ralph hook ${question.verb}: ${reason}` });
	const child = spawn(question.program, ["hook", question.verb], {
		cwd: question.cwd,
		stdio: ["pipe", "pipe", "pipe"],
		detached: process.platform !== "win32",
	});
	const stop = (why: string) => {
		fail(why);
		endGroup(child.pid, "SIGTERM");
	};
	const limit = question.timeoutMs > 0 ? setTimeout(() => stop("no answer in time"), question.timeoutMs) : undefined;
	const onAbort = () => stop("stopped");
	question.signal?.addEventListener("abort", onAbort);
	if (question.signal?.aborted) onAbort();
	let said = "";
	let complaint = "";
	child.stdout.setEncoding("utf8").on("data", (part: string) => {
		said += part;
		if (said.length > MAX_ANSWER_BYTES) stop("the answer is too long");
	});
	child.stderr.setEncoding("utf8").on("data", (part: string) => {
		complaint = (complaint + part).slice(-2000);
	});
	child.stdin.on("error", () => {
		// It may answer without reading.
	});
	child.stdin.end(JSON.stringify(question.body));
	child.on("error", (error) => fail(error.message));
	child.on("close", (code, signal) => {
		clearTimeout(limit);
		question.signal?.removeEventListener("abort", onAbort);
		if (code !== 0) {
			fail(complaint.trim() || `ended with ${signal ?? `code ${code}`}`);
			return;
		}
		const value = objectOf(said);
		if (value) resolve({ ok: true, value });
		else fail("the answer is not a JSON object");
	});
	return promise;
}

/** Sends a signal to a process and what it started. */
export function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
	if (pid === undefined) return;
	try {
		process.kill(process.platform === "win32" ? pid : -pid, signal);
	} catch {
		// It has ended.
	}
}

function objectOf(text: string): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
	} catch {
		// Not JSON.
	}
	return undefined;
}

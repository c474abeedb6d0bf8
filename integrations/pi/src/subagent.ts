/**
 * One iteration in a Pi process of its own: no session, no extensions, its events read as JSON lines. Says what
 * happened, and never what follows from it.
 */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { type AssistantWords, callOf, type ModelCall, toolCallsOf } from "./usage.ts";

/** A line that is longer is not read: it could only be a tool's output. */
const MAX_LINE_CHARS = 64 * 1024 * 1024;

export interface SubagentJob {
	cwd: string;
	prompt: string;
	/** What of this Pi holds for it too: model, thinking, trust. */
	options: string[];
	systemPrompt: string | undefined;
	signal: AbortSignal;
	/** Called for each answer of the model. */
	onMessage: (call: ModelCall, toolCalls: number, message: AssistantWords) => void;
}

export type SubagentEnd = { kind: "settled" } | { kind: "stopped" } | { kind: "failed"; reason: string };

export function runSubagent(job: SubagentJob): Promise<SubagentEnd> {
	const { promise, resolve } = Promise.withResolvers<SubagentEnd>();
	const args = ["--mode", "json", "--no-session", "--no-extensions"];
	args.push(...job.options);
	if (job.systemPrompt) args.push("--append-system-prompt", job.systemPrompt);
	const { program, before } = piInvocation();
	const child = spawn(program, [...before, ...args], { cwd: job.cwd, stdio: ["pipe", "pipe", "pipe"] });
	let settled = false;
	let complaint = "";
	const stop = () => child.kill("SIGTERM");
	job.signal.addEventListener("abort", stop);
	if (job.signal.aborted) stop();
	const read = (line: string) => {
		const event = eventOf(line);
		if (event?.type === "agent_settled") settled = true;
		if (event?.type !== "message_end" || event.message?.role !== "assistant") return;
		job.onMessage(callOf(event.message), toolCallsOf(event.message), event.message);
	};
	let rest = "";
	child.stdout.setEncoding("utf8").on("data", (part: string) => {
		const lines = (rest + part).split("\n");
		rest = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS);
		for (const line of lines) read(line);
	});
	child.stderr.setEncoding("utf8").on("data", (part: string) => {
		complaint = (complaint + part).slice(-2000);
	});
	child.stdin.on("error", () => {
		// It ended before it read its prompt, and says why.
	});
	// A prompt on the command line may be too long for it, or be taken for a flag.
	child.stdin.end(job.prompt);
	child.on("error", (error) => resolve({ kind: "failed", reason: error.message }));
	child.on("close", (code, signal) => {
		job.signal.removeEventListener("abort", stop);
		if (job.signal.aborted) resolve({ kind: "stopped" });
		else if (settled) resolve({ kind: "settled" });
		else resolve({ kind: "failed", reason: complaint.trim() || `the subagent ended with ${signal ?? `code ${code}`}` });
	});
	return promise;
}

/** Returns how this very Pi is started: by a script that a runtime runs, or as a program of its own. */
function piInvocation(): { program: string; before: string[] } {
	const script = process.argv[1];
	if (script && !script.startsWith("/$bunfs/") && existsSync(script)) return { program: process.execPath, before: [script] };
	const isRuntime = /^(node|bun)(\.exe)?$/i.test(basename(process.execPath));
	return { program: isRuntime ? "pi" : process.execPath, before: [] };
}

interface SubagentEvent {
	type?: string;
	message?: AssistantWords & { role?: string };
}

function eventOf(line: string): SubagentEvent | undefined {
	if (!line.startsWith("{")) return undefined;
	try {
		return JSON.parse(line) as SubagentEvent;
	} catch {
		return undefined;
	}
}

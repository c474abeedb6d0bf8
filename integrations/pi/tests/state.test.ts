/** The state file: its form, that any text survives, and what is no state. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hideFromGit } from "../src/git.ts";
import { standingOf, thisProcess } from "../src/owner.ts";
import { createState, deleteState, type LoopState, parseState, readState, renderState, statePath, writeState } from "../src/state.ts";

export function sample(over: Partial<LoopState> = {}): LoopState {
	return {
		active: true,
		iteration: 2,
		maxIterations: 50,
		completionPromise: "DONE",
		startedAt: "2026-01-02T17:35:07.000Z",
		owner: { pid: 4711, started: "123456" },
		sessionId: "session-1",
		context: "fresh",
		verify: false,
		loopId: null,
		errors: 1,
		errorsInRow: 0,
		lastError: "500 no",
		totals: { input: 100, output: 20, cacheRead: 3, cacheWrite: 4, costUsd: 0.0006 },
		prompt: "Build it",
		...over,
	};
}

function scratch(use: (folder: string) => void): void {
	const folder = mkdtempSync(join(tmpdir(), "ralph-pi-"));
	try {
		use(folder);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test("a state is written in this form", () => {
	assert.equal(
		renderState(sample()),
		`---
active: true
iteration: 2
max_iterations: 50
completion_promise: "DONE"
started_at: "2026-01-02T17:35:07.000Z"
owner_pid: 4711
owner_started: "123456"
session_id: "session-1"
context: "fresh"
verify: false
loop_id: null
errors: 1
errors_in_row: 0
last_error: "500 no"
input_tokens: 100
output_tokens: 20
cache_read_tokens: 3
cache_write_tokens: 4
cost_usd: 0.0006
---

Build it
`,
	);
});

test("any text survives", () => {
	for (const text of ['"', "it's", "a\nb\n---\nc", "---", "größer ✅ \u2028 \u0000", "yes: no # x", "null", "42", "\\n", "\ttab\r"]) {
		const state = sample({ prompt: `x${text}y`, completionPromise: text, lastError: text, sessionId: `s${text}` });
		assert.deepEqual(parseState(renderState(state)), { kind: "loop", state: { ...state, prompt: state.prompt } }, JSON.stringify(text));
	}
});

test("what a person writes by hand is read too", () => {
	const text = renderState(sample())
		.replace('"DONE"', "ALL DONE")
		.replace('"fresh"', "'same'")
		.replace("max_iterations: 50", "max_iterations:  7 ")
		.replaceAll("\n", "\r\n");
	const reading = parseState(text);
	assert.ok(reading.kind === "loop", JSON.stringify(reading));
	assert.equal(reading.state.completionPromise, "ALL DONE");
	assert.equal(reading.state.context, "same");
	assert.equal(reading.state.maxIterations, 7);
});

test("what is no state is said to be so, with the reason", () => {
	const good = renderState(sample());
	for (const [text, reason] of [
		["", "no front matter between two lines of ---"],
		["Build it", "no front matter between two lines of ---"],
		[good.slice(0, 40), "no front matter between two lines of ---"],
		[good.replace("Build it\n", ""), "no prompt below the front matter"],
		[good.replace("iteration: 2", "iteration: two"), "iteration is not a number from 0"],
		[good.replace("iteration: 2", "iteration: -2"), "iteration is not a number from 0"],
		[good.replace("iteration: 2", "iteration: 0"), "iteration is 0, and the first is 1"],
		[good.replace("active: true", "active: perhaps"), "active is neither true nor false"],
		[good.replace("owner_pid: 4711\n", ""), "owner_pid is missing"],
		[good.replace("active: true", "active: true\nactive: true"), "active is there twice"],
		[good.replace('"2026-01-02T17:35:07.000Z"', '"yesterday"'), 'started_at is "yesterday", not a time'],
		[good.replace('"DONE"', '"DONE'), "completion_promise can't be read"],
		[good.replace("verify: false", "<<<<<<< HEAD"), 'the line "<<<<<<< HEAD" is no field'],
	] as const) {
		assert.deepEqual(parseState(text), { kind: "corrupt", reason }, reason);
	}
});

test("a state is created once, replaced as a whole and leaves nothing beside it", () =>
	scratch((folder) => {
		assert.deepEqual(readState(folder), { kind: "none" });
		assert.equal(createState(folder, sample()), true);
		assert.equal(createState(folder, sample({ prompt: "other" })), false);
		writeState(folder, sample({ iteration: 3 }));
		assert.deepEqual(readState(folder), { kind: "loop", state: sample({ iteration: 3 }) });
		assert.deepEqual(readdirSync(join(folder, ".pi")), ["ralph-loop.local.md"]);
		writeFileSync(statePath(folder), "x");
		assert.equal(readState(folder).kind, "corrupt");
		deleteState(folder);
		deleteState(folder);
		assert.deepEqual(readState(folder), { kind: "none" });
	}));

test("git does not see the state, and no tracked file changes", () =>
	scratch((folder) => {
		const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
		git("init", "-q");
		hideFromGit(folder);
		hideFromGit(folder);
		createState(folder, sample());
		assert.equal(git("status", "--porcelain"), "");
		const exclude = readFileSync(join(folder, ".git/info/exclude"), "utf8");
		assert.equal(exclude.split("ralph-loop.local.md*").length, 2);
	}));

test("a folder that is no repository is left alone", () =>
	scratch((folder) => {
		hideFromGit(folder);
		assert.deepEqual(readdirSync(folder), []);
	}));

test("an owner is this process, another that lives, or gone", async () => {
	assert.equal(standingOf(thisProcess()), "mine");
	assert.equal(standingOf({ pid: process.pid, started: "1" }), "dead");
	const child = spawn("sleep", ["60"]);
	await new Promise((resolve) => child.once("spawn", resolve));
	const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
	const owner = { pid: child.pid as number, started: stat.split(") ")[1]?.split(" ")[19] ?? null };
	assert.equal(standingOf(owner), "alive");
	const gone = new Promise((resolve) => child.once("exit", resolve));
	child.kill("SIGKILL");
	await gone;
	assert.equal(standingOf(owner), "dead");
});

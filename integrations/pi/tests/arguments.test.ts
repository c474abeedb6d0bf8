/** Arguments of `/ralph-loop`: what is understood, and what is refused with which words. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_PROMPT_BYTES, parseArguments } from "../src/arguments.ts";

function read(raw: string) {
	const parsed = parseArguments(raw);
	assert.ok(parsed.ok, parsed.ok ? "" : parsed.error);
	return parsed.value;
}

function mistake(raw: string): string {
	const parsed = parseArguments(raw);
	assert.ok(!parsed.ok, `${raw} was taken`);
	return parsed.error;
}

test("flags are read in both forms and in any place", () => {
	const expected = { prompt: "Build an API", maxIterations: 3, completionPromise: "ALL DONE", context: "fresh", verify: false };
	for (const raw of [
		'"Build an API" --max-iterations 3 --completion-promise "ALL DONE"',
		"Build an API --max-iterations=3 --completion-promise='ALL DONE'",
		"--max-iterations 3 'Build an API' --completion-promise=\"ALL  DONE\"",
		"--completion-promise ' ALL DONE ' --max-iterations=3 Build an API",
	]) {
		assert.deepEqual(read(raw), expected, raw);
	}
});

test("switches choose context and verification", () => {
	assert.equal(read("x --same-context").context, "same");
	assert.equal(read("--subagent x").context, "subagent");
	assert.equal(read("x").context, "fresh");
	assert.equal(read("x --verify --completion-promise DONE").verify, true);
	assert.equal(read("x").maxIterations, 0);
	assert.equal(read("x").completionPromise, null);
});

test("a prompt keeps its words, lines and inner quotes", () => {
	assert.equal(read("Don't break the user's build").prompt, "Don't break the user's build");
	assert.equal(read("First line\n\n  - second --subagent").prompt, "First line\n\n  - second");
	assert.equal(read('Say "hello world", then stop').prompt, 'Say "hello world", then stop');
	assert.equal(read('Say "the --verify flag" out').prompt, 'Say "the --verify flag" out');
	assert.equal(read('"a \\"quoted\\" word and C:\\\\x and \\n"').prompt, 'a "quoted" word and C:\\x and \\n');
	assert.equal(read("'it\\'s one'").prompt, "it's one");
	assert.equal(read("one --subagent two").prompt, "one two");
	assert.equal(read("größer ✅ --max-iterations 2").prompt, "größer ✅");
	assert.equal(read("use -v and -x").prompt, "use -v and -x");
	assert.equal(read("--subagent -- --max-iterations is a flag").prompt, "--max-iterations is a flag");
});

test("a flag that is not known is an error that names the nearest", () => {
	for (const [raw, flag, near] of [
		["x --max-iteration 3", "--max-iteration", "--max-iterations"],
		["x --max_iterations=3", "--max_iterations", "--max-iterations"],
		["x --completion-promis DONE", "--completion-promis", "--completion-promise"],
		["x --promise DONE", "--promise", "--completion-promise"],
		["x --samecontext", "--samecontext", "--same-context"],
		["x --verfy", "--verfy", "--verify"],
		["x --sub-agent", "--sub-agent", "--subagent"],
		["x -max-iterations 3", "-max-iterations", "--max-iterations"],
		["x —verify", "—verify", "--verify"],
	] as const) {
		assert.match(mistake(raw), new RegExp(`^unknown flag ${flag}: did you mean ${near}\\?`), raw);
	}
});

test("values that are missing or wrong are said to be so", () => {
	assert.match(mistake(""), /there is no prompt/);
	assert.match(mistake("  --max-iterations 3 "), /there is no prompt/);
	assert.match(mistake('""'), /there is no prompt/);
	assert.equal(mistake("x --max-iterations"), "--max-iterations needs a value");
	assert.equal(mistake("x --max-iterations --verify"), "--max-iterations needs a value");
	for (const bad of ["-1", "1.5", "three", "1e3", "0x10", "99999999999999999999"]) {
		assert.equal(mistake(`x --max-iterations ${bad}`), `--max-iterations takes a whole number from 0 (no limit), not "${bad}"`);
	}
	assert.equal(mistake('x --completion-promise ""'), "--completion-promise is empty");
	assert.match(mistake("x --completion-promise <promise>DONE</promise>"), /without <promise> around it/);
	assert.match(mistake("x --verify"), /^--verify needs --completion-promise/);
	assert.equal(mistake("x --verify=yes"), "--verify takes no value");
	assert.equal(mistake("x --verify --verify"), "--verify is given twice");
	assert.equal(mistake("x --same-context --subagent"), "--same-context and --subagent exclude each other");
	assert.equal(mistake('"never closed'), 'the quote " is never closed');
	assert.match(mistake("x".repeat(MAX_PROMPT_BYTES + 1)), /are the limit/);
});

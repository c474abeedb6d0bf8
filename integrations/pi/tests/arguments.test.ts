/** Arguments of `/ralph-loop`: the table that ralph's core is held to as well, and what no table can hold. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type ContextKind, MAX_PROMPT_BYTES, parseArguments } from "../src/arguments.ts";

interface ArgumentCase {
	typed: string;
	why: string;
	/** The one agent that has it; both where none is named. */
	agent?: "pi" | "claude";
	error?: string;
	prompt?: string;
	maxIterations?: number;
	completionPromise?: string;
	verify?: boolean;
	context?: ContextKind;
}

const table = JSON.parse(readFileSync(new URL("../../arguments.json", import.meta.url), "utf8")) as ArgumentCase[];

test("arguments are read as the table of all integrations says", () => {
	const own = table.filter((row) => (row.agent ?? "pi") === "pi");
	const wrong = own.filter((row) => row.error !== undefined).length;
	assert.ok(wrong > 20 && own.length - wrong > 20, `${wrong} of ${own.length}`);
	for (const row of own) {
		assert.ok((row.error === undefined) !== (row.prompt === undefined), `${row.typed}: either a prompt or an error`);
		const expected =
			row.prompt === undefined
				? { ok: false, error: row.error }
				: {
						ok: true,
						value: {
							prompt: row.prompt,
							maxIterations: row.maxIterations ?? 0,
							completionPromise: row.completionPromise ?? null,
							context: row.context ?? "fresh",
							verify: row.verify ?? false,
						},
					};
		assert.deepEqual(parseArguments(row.typed), expected, `${row.why}: ${row.typed}`);
	}
});

test("a prompt that is too long is refused", () => {
	const most = "é".repeat(MAX_PROMPT_BYTES / 2);
	assert.ok(parseArguments(most).ok);
	assert.deepEqual(parseArguments(`${most}x`), {
		ok: false,
		error: "the prompt has 262145 bytes, and 262144 are the limit: put it in a file and name that",
	});
});

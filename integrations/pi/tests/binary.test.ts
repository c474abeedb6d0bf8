/** The program ralph: how it is found, asked, and what counts as no answer. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { askRalph, findRalph } from "../src/binary.ts";
import { MAX_VERIFY_BYTES, tail } from "../src/journal.ts";

const folder = mkdtempSync(join(tmpdir(), "ralph-pi-"));
after(() => rmSync(folder, { recursive: true }));

function program(name: string, script: string): string {
	const path = join(folder, name);
	writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
	return path;
}

const ask = (path: string, timeoutMs = 0, signal?: AbortSignal) =>
	askRalph({ program: path, cwd: folder, verb: "verify", body: { loop: "l" }, timeoutMs, ...(signal ? { signal } : {}) });

test("the program is found by its variable, else on the path", () => {
	const path = program("ralph", "exit 0");
	writeFileSync(join(folder, "plain"), "x", { mode: 0o644 });
	assert.equal(findRalph({ RALPH_BIN: path, PATH: "" }), path);
	assert.equal(findRalph({ PATH: `/nowhere:${folder}` }), path);
	assert.equal(findRalph({ RALPH_BIN: join(folder, "plain"), PATH: folder }), undefined);
	assert.equal(findRalph({ PATH: "/nowhere" }), undefined);
	assert.equal(findRalph({}), undefined);
});

test("the question is on its input and the answer on its output", async () => {
	const path = program("echo", 'read -r all; test "$1 $2" = "hook verify" && printf \'{"asked":%s}\' "$all"');
	assert.deepEqual(await ask(path), { ok: true, value: { asked: { loop: "l" } } });
});

test("a program that fails, says nothing readable or is missing gives no answer", async () => {
	assert.deepEqual(await ask(program("fails", "echo broken >&2; exit 3")), { ok: false, reason: "ralph hook verify: broken" });
	assert.deepEqual(await ask(program("silent", "exit 4")), { ok: false, reason: "ralph hook verify: ended with code 4" });
	assert.deepEqual(await ask(program("words", "echo yes")), { ok: false, reason: "ralph hook verify: the answer is not a JSON object" });
	assert.deepEqual(await ask(program("list", "echo '[]'")), { ok: false, reason: "ralph hook verify: the answer is not a JSON object" });
	const missing = await ask(join(folder, "missing"));
	assert.ok(!missing.ok && missing.reason.includes("ENOENT"));
});

test("a program that hangs is ended, by time or by the person", async () => {
	const path = program("hangs", "sleep 60");
	assert.deepEqual(await ask(path, 50), { ok: false, reason: "ralph hook verify: no answer in time" });
	const stop = new AbortController();
	const asked = ask(path, 0, stop.signal);
	stop.abort();
	assert.deepEqual(await asked, { ok: false, reason: "ralph hook verify: stopped" });
});

test("a long report keeps its end", () => {
	assert.equal(tail("short"), "short");
	const cut = tail(`${"ä".repeat(MAX_VERIFY_BYTES)}END`);
	assert.ok(cut.startsWith("…ä") && cut.endsWith("END") && Buffer.byteLength(cut) <= MAX_VERIFY_BYTES, cut.slice(0, 10));
});

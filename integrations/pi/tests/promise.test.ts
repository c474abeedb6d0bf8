/** Promises: the table that ralph's core is held to as well. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findPromise } from "../src/promise.ts";

interface PromiseCase {
	message: string;
	promise: string | null;
	why: string;
}

const table = JSON.parse(readFileSync(new URL("../../promises.json", import.meta.url), "utf8")) as PromiseCase[];

test("the table has cases of both kinds", () => {
	assert.ok(table.filter((one) => one.promise !== null).length > 10);
	assert.ok(table.filter((one) => one.promise === null).length > 10);
});

for (const { message, promise, why } of table) {
	test(`${promise === null ? "no promise" : "a promise"}: ${why}: ${JSON.stringify(message)}`, () => {
		assert.equal(findPromise(message), promise);
	});
}

test("a long message is read in time that grows with it", () => {
	const message = `${'"a b" '.repeat(20_000)}\n${"x `".repeat(3001)}\n<promise>DONE</promise>`;
	const began = Date.now();
	assert.equal(findPromise(message), "DONE");
	assert.ok(Date.now() - began < 2000);
});

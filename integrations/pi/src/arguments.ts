/**
 * The arguments of `/ralph-loop`, which Pi passes on as one raw string.
 *
 * Flags may stand anywhere and are taken out; everything else is the prompt, as it was typed. A word that looks like
 * a flag and is none is an error, never a part of the prompt. Text in quotes, and what follows `--`, is never a flag.
 * A quote opens at the beginning of a word or of a flag's value, so that the apostrophe of a word is a letter; one
 * that opens has to be closed, or it would hide the flags behind it.
 *
 * ralph's core reads them the same for other agents; both are held to one table, `integrations/arguments.json`.
 */

import { collapse } from "./promise.ts";

/** Everything that is sent to an agent has a cap. */
export const MAX_PROMPT_BYTES = 256 * 1024;
const MAX_PROMISE_CHARACTERS = 200;
/** As much of a word as an error repeats. */
const SHOWN_CHARACTERS = 40;

/** Says where an iteration runs. */
export type ContextKind = "fresh" | "same" | "subagent";

export interface LoopArguments {
	prompt: string;
	/** 0 is no limit. */
	maxIterations: number;
	/** Trimmed, with white space collapsed, as a promise is compared. */
	completionPromise: string | null;
	context: ContextKind;
	verify: boolean;
}

export type ParsedArguments = { ok: true; value: LoopArguments } | { ok: false; error: string };

const FLAGS = ["--max-iterations", "--completion-promise", "--verify", "--same-context", "--subagent"] as const;
type Flag = (typeof FLAGS)[number];

const SPACE = /\p{White_Space}/u;
/** The dashes that people and editors write before a flag. */
const DASHES = /^[-–—]+/u;
const LETTER_FIRST = /^\p{Alphabetic}/u;
const ALPHANUMERIC = /^[\p{Alphabetic}\p{N}]/u;

class ArgumentMistake extends Error {}

/** Reads the arguments, or says what is wrong with them. */
export function parseArguments(raw: string): ParsedArguments {
	try {
		return { ok: true, value: read(raw) };
	} catch (error) {
		if (error instanceof ArgumentMistake) return { ok: false, error: error.message };
		throw error;
	}
}

function read(raw: string): LoopArguments {
	const words = new Words(raw);
	const parts: string[] = [];
	const seen = new Set<Flag>();
	let maxIterations = 0;
	let completionPromise: string | null = null;
	let keptTo = 0;
	for (let word = words.next(); word; word = words.next()) {
		if (word.quoted) continue;
		if (word.raw === "--") {
			parts.push(raw.slice(keptTo, word.at));
			keptTo = words.at;
			break;
		}
		if (!isFlag(word.raw)) {
			if (isNearlyFlag(word.raw)) throw unknown(word.raw);
			continue;
		}
		parts.push(raw.slice(keptTo, word.at));
		const flag = flagOf(word.raw);
		if (seen.has(flag)) throw new ArgumentMistake(`${flag} is given twice`);
		seen.add(flag);
		const equals = word.raw.indexOf("=");
		const inline = equals < 0 ? undefined : unquoted(word.raw.slice(equals + 1));
		if (flag === "--max-iterations") {
			maxIterations = iterationsOf(inline ?? words.valueOf(flag));
		} else if (flag === "--completion-promise") {
			completionPromise = promiseOf(inline ?? words.valueOf(flag));
		} else if (inline !== undefined) {
			throw new ArgumentMistake(`${flag} takes no value, and has ${JSON.stringify(inline)}`);
		}
		keptTo = words.at;
	}
	parts.push(raw.slice(keptTo));
	const prompt = promptOf(parts);
	const verify = seen.has("--verify");
	if (verify && completionPromise === null) {
		throw new ArgumentMistake("--verify needs --completion-promise: it is the promise that is verified");
	}
	return { prompt, maxIterations, completionPromise, context: contextOf(seen), verify };
}

/** One word, or one text in quotes, which may hold blanks. */
interface Word {
	at: number;
	raw: string;
	quoted: boolean;
}

class Words {
	at = 0;
	private readonly text: string;

	constructor(text: string) {
		this.text = text;
	}

	next(): Word | undefined {
		const { text } = this;
		let at = this.at;
		while (at < text.length && SPACE.test(text[at] as string)) at++;
		if (at === text.length) return undefined;
		const open = valueAt(text.slice(at));
		const rest = text.slice(at + open);
		let end = 0;
		if (isQuote(rest[0])) {
			const closed = closing(rest);
			if (closed === undefined) {
				const word = shown(rest.split(SPACE, 1)[0] ?? "");
				throw new ArgumentMistake(`the quote ${rest[0]} is never closed in ${word} (after -- it belongs to the prompt)`);
			}
			end = closed;
		}
		const quoted = open === 0 && end > 0;
		// A quotation that goes on as a word is prose.
		while (end < rest.length && !SPACE.test(rest[end] as string)) end++;
		this.at = at + open + end;
		return { at, raw: text.slice(at, this.at), quoted };
	}

	/** The next word as the value of a flag: another flag is none. */
	valueOf(flag: Flag): string {
		const word = this.next();
		if (!word || (!word.quoted && word.raw.startsWith("--"))) throw new ArgumentMistake(`${flag} needs a value`);
		return unquoted(word.raw);
	}
}

/** The place where the value of a flag begins that has it by `=`: `--completion-promise="ALL DONE"`. Otherwise 0. */
function valueAt(rest: string): number {
	const name = /^[^\p{White_Space}="']+(?==)/u.exec(rest)?.[0] ?? "";
	return isFlag(name) ? name.length + 1 : 0;
}

function isQuote(c: string | undefined): boolean {
	return c === '"' || c === "'";
}

/** The length of the text in quotes that stands here. A letter right behind a single quote makes it an apostrophe. */
function closing(text: string): number | undefined {
	const quote = text[0] as string;
	for (let at = 1; at < text.length; at++) {
		const c = text[at] as string;
		if (c === "\\" && isEscaped(text[at + 1], quote)) {
			at++;
		} else if (c === quote && !(quote === "'" && ALPHANUMERIC.test(text.slice(at + 1, at + 3)))) {
			return at + 1;
		}
	}
	return undefined;
}

/** Tells whether a backslash before it takes its meaning from a character in these quotes. */
function isEscaped(c: string | undefined, quote: string): boolean {
	return c === quote || (quote === '"' && c === "\\");
}

/** The text without the quotes around all of it. */
function unquoted(text: string): string {
	if (!isQuote(text[0]) || closing(text) !== text.length) return text;
	return text.slice(1, -1).replace(text[0] === '"' ? /\\(["\\])/g : /\\(')/g, "$1");
}

/** The word up to its value. */
function nameOf(word: string): string {
	return word.split("=", 1)[0] as string;
}

/** The name without the dashes before it. */
function bareName(word: string): string {
	return nameOf(word).replace(DASHES, "");
}

/** Tells whether a word is to be a flag. A line, an arrow and the like are text. */
function isFlag(word: string): boolean {
	return word.startsWith("--") && LETTER_FIRST.test(bareName(word));
}

/**
 * Tells whether a word is a flag with the wrong dashes: `-verify`, or what an editor made of `--`. One letter in three
 * may be wrong, too.
 */
function isNearlyFlag(word: string): boolean {
	const bare = bareName(word);
	if (bare === nameOf(word) || !LETTER_FIRST.test(bare)) return false;
	return FLAGS.some((flag) => edits(bare, flag) * 3 <= [...bare].length);
}

function flagOf(word: string): Flag {
	const name = nameOf(word);
	const flag = FLAGS.find((known) => known === name);
	if (flag === undefined) throw unknown(word);
	return flag;
}

function unknown(word: string): ArgumentMistake {
	const near = nearest(bareName(word));
	const meant = near === undefined ? "" : `; did you mean ${near}?`;
	return new ArgumentMistake(`${shown(nameOf(word))} is not a flag of /ralph-loop${meant} (in quotes or after -- it belongs to the prompt)`);
}

/**
 * The flag that a name was most likely meant for: one that it is a part of, else the nearest of those in which one
 * letter in three is right.
 */
function nearest(bare: string): Flag | undefined {
	const length = [...bare].length;
	const part = FLAGS.find((flag) => length > 2 && flag.slice(2).includes(bare));
	if (part !== undefined) return part;
	let best: Flag | undefined;
	for (const flag of FLAGS) {
		if (edits(bare, flag) * 3 > length * 2) continue;
		if (best === undefined || edits(bare, flag) < edits(bare, best)) best = flag;
	}
	return best;
}

/** The number of letters to add, take away or change. */
function edits(bare: string, flag: Flag): number {
	const from = [...bare];
	const to = [...flag.slice(2)];
	let row = Array.from({ length: to.length + 1 }, (_, i) => i);
	for (let i = 1; i <= from.length; i++) {
		const next = [i];
		for (let j = 1; j <= to.length; j++) {
			const change = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
			next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
		}
		row = next;
	}
	return row[to.length] as number;
}

/** A word in an error. */
function shown(word: string): string {
	return [...word].slice(0, SHOWN_CHARACTERS).join("");
}

/** The prompt, of the parts between the flags. One that is a quotation as a whole loses its quotes. */
function promptOf(parts: string[]): string {
	const kept = parts.map(trim).filter((part) => part !== "");
	const prompt = trim(unquoted(kept.join(" ")));
	if (prompt === "") {
		throw new ArgumentMistake("there is no prompt: /ralph-loop <prompt> [--max-iterations N] [--completion-promise TEXT]");
	}
	const bytes = Buffer.byteLength(prompt);
	if (bytes > MAX_PROMPT_BYTES) {
		throw new ArgumentMistake(`the prompt has ${bytes} bytes, and ${MAX_PROMPT_BYTES} are the limit: put it in a file and name that`);
	}
	return prompt;
}

function trim(text: string): string {
	return text.replace(/^\p{White_Space}+/u, "").replace(/\p{White_Space}+$/u, "");
}

function iterationsOf(value: string): number {
	const number = Number(value);
	if (!/^\d+$/.test(value) || !Number.isSafeInteger(number)) {
		throw new ArgumentMistake(`--max-iterations needs a whole number, 0 for no limit, and has ${JSON.stringify(value)}`);
	}
	return number;
}

/** A promise that ralph takes as well: what would end the tag or the line that it stands in is refused. */
function promiseOf(value: string): string {
	const text = collapse(value);
	const mistake = (why: string) => new ArgumentMistake(`--completion-promise: a promise ${why}`);
	const bad = /[<>{}`"]|\p{Cc}/u.exec(text)?.[0];
	if (bad !== undefined) {
		const code = `\\u{${(bad.codePointAt(0) ?? 0).toString(16)}}`;
		throw mistake(`can't have '${/\p{Cc}/u.test(bad) ? code : bad}' in it`);
	}
	if (text === "") throw mistake("needs at least one word");
	if ([...text].length > MAX_PROMISE_CHARACTERS) throw mistake(`has at most ${MAX_PROMISE_CHARACTERS} characters`);
	return text;
}

function contextOf(seen: Set<Flag>): ContextKind {
	const same = seen.has("--same-context");
	if (same && seen.has("--subagent")) {
		throw new ArgumentMistake("--same-context and --subagent exclude each other");
	}
	if (same) return "same";
	return seen.has("--subagent") ? "subagent" : "fresh";
}

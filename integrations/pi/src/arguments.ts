/**
 * The arguments of `/ralph-loop`, which Pi passes on as one raw string.
 *
 * Never guesses: a flag that is not known is an error with the nearest one that is, and starts nothing.
 */

import { collapse } from "./promise.ts";

/** Everything that is sent to an agent has a cap. */
export const MAX_PROMPT_BYTES = 256 * 1024;

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

const WITH_VALUE = ["--max-iterations", "--completion-promise"] as const;
const SWITCHES = ["--same-context", "--subagent", "--verify"] as const;
const FLAGS: readonly string[] = [...WITH_VALUE, ...SWITCHES];

/** A word of the raw string: where it stands, and what it says without its quotes. */
interface Word {
	text: string;
	start: number;
	end: number;
	quoted: boolean;
}

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
	const given = new Map<string, string>();
	const prompt: Word[] = [];
	const words = split(raw);
	let onlyText = false;
	for (let index = 0; index < words.length; index++) {
		const word = words[index] as Word;
		if (onlyText || word.quoted) {
			prompt.push(word);
		} else if (word.text === "--") {
			onlyText = true;
		} else if (word.text.startsWith("--")) {
			const [name, attached] = nameAndValue(word.text);
			if (!FLAGS.includes(name)) throw unknown(name);
			if (given.has(name)) throw new ArgumentMistake(`${name} is given twice`);
			if (isSwitch(name)) {
				if (attached !== undefined) throw new ArgumentMistake(`${name} takes no value`);
				given.set(name, "");
			} else if (attached !== undefined) {
				given.set(name, attached);
			} else {
				const next = words[index + 1];
				if (next === undefined || (!next.quoted && next.text.startsWith("--"))) {
					throw new ArgumentMistake(`${name} needs a value`);
				}
				given.set(name, next.text);
				index++;
			}
		} else if (looksLikeFlag(word.text)) {
			throw unknown(word.text);
		} else {
			prompt.push(word);
		}
	}
	if (given.has("--verify") && !given.has("--completion-promise")) {
		throw new ArgumentMistake("--verify needs --completion-promise: it is the promise that is verified");
	}
	return {
		prompt: promptOf(raw, prompt),
		maxIterations: iterationsOf(given.get("--max-iterations")),
		completionPromise: promiseOf(given.get("--completion-promise")),
		context: contextOf(given),
		verify: given.has("--verify"),
	};
}

/**
 * Splits at white space. A quote opens only at the beginning of a word or of a flag's value, so that an
 * apostrophe is a letter.
 */
function split(raw: string): Word[] {
	const words: Word[] = [];
	let at = 0;
	while (at < raw.length) {
		if (/\s/.test(raw[at] as string)) {
			at++;
			continue;
		}
		const start = at;
		const flag = /^--[^\s="']+=/.exec(raw.slice(at));
		let text = flag ? flag[0] : "";
		at += text.length;
		const quote = raw[at];
		let quoted = false;
		if (quote === '"' || quote === "'") {
			const inner = readQuoted(raw, at);
			const after = raw[inner.end];
			quoted = flag === null;
			if (after === undefined || /\s/.test(after)) {
				text += inner.text;
				at = inner.end;
				words.push({ text, start, end: at, quoted });
				continue;
			}
			// A quotation that goes on as a word is prose: its marks stay.
			text += raw.slice(at, inner.end);
			at = inner.end;
		}
		while (at < raw.length && !/\s/.test(raw[at] as string)) {
			text += raw[at];
			at++;
		}
		words.push({ text, start, end: at, quoted });
	}
	return words;
}

function readQuoted(raw: string, open: number): { text: string; end: number } {
	const quote = raw[open];
	let text = "";
	for (let at = open + 1; at < raw.length; at++) {
		const c = raw[at] as string;
		if (c === quote) return { text, end: at + 1 };
		const next = raw[at + 1];
		if (c === "\\" && quote === '"' && (next === '"' || next === "\\")) {
			text += next;
			at++;
		} else if (c === "\\" && quote === "'" && next === "'") {
			text += next;
			at++;
		} else {
			text += c;
		}
	}
	throw new ArgumentMistake(`the quote ${quote} is never closed`);
}

function nameAndValue(text: string): [string, string | undefined] {
	const equals = text.indexOf("=");
	return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}

function isSwitch(name: string): boolean {
	return (SWITCHES as readonly string[]).includes(name);
}

/** Tells whether a word is a flag with the wrong dashes: `-verify`, or what an editor made of `--`. */
function looksLikeFlag(text: string): boolean {
	const bare = /^[-–—]+(\p{L}[^=]*)/u.exec(text);
	if (!bare) return false;
	const name = `--${bare[1]}`;
	return distance(name, nearest(name)) <= 2;
}

function unknown(name: string): ArgumentMistake {
	const known = nearest(`--${name.replace(/^[-–—]+/u, "").replace(/=.*$/s, "")}`);
	return new ArgumentMistake(`unknown flag ${name}: did you mean ${known}? (-- before the prompt ends the flags)`);
}

function nearest(name: string): string {
	const bare = name.slice(2);
	// A part of a name is meant for it, however much is missing.
	let best = FLAGS.find((flag) => bare.length > 2 && flag.includes(bare)) ?? (FLAGS[0] as string);
	if (best.includes(bare)) return best;
	for (const flag of FLAGS) {
		if (distance(name, flag) < distance(name, best)) best = flag;
	}
	return best;
}

/** The number of letters to add, take away or change. */
function distance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, i) => i);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
		}
		row = next;
	}
	return row[b.length] as number;
}

/** A prompt that is one quotation loses its quotes. Otherwise it is what was typed, line breaks too. */
function promptOf(raw: string, words: Word[]): string {
	let prompt = "";
	if (words.length === 1 && words[0]?.quoted && isWholeQuotation(raw, words[0])) {
		prompt = words[0].text;
	} else {
		let end: number | undefined;
		for (const word of words) {
			const gap = end === undefined ? "" : raw.slice(end, word.start);
			prompt += (/^\s*$/.test(gap) ? gap : " ") + raw.slice(word.start, word.end);
			end = word.end;
		}
	}
	prompt = prompt.trim();
	if (prompt === "") {
		throw new ArgumentMistake("there is no prompt: /ralph-loop <prompt> [--max-iterations N] [--completion-promise TEXT]");
	}
	const bytes = Buffer.byteLength(prompt);
	if (bytes > MAX_PROMPT_BYTES) {
		throw new ArgumentMistake(`the prompt has ${bytes} bytes, and ${MAX_PROMPT_BYTES} are the limit: put it in a file and name that`);
	}
	return prompt;
}

function isWholeQuotation(raw: string, word: Word): boolean {
	const first = raw[word.start];
	return (first === '"' || first === "'") && raw[word.end - 1] === first && word.end - word.start > 1;
}

function iterationsOf(value: string | undefined): number {
	if (value === undefined) return 0;
	const number = Number(value);
	if (!/^\d+$/.test(value) || !Number.isSafeInteger(number)) {
		throw new ArgumentMistake(`--max-iterations takes a whole number from 0 (no limit), not ${JSON.stringify(value)}`);
	}
	return number;
}

function promiseOf(value: string | undefined): string | null {
	if (value === undefined) return null;
	const text = collapse(value);
	if (text === "") throw new ArgumentMistake("--completion-promise is empty");
	if (/<\/?promise>/.test(text)) {
		throw new ArgumentMistake("--completion-promise takes the text alone, without <promise> around it");
	}
	return text;
}

function contextOf(given: Map<string, string>): ContextKind {
	const same = given.has("--same-context");
	if (same && given.has("--subagent")) {
		throw new ArgumentMistake("--same-context and --subagent exclude each other");
	}
	if (same) return "same";
	return given.has("--subagent") ? "subagent" : "fresh";
}

/**
 * Promises in a final message: `<promise>TEXT</promise>`, made rather than mentioned.
 *
 * The rules are those of ralph's core, and both are held to one table, `integrations/promises.json`. Looks at
 * nothing but the text it is given.
 */

const OPEN = "<promise>";
const CLOSE = "</promise>";
const SPACE = /\p{White_Space}/u;
const MARK = /^[\p{White_Space}!-/:-@[-`{-~…。！]*$/u;

/**
 * Returns the first promise that is made, white space collapsed.
 *
 * Made means: nothing but punctuation follows it on its line, and it stands in no code span, fence or
 * quotation.
 */
export function findPromise(message: string): string | null {
	const visible = hideQuoted(message);
	let from = 0;
	for (;;) {
		const start = visible.indexOf(OPEN, from);
		if (start < 0) return null;
		const body = start + OPEN.length;
		const end = visible.indexOf(CLOSE, body);
		if (end < 0) return null;
		const after = end + CLOSE.length;
		const lineEnd = visible.indexOf("\n", after);
		const tail = visible.slice(after, lineEnd < 0 ? undefined : lineEnd);
		const text = collapse(visible.slice(body, end));
		if (text !== "" && MARK.test(tail)) return text;
		from = after;
	}
}

/** Trims a text and makes each run of white space one space. */
export function collapse(text: string): string {
	return text.replace(/\p{White_Space}+/gu, " ").replace(/^ | $/g, "");
}

/** Text that grows, and where its last visible letter ends. */
class VisibleText {
	text = "";
	private end = 0;

	push(part: string): void {
		let last = part.length;
		while (last > 0 && SPACE.test(part[last - 1] as string)) last--;
		if (last > 0) this.end = this.text.length + last;
		this.text += part;
	}

	/** Tells whether a quotation that comes next is the name of a task: `Task "Login form" complete`. */
	namesATask(): boolean {
		return /(^|[^\p{Alphabetic}\p{N}])(task|story)$/iu.test(this.text.slice(Math.max(0, this.end - 16), this.end));
	}
}

/** The text with everything quoted in it blanked out. Lines stay what they were. */
function hideQuoted(text: string): string {
	const out = new VisibleText();
	let fence: { mark: string; length: number } | undefined;
	for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
		const body = line.replace(/^\p{White_Space}+/u, "");
		const mark = body[0] ?? " ";
		let run = 0;
		while (body[run] === mark) run++;
		const isFence = (mark === "`" || mark === "~") && run >= 3;
		if (fence) {
			const bare = body.replace(/\p{White_Space}+$/u, "");
			if (isFence && mark === fence.mark && run >= fence.length && bare.length === run) fence = undefined;
			out.push(blank(line));
		} else if (isFence) {
			fence = { mark, length: run };
			out.push(blank(line));
		} else if (mark === ">") {
			out.push(blank(line));
		} else {
			hideSpans(line, out);
		}
	}
	return out.text;
}

/** Blanks code spans, struck words and quotations of one line. An opening mark without a closing one is only a mark. */
function hideSpans(line: string, out: VisibleText): void {
	let rest = line;
	while (rest !== "") {
		const end = closing(rest);
		if (end === undefined) {
			out.push(rest[0] as string);
			rest = rest.slice(1);
		} else {
			const span = rest.slice(0, end);
			out.push(isName(span) || out.namesATask() ? span : blank(span));
			rest = rest.slice(end);
		}
	}
}

/** Returns where the span ends that the text begins with, if it begins with one. */
function closing(rest: string): number | undefined {
	const until = (open: number, close: string): number | undefined => {
		const at = rest.indexOf(close, open);
		return at < 0 ? undefined : at + close.length;
	};
	switch (rest[0]) {
		case "`": {
			const ticks = (/^`+/.exec(rest) as RegExpExecArray)[0];
			return until(ticks.length, ticks);
		}
		case '"':
			return until(1, '"');
		case "~":
			return rest.startsWith("~~") ? until(2, "~~") : undefined;
		case "“":
			return until(1, "”");
		case "«":
			return until(1, "»");
		default:
			return undefined;
	}
}

/** A quoted word is how people write a name: it says nothing by itself. */
function isName(span: string): boolean {
	return !SPACE.test(span) && !/[<>]/.test(span);
}

function blank(text: string): string {
	return text.replace(/[^\n]/g, " ");
}

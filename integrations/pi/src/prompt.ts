/** The words that an iteration is sent: the prompt, and what happened since. */

import type { ActiveLoop } from "./memory.ts";

/** Everything that is sent to an agent has a cap. */
const MAX_NOTES_CHARS = 16 * 1024;

/** The prompt of the next iteration. Notes and the report of a verification are for one iteration. */
export function takePrompt(loop: ActiveLoop): string {
	const parts = [loop.state.prompt];
	if (loop.verifyText !== undefined) {
		parts.push(`The promise was made, but verification failed:\n\n${loop.verifyText}`);
	}
	if (loop.notes.length > 0) {
		parts.push(`A person says:\n\n${loop.notes.join("\n\n").slice(-MAX_NOTES_CHARS)}`);
	}
	loop.verifyText = undefined;
	loop.notes = [];
	return parts.join("\n\n");
}

/** What the model is told beside the prompt; the same in each iteration, so that a cache can keep it. */
export function promiseRule(promise: string | null): string | undefined {
	if (promise === null) return undefined;
	return (
		"You work in a loop that gives you the same prompt again and again. What you did before is in the files. " +
		"When the prompt is fulfilled completely, and only then, end your answer with this line, not quoted and not as code:\n" +
		`<promise>${promise}</promise>`
	);
}

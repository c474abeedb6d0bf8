/** A person's message while a loop runs: they are asked whether it steers, stops or was a mistake. */

import type { ExtensionAPI, ExtensionContext, InputEvent, InputEventResult } from "@earendil-works/pi-coding-agent";
import { cancelLoop } from "./loop.ts";
import { memory } from "./memory.ts";
import { say } from "./say.ts";

export const STEER = "Steer: send it into this loop";
export const STOP = "Stop the loop and send it";
export const DISCARD = "Discard it";

/** Takes a message, where a loop runs. */
export async function takeMessage(pi: ExtensionAPI, ctx: ExtensionContext, event: InputEvent): Promise<InputEventResult> {
	const loop = memory().loop;
	if (event.source === "extension" || !loop || loop.cancelled) return { action: "continue" };
	if (!ctx.hasUI) {
		say(ctx, "Ralph: A loop is active: the message goes into it");
		steer(pi, ctx, event);
		return { action: "handled" };
	}
	const asked = ctx.ui.select(`Ralph loop active (iteration ${loop.state.iteration}). What about your message?`, [STEER, STOP, DISCARD]);
	const closed = asked.catch(() => undefined);
	// Another message may be asked about already.
	const open = Promise.all([memory().question, closed]);
	memory().question = open;
	const choice = await closed;
	void open.then(() => {
		if (memory().question === open) memory().question = undefined;
	});
	switch (choice) {
		case STEER:
			if (memory().loop === loop && !loop.cancelled) steer(pi, ctx, event);
			else send(pi, ctx, event);
			break;
		case STOP:
			if (memory().loop === loop) await cancelLoop(ctx, "after_iteration");
			send(pi, ctx, event);
			break;
		case DISCARD:
			break;
		default:
			// Closed without an answer: the words are the person's, and go back to where they were typed.
			if (ctx.mode === "tui") ctx.ui.setEditorText(event.text);
	}
	return { action: "handled" };
}

/** Into the running iteration, or into the prompt of the next where none runs that could take it. */
function steer(pi: ExtensionAPI, ctx: ExtensionContext, event: InputEvent): void {
	const loop = memory().loop;
	if (loop && (ctx.isIdle() || loop.state.context === "subagent")) {
		loop.notes.push(event.text);
		say(ctx, "Ralph: Your message goes into the prompt of the next iteration");
	} else {
		send(pi, ctx, event);
	}
}

function send(pi: ExtensionAPI, ctx: ExtensionContext, event: InputEvent): void {
	const content = event.images?.length ? [{ type: "text" as const, text: event.text }, ...event.images] : event.text;
	if (ctx.isIdle()) pi.sendUserMessage(content, { expandPromptTemplates: true });
	else pi.sendUserMessage(content, { expandPromptTemplates: true, deliverAs: event.streamingBehavior ?? "steer" });
}

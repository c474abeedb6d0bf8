/** Messages to the person: a notification where Pi has one, the error output where it has not. */

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

export type MessageType = "info" | "warning" | "error";

export function say(ctx: ExtensionContext, message: string, type: MessageType = "info"): void {
	if (ctx.hasUI) {
		ctx.ui.notify(message, type);
	} else {
		process.stderr.write(`${message}\n`);
	}
}

/** Says why a command does nothing. */
export function refuse(ctx: ExtensionContext, reason: string): void {
	say(ctx, `Ralph: ${reason}`, "error");
}

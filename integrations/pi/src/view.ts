/** Shows the progress of the loop in the status line and the widget of Pi, and takes both away. */

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type ActiveLoop, memory } from "./memory.ts";
import { statusText, widgetLines } from "./progress.ts";
import { addCalls } from "./usage.ts";

const KEY = "ralph";

/** Shows where the loop is. In the terminal the elapsed time goes on by itself. */
export function showProgress(ctx: ExtensionContext, loop: ActiveLoop, doing = "running"): void {
	stopTicking();
	if (loop.cancelled) return;
	draw(ctx, loop, doing);
	if (ctx.mode !== "tui") return;
	memory().ticking = setInterval(() => {
		// Pi may have replaced the session since.
		const current = memory().context;
		if (current && memory().loop === loop) attempt(() => draw(current, loop, doing));
		else stopTicking();
	}, 1000).unref();
}

export function clearProgress(ctx: ExtensionContext): void {
	stopTicking();
	attempt(() => {
		ctx.ui.setStatus(KEY, undefined);
		ctx.ui.setWidget(KEY, undefined);
	});
}

export function stopTicking(): void {
	clearInterval(memory().ticking);
	memory().ticking = undefined;
}

function draw(ctx: ExtensionContext, loop: ActiveLoop, doing: string): void {
	const totals = addCalls(loop.state.totals, loop.iteration?.calls ?? []);
	ctx.ui.setStatus(KEY, statusText(loop.state, totals));
	const lines = widgetLines(loop.state, totals, new Date(), doing);
	ctx.ui.setWidget(KEY, ctx.mode === "tui" ? coloured(ctx, lines) : lines);
}

function coloured(ctx: ExtensionContext, [first = "", ...rest]: string[]): string[] {
	const { theme } = ctx.ui;
	return [theme.fg("accent", first), ...rest.map((line) => theme.fg("muted", line))];
}

/** The context of a session that was replaced throws, and there is nothing left to show then. */
function attempt(show: () => void): void {
	try {
		show();
	} catch {
		stopTicking();
	}
}

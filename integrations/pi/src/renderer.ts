/** The look of a message or entry `ralph-loop`: which iteration it begins, then what was sent. */

import type { ExtensionAPI, Theme } from "@earendil-works/pi-coding-agent";
import { Box, Text } from "@earendil-works/pi-tui";
import { plainText } from "./figures.ts";

export const MESSAGE_TYPE = "ralph-loop";

/** Goes with each message. */
export interface IterationDetails {
	iteration: number;
	maxIterations: number;
	/** For an entry, which is not sent to the model: the text. */
	text?: string;
}

const FOLDED_LINES = 6;

export function registerRenderers(pi: ExtensionAPI): void {
	pi.registerMessageRenderer<IterationDetails>(MESSAGE_TYPE, (message, options, theme) => {
		const text = typeof message.content === "string" ? message.content : "";
		return drawn(message.details, text, options.expanded, options.outputPad, theme);
	});
	pi.registerEntryRenderer<IterationDetails>(MESSAGE_TYPE, (entry, options, theme) => drawn(entry.data, entry.data?.text ?? "", options.expanded, 1, theme));
}

function drawn(details: IterationDetails | undefined, text: string, expanded: boolean, pad: number, theme: Theme): Box {
	const most = details?.maxIterations ? `/${details.maxIterations}` : "";
	const title = theme.fg("accent", theme.bold(`Ralph iteration ${details?.iteration ?? "?"}${most}`));
	const lines = plainText(text).split("\n");
	const shown = expanded ? lines : lines.slice(0, FOLDED_LINES);
	if (shown.length < lines.length) shown.push(theme.fg("muted", `… ${lines.length - shown.length} more lines`));
	const box = new Box(pad, 1, (t: string) => theme.bg("customMessageBg", t));
	box.addChild(new Text(`${title}\n${shown.join("\n")}`, 0, 0));
	return box;
}

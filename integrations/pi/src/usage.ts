/** Tokens and cost of calls to a model, as Pi's assistant messages tell them. */

import type { LoopTotals } from "./state.ts";

/** One call to a model, as ralph's journal takes it. */
export interface ModelCall {
	model: string;
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	costUsd: number;
}

/** The parts of an assistant message that are read here; a subagent's comes as JSON. */
export interface AssistantWords {
	provider?: string;
	model?: string;
	stopReason?: string;
	errorMessage?: string;
	content?: unknown;
	usage?: {
		input?: number;
		output?: number;
		cacheRead?: number;
		cacheWrite?: number;
		cost?: { total?: number };
	};
}

export function callOf(message: AssistantWords): ModelCall {
	const usage = message.usage;
	return {
		model: `${message.provider ?? "unknown"}/${message.model ?? "unknown"}`,
		input: usage?.input ?? 0,
		output: usage?.output ?? 0,
		cacheRead: usage?.cacheRead ?? 0,
		cacheWrite: usage?.cacheWrite ?? 0,
		costUsd: exact(usage?.cost?.total ?? 0),
	};
}

export function addCalls(totals: LoopTotals, calls: readonly ModelCall[]): LoopTotals {
	const sum = { ...totals };
	for (const call of calls) {
		sum.input += call.input;
		sum.output += call.output;
		sum.cacheRead += call.cacheRead;
		sum.cacheWrite += call.cacheWrite;
		sum.costUsd += call.costUsd;
	}
	sum.costUsd = exact(sum.costUsd);
	return sum;
}

/** Sums of fractions grow digits that were never spent. */
function exact(dollars: number): number {
	return Math.round(dollars * 1e9) / 1e9;
}

export function noTotals(): LoopTotals {
	return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
}

export function allTokens(totals: LoopTotals): number {
	return totals.input + totals.output + totals.cacheRead + totals.cacheWrite;
}

/** The text of a message, its blocks joined. */
export function textOf(message: AssistantWords): string {
	if (typeof message.content === "string") return message.content;
	if (!Array.isArray(message.content)) return "";
	return message.content
		.filter((block: { type?: string; text?: unknown }) => block.type === "text" && typeof block.text === "string")
		.map((block: { text: string }) => block.text)
		.join("\n");
}

export function toolCallsOf(message: AssistantWords): number {
	if (!Array.isArray(message.content)) return 0;
	return message.content.filter((block: { type?: string }) => block.type === "toolCall").length;
}

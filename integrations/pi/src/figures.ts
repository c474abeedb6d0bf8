/** Figures and foreign text as people read them. */

/** `950`, `12.3k`, `1.2M`. */
export function tokenCount(count: number): string {
	if (count < 1000) return String(count);
	if (count < 999_950) return `${(count / 1000).toFixed(1)}k`;
	return `${(count / 1_000_000).toFixed(1)}M`;
}

/** `$0.004`, `$1.25`. */
export function dollars(amount: number): string {
	return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;
}

/** `42s`, `3m 07s`, `2h 05m`. */
export function duration(milliseconds: number): string {
	const seconds = Math.max(0, Math.floor(milliseconds / 1000));
	const minutes = Math.floor(seconds / 60);
	const two = (n: number) => String(n).padStart(2, "0");
	if (minutes === 0) return `${seconds}s`;
	if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
	return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}

/** Foreign text without anything that a terminal would act on; lines and tabs stay. */
export function plainText(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
	const uncoloured = text.replace(/\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g, "");
	return uncoloured.replace(/\r\n/g, "\n").replace(/(?![\n\t])\p{Cc}/gu, "");
}

/** One line of foreign text, without anything that a terminal would act on, and not too long. */
export function oneLine(text: string, most = 160): string {
	const plain = plainText(text)
		.replace(/\p{C}+/gu, " ")
		.replace(/\p{White_Space}+/gu, " ")
		.trim();
	const letters = [...plain];
	return letters.length <= most ? plain : `${letters.slice(0, most - 1).join("")}…`;
}

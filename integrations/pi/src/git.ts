/**
 * Keeps the state file out of git, by the list of the clone (`info/exclude`): no file that is tracked is touched,
 * and none appears that a person would have to explain.
 */

import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { STATE_FILE, STATE_NAME } from "./state.ts";

/** Has git ignore the state file, where there is a repository and it does not do so yet. */
export function hideFromGit(cwd: string): void {
	try {
		if (isIgnored(cwd)) return;
		const exclude = resolve(cwd, git(cwd, ["rev-parse", "--git-path", "info/exclude"]).trim());
		mkdirSync(dirname(exclude), { recursive: true });
		const before = existsSync(exclude) ? readFileSync(exclude, "utf8") : "";
		const gap = before === "" || before.endsWith("\n") ? "" : "\n";
		appendFileSync(exclude, `${gap}${STATE_NAME}*\n`);
	} catch {
		// No git, no repository, or a list that can't be written: the loop does not depend on it.
	}
}

function isIgnored(cwd: string): boolean {
	try {
		git(cwd, ["check-ignore", "-q", STATE_FILE]);
		return true;
	} catch (error) {
		if ((error as { status?: number }).status === 1) return false;
		throw error;
	}
}

function git(cwd: string, args: string[]): string {
	return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 5000 });
}

/**
 * The process that a loop belongs to, known by its id and the moment it was started: an id alone is given to
 * another process some day.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ProcessOwner {
	pid: number;
	/** As the system says it; null where it does not. */
	started: string | null;
}

export type OwnerStanding = "mine" | "alive" | "dead";

/** Returns this process as an owner. */
export function thisProcess(): ProcessOwner {
	return { pid: process.pid, started: startOf(process.pid) };
}

/** Says whether an owner is this process, another one that lives, or gone. */
export function standingOf(owner: ProcessOwner): OwnerStanding {
	const started = startOf(owner.pid);
	if (!isRunning(owner.pid) || started !== owner.started) return "dead";
	return owner.pid === process.pid ? "mine" : "alive";
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		// It lives, and belongs to another user.
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
}

function startOf(pid: number): string | null {
	try {
		if (process.platform === "linux") {
			const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
			// Field 22; the name of the program in field 2 may hold anything, brackets too.
			return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
		}
		if (process.platform === "win32") return null;
		const said = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
		return said.trim() || null;
	} catch {
		return null;
	}
}

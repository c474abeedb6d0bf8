/**
 * What this Pi process remembers of its loop. Pi loads the extension again for every session, so it is kept where a
 * new instance finds it. Nothing here outlives the process; what must is in the state file.
 */

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { RalphRun } from "./run.ts";
import type { LoopState } from "./state.ts";
import type { AssistantWords, ModelCall } from "./usage.ts";

/** The iteration that is running. */
export interface RunningIteration {
	iteration: number;
	startedAt: Date;
	calls: ModelCall[];
	toolCalls: number;
	last: AssistantWords | undefined;
}

/** The loop of this process. */
export interface ActiveLoop {
	/** As last written. */
	state: LoopState;
	iteration: RunningIteration | undefined;
	/** The number of the iteration that was over last; 0 before the first. */
	concluded: number;
	/** Set once a person has cancelled: the state file is gone, the iteration may still run. */
	cancelled: boolean;
	/** Ends a wait, a verification or a subagent. */
	stop: AbortController;
	/** What a person said between two iterations. */
	notes: string[];
	/** What verification said about the last promise. */
	verifyText: string | undefined;
	/** True from the end of an iteration until the internal command has taken it. */
	nextExpected: boolean;
	/** Kept when the loop has ended. */
	ended: PromiseWithResolvers<void>;
}

export interface RalphMemory {
	loop: ActiveLoop | undefined;
	/** True while this extension itself replaces the session. */
	switching: boolean;
	/** Settled when no question to the person is open. */
	question: Promise<unknown> | undefined;
	saidUnrecorded: boolean;
	/** Redraws the progress each second. */
	ticking: NodeJS.Timeout | undefined;
	run: RalphRun | undefined;
	/** The context of the session of now, and Pi as that session's instance knows it. */
	context: ExtensionContext | undefined;
	api: ExtensionAPI | undefined;
	/** The instance that handles the events of a session: the package may be installed twice. */
	claim: { session: string; instance: object } | undefined;
}

const KEY = Symbol.for("ralph.pi");

export function memory(): RalphMemory {
	const all = globalThis as { [KEY]?: RalphMemory };
	all[KEY] ??= {
		loop: undefined,
		switching: false,
		question: undefined,
		saidUnrecorded: false,
		ticking: undefined,
		run: undefined,
		context: undefined,
		api: undefined,
		claim: undefined,
	};
	return all[KEY];
}

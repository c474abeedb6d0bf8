// Written by ralph for its runs: asks ralph before each command that the agent runs in a shell.
import { spawnSync } from "node:child_process";

const [program, ...args] = JSON.parse(process.env.RALPH_COMMAND_GUARD ?? "[]");

function refusal(input) {
	if (!program) return "ralph did not say which commands are allowed";
	const asked = spawnSync(program, args, {
		input: JSON.stringify({ tool_input: input }),
		encoding: "utf8",
	});
	if (asked.status !== 0) return "ralph could not be asked whether this command is allowed";
	if (asked.stdout.trim() === "") return undefined;
	try {
		return JSON.parse(asked.stdout).hookSpecificOutput.permissionDecisionReason;
	} catch {
		return "ralph could not be understood";
	}
}

export default function (pi) {
	pi.on("tool_call", (event) => {
		if (event.toolName !== "bash") return undefined;
		const reason = refusal(event.input);
		return reason === undefined ? undefined : { block: true, reason };
	});
}

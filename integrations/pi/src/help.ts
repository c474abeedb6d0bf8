/** The text of `/ralph-help`. */

import { MAX_ERRORS_IN_ROW } from "./decision.ts";
import { STATE_FILE } from "./state.ts";

export const HELP = `Ralph: the same prompt again and again, until the work is done.

/ralph-loop <prompt> [flags]    starts a loop
  --max-iterations N            stops after N iterations; 0, the default, is no limit
  --completion-promise TEXT     stops when the agent ends its answer with <promise>TEXT</promise>
  --same-context                keeps one conversation; otherwise each iteration begins with an empty one
  --subagent                    gives each iteration to a Pi process of its own
  --verify                      lets the promise count only if ralph's verify commands pass
/cancel-ralph [now]             stops after this iteration, or at once
/ralph-status                   says where the loop is
/ralph-run [SOURCE]             starts ralph's own loop on a task file, and shows its progress

Quote a prompt or a value with "…" or '…'; -- ends the flags. Without a promise and a limit a loop runs until you
stop it. Esc stops it at once. A loop whose iterations fail ${MAX_ERRORS_IN_ROW} times in a row stops by itself.
The state of the loop is in ${STATE_FILE}; delete the file, and the loop stops after its iteration.`;

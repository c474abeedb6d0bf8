//! Long streams of tool calls, as agents of several dialects write them.

use std::io::{self, Write};

/// A run of an agent that calls one tool after the other, and then claims to be done.
#[derive(Debug, Clone, Copy)]
pub struct ToolStream {
    pub dialect: StreamDialect,
    pub calls: usize,
    /// Bytes of each tool's answer.
    pub answer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamDialect {
    Claude,
    Pi,
    Codex,
}

impl StreamDialect {
    pub const ALL: [Self; 3] = [Self::Claude, Self::Pi, Self::Codex];

    /// As the configuration names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Pi => "pi",
            Self::Codex => "codex",
        }
    }
}

/// The session of all of Claude Code's events.
const SESSION: &str = "96f2987e-5248-42db-bb6b-0f4d74caaa31";

const PI_USAGE: &str = r#"{"input":1000,"output":50,"cacheRead":0,"cacheWrite":500,"totalTokens":1550,"cost":{"input":0.003,"output":0.00075,"cacheRead":0,"cacheWrite":0.001875,"total":0.005625}}"#;

impl ToolStream {
    /// Writes the whole stream; its last message claims `claim`.
    pub fn write(&self, claim: &str, out: &mut impl Write) -> io::Result<()> {
        // As output of programs is: lines, which JSON escapes.
        let answer = "a line of what a tool printed\\n".repeat(self.answer / 30 + 1);
        let answer = &answer[..self.answer / 31 * 31];
        match self.dialect {
            StreamDialect::Claude => self.claude(claim, answer, out),
            StreamDialect::Pi => self.pi(claim, answer, out),
            StreamDialect::Codex => self.codex(claim, answer, out),
        }
    }

    fn claude(&self, claim: &str, answer: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            r#"{{"type":"system","subtype":"init","cwd":"/repo","session_id":"{SESSION}","tools":["Bash"],"model":"claude-opus-4-8","claude_code_version":"2.1.197"}}"#
        )?;
        for n in 1..=self.calls {
            writeln!(
                out,
                r#"{{"type":"assistant","message":{{"id":"msg_{n:024}","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{{"type":"tool_use","id":"toolu_{n:024}","name":"Bash","input":{{"command":"make step{n}","description":"a step"}}}}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":1000,"output_tokens":20}}}},"parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"58567a1d-6967-4e16-af1b-{n:012}"}}"#
            )?;
            writeln!(
                out,
                r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{n:024}","type":"tool_result","content":"{answer}","is_error":false}}]}},"parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"c6578e54-ab4f-48a9-abd9-{n:012}","timestamp":"2026-11-15T07:20:53.455Z","tool_use_result":{{"stdout":"{answer}","stderr":"","interrupted":false}}}}"#
            )?;
        }
        writeln!(
            out,
            r#"{{"type":"result","subtype":"success","is_error":false,"num_turns":{},"result":"{claim}","stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":0.1,"terminal_reason":"completed"}}"#,
            self.calls
        )
    }

    fn pi(&self, claim: &str, answer: &str, out: &mut impl Write) -> io::Result<()> {
        let message = |content: &str, stop: &str| {
            format!(
                r#"{{"type":"message_end","message":{{"role":"assistant","content":[{content}],"provider":"p","model":"m","usage":{PI_USAGE},"stopReason":"{stop}","timestamp":1794725439374}}}}"#
            )
        };
        writeln!(out, r#"{{"type":"session","id":"s1"}}"#)?;
        writeln!(out, r#"{{"type":"agent_start"}}"#)?;
        for n in 1..=self.calls {
            for piece in ["I will", " make ", "it."] {
                writeln!(
                    out,
                    r#"{{"type":"message_update","usage":{PI_USAGE},"assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"{piece}"}}}}"#
                )?;
            }
            let call = format!(
                r#"{{"type":"toolCall","id":"toolu_{n}","name":"bash","arguments":{{"command":"make step{n}"}}}}"#
            );
            writeln!(out, "{}", message(&call, "toolUse"))?;
            writeln!(
                out,
                r#"{{"type":"tool_execution_start","toolCallId":"toolu_{n}","toolName":"bash","args":{{"command":"make step{n}"}}}}"#
            )?;
            writeln!(
                out,
                r#"{{"type":"tool_execution_end","toolCallId":"toolu_{n}","toolName":"bash","result":{{"content":[{{"type":"text","text":"{answer}"}}]}},"isError":false,"durationMs":7}}"#
            )?;
        }
        let text = format!(r#"{{"type":"text","text":"{claim}"}}"#);
        writeln!(out, "{}", message(&text, "stop"))?;
        writeln!(out, r#"{{"type":"agent_settled"}}"#)
    }

    fn codex(&self, claim: &str, answer: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            r#"{{"type":"thread.started","thread_id":"01a1de07-62f5-7663-9212-93e0e7e7037e"}}"#
        )?;
        writeln!(out, r#"{{"type":"turn.started"}}"#)?;
        for n in 1..=self.calls {
            let item = |kind: &str, output: &str, code: &str, status: &str| {
                format!(
                    r#"{{"type":"item.{kind}","item":{{"id":"item_{n}","type":"command_execution","command":"/bin/bash -lc 'make step{n}'","aggregated_output":"{output}","exit_code":{code},"status":"{status}"}}}}"#
                )
            };
            writeln!(out, "{}", item("started", "", "null", "in_progress"))?;
            writeln!(out, "{}", item("completed", answer, "0", "completed"))?;
        }
        writeln!(
            out,
            r#"{{"type":"item.completed","item":{{"id":"item_end","type":"agent_message","text":"{claim}"}}}}"#
        )?;
        writeln!(
            out,
            r#"{{"type":"turn.completed","usage":{{"input_tokens":3700,"cached_input_tokens":2300,"output_tokens":100}}}}"#
        )
    }
}

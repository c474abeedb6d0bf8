//! The variables by which each agent reaches its own model. All others that look like credentials are
//! withheld from it.
//!
//! Only names; their values never stand anywhere but in the environment.

/// A variable that an agent may have although it looks like a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    pub name: &'static str,
    /// Only where this variable is set too: the agent was told to use that service.
    pub only_with: Option<&'static str>,
}

const fn key(name: &'static str) -> Credential {
    Credential {
        name,
        only_with: None,
    }
}

const fn with(name: &'static str, switch: &'static str) -> Credential {
    Credential {
        name,
        only_with: Some(switch),
    }
}

/// Claude Code's own key passes anyway; these are of the clouds that can serve it.
pub(super) const CLAUDE: &[Credential] = &[
    with("AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_USE_BEDROCK"),
    with("AWS_SESSION_TOKEN", "CLAUDE_CODE_USE_BEDROCK"),
    with("GOOGLE_APPLICATION_CREDENTIALS", "CLAUDE_CODE_USE_VERTEX"),
];

pub(super) const CODEX: &[Credential] = &[
    key("OPENAI_API_KEY"),
    key("CODEX_API_KEY"),
    key("AZURE_OPENAI_API_KEY"),
];

pub(super) const GEMINI: &[Credential] = &[
    key("GEMINI_API_KEY"),
    key("GOOGLE_API_KEY"),
    key("GOOGLE_APPLICATION_CREDENTIALS"),
];

/// Agents that can use any provider.
pub(super) const ANY_PROVIDER: &[Credential] = &[
    key("OPENAI_API_KEY"),
    key("AZURE_OPENAI_API_KEY"),
    key("GEMINI_API_KEY"),
    key("GOOGLE_API_KEY"),
    key("GOOGLE_GENERATIVE_AI_API_KEY"),
    key("OPENROUTER_API_KEY"),
    key("GROQ_API_KEY"),
    key("MISTRAL_API_KEY"),
    key("XAI_API_KEY"),
    key("DEEPSEEK_API_KEY"),
    key("CEREBRAS_API_KEY"),
    key("TOGETHER_API_KEY"),
    key("FIREWORKS_API_KEY"),
    key("ZAI_API_KEY"),
    key("MINIMAX_API_KEY"),
    key("KIMI_API_KEY"),
    key("MOONSHOT_API_KEY"),
    key("OPENCODE_API_KEY"),
    key("AI_GATEWAY_API_KEY"),
];

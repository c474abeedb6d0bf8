//! The variables by which an agent reaches its own model. All others that look like credentials are
//! withheld from it.
//!
//! Only names; their values never stand anywhere but in the environment. Each agent lists its own in its
//! folder; here is the list of those that can use any provider.

/// A variable that an agent may have although it looks like a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    pub name: &'static str,
    /// Only where this variable is set too: the agent was told to use that service.
    pub only_with: Option<&'static str>,
}

pub(super) const fn key(name: &'static str) -> Credential {
    Credential {
        name,
        only_with: None,
    }
}

pub(super) const fn key_with(name: &'static str, switch: &'static str) -> Credential {
    Credential {
        name,
        only_with: Some(switch),
    }
}

/// Agents that can use any provider.
pub(super) const ANY_PROVIDER: &[Credential] = &[
    key("OPENAI_API_KEY"),
    key("CODEX_API_KEY"),
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

/// The hosts of the providers whose keys are listed above.
pub(super) const ANY_HOST: &[&str] = &[
    "api.anthropic.com",
    "console.anthropic.com",
    "api.openai.com",
    "auth.openai.com",
    "chatgpt.com",
    "*.openai.azure.com",
    "generativelanguage.googleapis.com",
    "oauth2.googleapis.com",
    "aiplatform.googleapis.com",
    "*.aiplatform.googleapis.com",
    "openrouter.ai",
    "api.groq.com",
    "api.mistral.ai",
    "api.x.ai",
    "api.deepseek.com",
    "api.cerebras.ai",
    "api.together.xyz",
    "api.fireworks.ai",
    "api.githubcopilot.com",
    "*.githubcopilot.com",
];

/// Tells whether a variable is a key of a model, whichever agent uses it.
pub(crate) fn is_key_of_model(name: &str) -> bool {
    ANY_PROVIDER.iter().any(|key| key.name == name)
}

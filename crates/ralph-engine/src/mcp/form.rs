//! Forms for the person at a client: what they are asked, and what they reply.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Something that only the person can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonForm {
    /// Names what the form is about; comes back with the reply.
    pub about: String,
    pub message: String,
    pub fields: Vec<FormField>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    pub name: &'static str,
    pub title: String,
    pub kind: FormKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormKind {
    /// One of these has to be chosen.
    Choice(Vec<String>),
    /// A text, which may be left out.
    Text { most: usize },
}

/// The end of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    Accepted(Map<String, Value>),
    Declined,
    /// They closed it, and said neither.
    Cancelled,
}

/// The reply as a client sends it.
#[derive(Debug, Deserialize)]
struct SentReply {
    action: SentAction,
    content: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SentAction {
    Accept,
    Decline,
    Cancel,
}

impl PersonForm {
    /// The form with what a person reads of it put through `change`.
    #[must_use]
    pub fn map_texts(mut self, change: impl Fn(String) -> String) -> Self {
        self.message = change(self.message);
        for field in &mut self.fields {
            if let FormKind::Choice(choices) = &mut field.kind {
                let texts = std::mem::take(choices).into_iter();
                *choices = texts.map(&change).collect();
            }
        }
        self
    }

    /// The JSON schema of the reply: plain types alone, which clients of every era know.
    pub(super) fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &self.fields {
            let mut schema = match &field.kind {
                FormKind::Choice(choices) => {
                    required.push(field.name);
                    json!({"type": "string", "enum": choices})
                }
                FormKind::Text { most } => json!({"type": "string", "maxLength": most}),
            };
            schema["title"] = field.title.as_str().into();
            properties.insert(field.name.to_owned(), schema);
        }
        json!({"type": "object", "properties": properties, "required": required})
    }
}

impl FormReply {
    /// Reads what a client sent; the error is for the client.
    pub(super) fn read(sent: Value) -> Result<Self, String> {
        let sent: SentReply = serde_json::from_value(sent)
            .map_err(|error| format!("can't read the reply of the person: {error}"))?;
        Ok(match sent.action {
            SentAction::Accept => Self::Accepted(sent.content.unwrap_or_default()),
            SentAction::Decline => Self::Declined,
            SentAction::Cancel => Self::Cancelled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_a_schema_of_plain_types() {
        let form = PersonForm {
            about: "7".into(),
            message: "Which one?".into(),
            fields: vec![
                FormField {
                    name: "answer",
                    title: "Your answer".into(),
                    kind: FormKind::Choice(vec!["yes".into(), "no".into()]),
                },
                FormField {
                    name: "text",
                    title: "In your words".into(),
                    kind: FormKind::Text { most: 100 },
                },
            ],
        };
        let expected = json!({
            "type": "object",
            "properties": {
                "answer": {"type": "string", "enum": ["yes", "no"], "title": "Your answer"},
                "text": {"type": "string", "maxLength": 100, "title": "In your words"},
            },
            "required": ["answer"],
        });
        assert_eq!(form.schema(), expected);
    }

    #[test]
    fn a_reply_is_accepted_declined_or_cancelled() {
        let accepted = FormReply::read(json!({"action": "accept", "content": {"answer": "yes"}}));
        let content = json!({"answer": "yes"}).as_object().cloned().unwrap();
        assert_eq!(accepted, Ok(FormReply::Accepted(content)));
        let declined = FormReply::read(json!({"action": "decline"}));
        assert_eq!(declined, Ok(FormReply::Declined));
        let cancelled = FormReply::read(json!({"action": "cancel", "content": null}));
        assert_eq!(cancelled, Ok(FormReply::Cancelled));
        assert!(FormReply::read(json!({"action": "maybe"})).is_err());
        assert!(FormReply::read(json!("accept")).is_err());
    }
}

//! The path of a key, such as `loop.gutter.max_same_failure`, and the table of all keys there are.
//!
//! The table is read off the schema, so that it cannot fall behind the structs.

use serde_json::Value;

use super::schema;

/// The path of a key, or of an element below one: `verification.commands[1]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// A path from its dotted form; only for paths without indices and without dots in a name.
    pub fn dotted(text: &str) -> Self {
        Self(text.split('.').map(|s| Step::Key(s.to_owned())).collect())
    }

    pub(super) fn child(&self, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(name.to_owned()));
        Self(steps)
    }

    pub(super) fn element(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// The names along the path; indices are left out.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(name) => Some(name.as_str()),
            Step::Index(_) => None,
        })
    }

    /// Tells whether its value may be a secret: a variable of any agent's environment, the address of a
    /// webhook.
    pub(super) fn is_secret(&self) -> bool {
        let is_env_of_section = self.names().nth(1) == Some("env");
        is_env_of_section
            || ["limits.fallback_agent.env", "notify.webhook"]
                .iter()
                .any(|parent| self.is_within(&Self::dotted(parent)))
    }

    /// Returns true if this path is `parent` or lies below it.
    pub fn is_within(&self, parent: &Self) -> bool {
        self.0.starts_with(&parent.0)
    }

    /// Puts a value at this path of an object, making the objects on the way.
    pub(super) fn put(&self, root: &mut Value, value: Value) {
        let mut target = root;
        for name in self.names() {
            if !target.is_object() {
                *target = Value::Object(serde_json::Map::new());
            }
            target = &mut target[name];
        }
        *target = value;
    }
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(name) if i == 0 => f.write_str(name)?,
                Step::Key(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A key that can be set: not a section, and not an entry below a map.
pub(super) struct Key {
    pub(super) path: KeyPath,
    pub(super) schema: &'static Value,
}

/// Every key there is, in the order of the structs.
pub(super) fn all_keys() -> Vec<Key> {
    let mut keys = Vec::new();
    collect(schema::root(), &KeyPath::default(), &mut keys);
    keys
}

fn collect(schema: &'static Value, path: &KeyPath, keys: &mut Vec<Key>) {
    for (name, property) in schema::properties(schema) {
        let path = path.child(name);
        if schema::is_section(property) {
            collect(property, &path, keys);
        } else {
            keys.push(Key {
                path,
                schema: property,
            });
        }
    }
}

/// The names of all sections, as paths: `loop`, `loop.gutter`.
pub(super) fn all_sections() -> Vec<KeyPath> {
    fn walk(schema: &'static Value, path: &KeyPath, sections: &mut Vec<KeyPath>) {
        for (name, property) in schema::properties(schema) {
            if schema::is_section(property) {
                let path = path.child(name);
                sections.push(path.clone());
                walk(property, &path, sections);
            }
        }
    }
    let mut sections = Vec::new();
    walk(schema::root(), &KeyPath::default(), &mut sections);
    sections
}

//! Removes the secrets of a chart's values from the messages of the program that renders it: a template may put any value into a message, and
//! a violated schema quotes the value.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::text::bounded_json;
use crate::text::secret_text::HIDDEN_VALUE;
use crate::text::secret_values::SecretMarks;

/// The least length of a secret that is searched for in messages: a shorter text stands in many words.
const MIN_SECRET_BYTES: usize = 4;
/// Most values that are searched for secrets: as many as one layer of them may have. With more, every message is hidden.
const MAX_VALUES: usize = 100_000;
/// Most characters of a message that are shown. Messages are cut here only: a secret of which a part was cut before would not be found.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// Rules of a schema whose violation names the number.
const COMPARING_RULES: [&str; 5] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The secrets among some values of a chart.
pub struct MessageRedactor {
    /// The values; `None` if they can't be read, so that it is not known what is a secret.
    values: Option<Value>,
    /// The same with [`HIDDEN_VALUE`] in place of the secrets.
    hidden: Value,
    /// The texts of the secrets by their first bytes, longest first.
    secrets: HashMap<[u8; MIN_SECRET_BYTES], Vec<String>>,
}

impl MessageRedactor {
    /// For values in JSON. If they can't be read, or are too many, every message is hidden as a whole.
    pub fn new(marks: &SecretMarks, values: &str) -> Self {
        let values: Option<Value> = bounded_json::read(values, MAX_VALUES).ok();
        let mut hidden = values.clone().unwrap_or_default();
        marks.hide_in_value(&mut hidden);
        let mut texts = BTreeSet::new();
        collect_secrets(values.as_ref().unwrap_or(&Value::Null), &hidden, &mut texts);
        let mut secrets: HashMap<[u8; MIN_SECRET_BYTES], Vec<String>> = HashMap::new();
        for text in texts {
            let Some(start) = text.as_bytes().first_chunk().copied() else { continue };
            secrets.entry(start).or_default().push(text);
        }
        for texts in secrets.values_mut() {
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
        Self { values, hidden, secrets }
    }

    /// The first 2 000 characters of a complete message, with [`HIDDEN_VALUE`] in place of each secret that begins there.
    pub fn redact(&self, message: &str) -> String {
        if self.values.is_none() {
            return HIDDEN_VALUE.to_owned();
        }
        let mut shown = String::new();
        // Where the last secret ends. Others may begin in it.
        let mut hidden_until = 0;
        for (at, character) in message.char_indices().take(MAX_MESSAGE_CHARS) {
            if let Some(length) = self.find_secret(&message[at..]) {
                if at >= hidden_until {
                    shown.push_str(HIDDEN_VALUE);
                }
                hidden_until = hidden_until.max(at + length);
            }
            if at >= hidden_until {
                shown.push(character);
            }
        }
        shown
    }

    /// The same for the violation of a schema at this JSON pointer. What is not among the values, such as a default or a value of a chart with
    /// an alias, counts as a secret.
    pub fn redact_violation(&self, pointer: &str, message: &str) -> String {
        let value = self.values.as_ref().and_then(|values| values.pointer(pointer));
        let is_plain = value.is_some_and(|value| self.hidden.pointer(pointer) == Some(value));
        if is_plain { self.redact(message) } else { self.redact_hidden_violation(message) }
    }

    /// The same for a value that counts as a secret, such as one that only the schema of a subchart, which the marks are not of, may mark.
    pub fn redact_hidden_violation(&self, message: &str) -> String {
        self.redact(&hide_violating_value(message))
    }

    /// The length of the longest secret that the text begins with, in bytes.
    fn find_secret(&self, text: &str) -> Option<usize> {
        let secrets = self.secrets.get(text.as_bytes().first_chunk::<MIN_SECRET_BYTES>()?)?;
        secrets.iter().find(|secret| text.starts_with(secret.as_str())).map(String::len)
    }
}

/// The lines of the texts, and the numbers, that differ; both values have the same keys.
fn collect_secrets(value: &Value, hidden: &Value, texts: &mut BTreeSet<String>) {
    match (value, hidden) {
        (Value::Object(values), Value::Object(hidden)) => {
            for (key, value) in values {
                if let Some(hidden) = hidden.get(key) {
                    collect_secrets(value, hidden, texts);
                }
            }
        }
        (Value::Array(values), Value::Array(hidden)) => {
            for (value, hidden) in values.iter().zip(hidden) {
                collect_secrets(value, hidden, texts);
            }
        }
        (value, hidden) if value == hidden => {}
        (Value::String(text), _) => {
            for line in text.lines().map(str::trim) {
                // Many functions of templates quote a text.
                let quoted = Value::from(line).to_string();
                let quoted = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                // A message has no control characters.
                let printed: String = line.chars().filter(|character| !character.is_control()).collect();
                texts.extend([line, quoted, &*printed].into_iter().filter(is_searched).map(str::to_owned));
            }
        }
        (Value::Number(number), _) => {
            texts.extend(Some(number.to_string()).filter(|text| is_searched(&text.as_str())));
        }
        _ => {}
    }
}

fn is_searched(text: &&str) -> bool {
    text.len() >= MIN_SECRET_BYTES
}

/// The message of a violated schema without the value that it quotes or compares.
fn hide_violating_value(message: &str) -> String {
    if let Some(quoted) = message.strip_prefix('\'') {
        let Some(rest) = skip_quoted(quoted) else {
            // The end of a long value is not in the message.
            return format!("{HIDDEN_VALUE} is not valid");
        };
        if rest.starts_with(" does not match pattern ") {
            return format!("{HIDDEN_VALUE}{rest}");
        }
        if rest.starts_with(" is not valid ") {
            // The reason after the name of the format quotes the value again.
            return format!("{HIDDEN_VALUE}{}", rest.split(':').next().unwrap_or_default());
        }
    }
    if let Some((rule, values)) = message.split_once(": got ")
        && COMPARING_RULES.contains(&rule)
        && let Some((_, wanted)) = values.rsplit_once(", want ")
    {
        return format!("{rule}: got {HIDDEN_VALUE}, want {wanted}");
    }
    message.to_owned()
}

/// What follows the closing quote of a text, in which a backslash precedes a quote and a backslash.
fn skip_quoted(quoted: &str) -> Option<&str> {
    let mut is_escaped = false;
    for (at, character) in quoted.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' => return quoted.get(at + 1..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor(schema: &Value, values: &Value) -> MessageRedactor {
        MessageRedactor::new(&SecretMarks::from_schema(&schema.to_string()), &values.to_string())
    }

    #[test]
    fn a_violation_quotes_no_value_with_the_name_of_a_secret_and_other_ones_as_they_are() {
        let values = json!({"db": {"password": "hunter2", "name": "shop"}});
        let of_names = MessageRedactor::new(&SecretMarks::Names, &values.to_string());
        let message = "'hunter2' does not match pattern '^[A-Z]+$'";
        let hidden = "(hidden) does not match pattern '^[A-Z]+$'";
        assert_eq!(of_names.redact_violation("/db/password", message), hidden);
        let plain = "'shop' does not match pattern '^[A-Z]+$'";
        assert_eq!(of_names.redact_violation("/db/name", plain), plain);
        let length = "minLength: got 7, want 12";
        assert_eq!(of_names.redact_violation("/db/password", length), length);
        let absent = of_names.redact_violation("/alias/name", "'x' does not match pattern '^a'");
        assert_eq!(absent, "(hidden) does not match pattern '^a'");
    }

    #[test]
    fn a_violation_quotes_no_value_that_the_schema_marks_also_in_lists_and_for_numbers() {
        let key = json!({"properties": {"key": {"writeOnly": true}}});
        let schema = json!({"properties": {"login": key, "users": {"items": key}}});
        let values = json!({"login": {"key": "x' is not valid y"}, "users": [{"key": 4711}], "port": 70_000});
        let redactor = redactor(&schema, &values);
        let pattern = r"'x\' is not valid y' does not match pattern '^a'";
        let shown = redactor.redact_violation("/login/key", pattern);
        assert_eq!(shown, "(hidden) does not match pattern '^a'");
        let format = r#"'x\' is not valid y' is not valid date: parsing time "x' is not valid y""#;
        assert_eq!(redactor.redact_violation("/login/key", format), "(hidden) is not valid date");
        let number = redactor.redact_violation("/users/0/key", "maximum: got 4711, want 9");
        assert_eq!(number, "maximum: got (hidden), want 9");
        let port = "maximum: got 70000, want 65535";
        assert_eq!(redactor.redact_violation("/port", port), port);
        let cut = redactor.redact_violation("/login/key", "'x and the rest is cut");
        assert_eq!(cut, "(hidden) is not valid");
        assert_eq!(redactor.redact_violation("/login/key", "'not' failed"), "'not' failed");
    }

    #[test]
    fn a_violation_of_the_schema_of_a_subchart_quotes_no_value_whatever_the_marks_are() {
        let values = json!({"db": {"login": {"key": "hunter2"}}});
        let redactor = redactor(&json!({"type": "object"}), &values);
        let message = "'hunter2' does not match pattern '^a'";
        assert_eq!(redactor.redact_violation("/db/login/key", message), message);
        assert_eq!(redactor.redact_hidden_violation(message), "(hidden) does not match pattern '^a'");
        assert_eq!(redactor.redact_hidden_violation("got string, want integer"), "got string, want integer");
    }

    #[test]
    fn a_message_of_a_template_has_no_line_of_a_secret() {
        let values = json!({"auth": {"password": "hunter2", "pin": 123, "token": "say \"friend\""},
            "key": "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n", "replicas": 2000, "region": "europe"});
        let redactor = MessageRedactor::new(&SecretMarks::Names, &values.to_string());
        let message =
            r#"execution error: hunter2 is weak, "say \"friend\"" is long, MIIEvQ, europe 2000 123"#;
        assert_eq!(
            redactor.redact(message),
            r#"execution error: (hidden) is weak, "(hidden)" is long, (hidden), europe 2000 123"#
        );
    }

    #[test]
    fn a_message_is_cut_only_after_the_secrets_are_removed_from_it() {
        let secret = "0123456789".repeat(4);
        let values = json!({"auth": {"password": secret, "token": "a\tbcdef"}});
        let redactor = MessageRedactor::new(&SecretMarks::Names, &values.to_string());
        for before in [MAX_MESSAGE_CHARS - 10, MAX_MESSAGE_CHARS - 1] {
            let padding = "ü".repeat(before);
            let shown = redactor.redact(&format!("{padding}{secret} and the rest"));
            assert_eq!(shown, format!("{padding}(hidden)"));
        }
        assert_eq!(redactor.redact(&"x".repeat(3_000)), "x".repeat(MAX_MESSAGE_CHARS));
        let violation = format!("'{}{secret}' does not match pattern '^a'", "x".repeat(3_000));
        let shown = redactor.redact_hidden_violation(&violation);
        assert_eq!(shown, "(hidden) does not match pattern '^a'");
        // Control characters are not in messages.
        assert_eq!(redactor.redact("refused abcdef"), "refused (hidden)");
        assert_eq!(redactor.redact("refused a\\tbcdef"), "refused (hidden)");
    }

    #[test]
    fn secrets_that_overlap_are_hidden_completely() {
        let values = json!({"password": "abcdef", "token": "defghi", "apiToken": "cdef"});
        let redactor = MessageRedactor::new(&SecretMarks::Names, &values.to_string());
        assert_eq!(
            redactor.redact("of abcdefghi, cdefghi; abcdefabcdef"),
            "of (hidden), (hidden); (hidden)(hidden)"
        );
    }

    #[test]
    fn with_values_that_cannot_be_read_no_message_is_shown() {
        let redactor = MessageRedactor::new(&SecretMarks::Names, "{not json");
        let shown = redactor.redact_violation("/db/name", "'hunter2' does not match pattern '^a'");
        assert_eq!(shown, "(hidden)");
        assert_eq!(redactor.redact("execution error: hunter2 is weak"), "(hidden)");
    }

    #[test]
    fn p19_with_too_many_values_to_be_searched_no_message_is_shown() {
        let redact = |values: usize| {
            let values = format!("{{\"a\":[{}0]}}", "0,".repeat(values - 3));
            MessageRedactor::new(&SecretMarks::Names, &values).redact("execution error")
        };
        assert_eq!(redact(MAX_VALUES), "execution error");
        assert_eq!(redact(MAX_VALUES + 1), "(hidden)");
    }
}

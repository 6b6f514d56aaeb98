//! The texts in a JSON document, found without building its values: a document of many small values needs no memory for them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// A text in a document.
pub(super) enum JsonText<'t> {
    /// The key of a field.
    Key(&'t str),
    /// A value.
    Value {
        /// The key of the field; empty in a list.
        key: &'t str,
        /// The text.
        text: &'t str,
    },
}

/// Calls `found` for every key and every value that is a text, in the order written.
///
/// # Errors
/// It is no JSON, or has more than 128 levels: what was found until then is a part of it.
pub(super) fn visit_texts(json: &str, found: &mut dyn FnMut(JsonText<'_>)) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    TextVisitor { key: "", found }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Reads one value.
struct TextVisitor<'v> {
    key: &'v str,
    found: &'v mut dyn FnMut(JsonText<'_>),
}

impl<'de> DeserializeSeed<'de> for TextVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.found)(JsonText::Value { key: self.key, text });
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(TextVisitor { key: "", found: &mut *self.found })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            (self.found)(JsonText::Key(&key));
            map.next_value_seed(TextVisitor { key: &key, found: &mut *self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(json: &str) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let read = visit_texts(json, &mut |text| {
            found.push(match text {
                JsonText::Key(key) => format!("{key}:"),
                JsonText::Value { key, text } => format!("{key}={text}"),
            });
        });
        (found, read.is_ok())
    }

    #[test]
    fn keys_and_texts_are_found_at_every_depth() {
        let (found, is_complete) =
            list(r#"{"a": ["x", {"b": "y\n", "c": [1, -2, 0.5, true, null]}], "d": ""}"#);
        assert!(is_complete);
        assert_eq!(found, ["a:", "=x", "b:", "b=y\n", "c:", "d:", "d="]);
        assert_eq!(list("\"x\"").0, ["=x"]);
    }

    #[test]
    fn a_text_that_is_not_one_document_is_an_error() {
        for text in ["", "{", "[\"x\"", "[] []", "[".repeat(10_000).as_str()] {
            assert!(!list(text).1, "{text:.20}");
        }
    }
}

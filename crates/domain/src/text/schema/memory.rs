//! What a schema needs in memory, which follows from its text before it is parsed (P19).
//!
//! A text of 2 MiB that a hostile agent sends has hundreds of thousands of maps with one field, each of which needs a thousand bytes.

/// The most that a schema may need when it is parsed: about fifty times as much as Kubernetes' own kinds.
pub const MAX_MEMORY_BYTES: u64 = 64 << 20;
/// What a map needs beside its fields: the node of a tree, which has room for eleven.
const MAP_BYTES: u64 = 1_024;
/// What a field, an item or a type needs, with its name and its part of a node or a list.
const VALUE_BYTES: u64 = 256;
/// What a word of an enumeration needs, and the parts of the name of a kind.
const WORD_BYTES: u64 = 192;
/// How often the text itself is in memory: as it was sent, and in names.
const TEXT_COPIES: u64 = 2;

/// What a JSON text consists of, counted without parsing it.
struct TextParts {
    maps: u64,
    /// One more than there are commas, maps and lists; a map or list without content counts twice.
    values: u64,
    words: u64,
}

/// What a schema of this text needs at most while it is parsed and afterwards, in bytes.
pub fn estimate_memory(text: &[u8]) -> u64 {
    let TextParts { maps, values, words } = count_parts(text);
    MAP_BYTES * maps + VALUE_BYTES * values + WORD_BYTES * words + TEXT_COPIES * text.len() as u64
}

/// The most values that a JSON text has.
pub(super) fn count_values(text: &[u8]) -> u64 {
    count_parts(text).values
}

fn count_parts(text: &[u8]) -> TextParts {
    let mut parts = TextParts { maps: 0, values: 1, words: 0 };
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'|' | b'/' if in_string => parts.words += 1,
            b'{' if !in_string => {
                parts.maps += 1;
                parts.values += 1;
            }
            b',' | b'[' if !in_string => parts.values += 1,
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::schema::{KUBERNETES_JSON, MAX_BYTES, Schema};

    /// What the text needs beyond the text itself.
    fn values_of(text: &str) -> u64 {
        estimate_memory(text.as_bytes()) - TEXT_COPIES * text.len() as u64
    }

    #[test]
    fn p19_the_memory_of_a_schema_follows_from_its_maps_values_and_words() {
        assert_eq!(values_of("\"text\""), VALUE_BYTES);
        assert_eq!(values_of("{\"a\":\"int\"}"), MAP_BYTES + 2 * VALUE_BYTES);
        assert_eq!(values_of("[1,2]"), 3 * VALUE_BYTES);
        assert_eq!(values_of("\"|Always|Never\""), VALUE_BYTES + 2 * WORD_BYTES);
        assert_eq!(values_of("\"{,[\\\"{\""), VALUE_BYTES, "a text is one value, whatever it contains");
    }

    #[test]
    fn p19_kubernetes_own_kinds_need_a_small_part_of_the_limit_and_hostile_maps_exceed_it() {
        assert!(estimate_memory(KUBERNETES_JSON) < MAX_MEMORY_BYTES / 32);
        let maps = "{\"a\":1},".repeat(MAX_BYTES / 10);
        let hostile = format!("{{\"minor\":36,\"kinds\":{{}},\"shared\":[\"text\",{maps}\"text\"]}}");
        assert!(hostile.len() <= MAX_BYTES);
        let refused = Schema::from_json(hostile.as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("MiB of memory"), "{refused}");
    }
}

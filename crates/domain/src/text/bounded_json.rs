//! JSON that others wrote, read with a limit on its values: each of them needs many times the memory of its text, so that the size of a text
//! says little about what it needs.

use serde::de::DeserializeOwned;

/// What a value needs in memory at most, in bytes, its key and its part of a map or a list included. A map of one field needs the most for its
/// text: a table of four slots (64), a list with room for three entries of a hash, a key and a value of 72 bytes (320 with the header of the
/// allocator), and the text of a short key (32). A list of one item has room for four (296); a long one has up to three places for each
/// item while it grows (216).
pub const VALUE_BYTES: u64 = 450;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableJson {
    /// It has too many values. They were counted, and none was read.
    #[error("it has {values} values, and at most {most} are read")]
    TooManyValues {
        /// Those that it has.
        values: usize,
        /// Those that are read.
        most: usize,
    },
    /// It is no JSON, or not of the type, or nested too deeply.
    #[error("{0}")]
    Invalid(String),
}

/// The number of values of a text in JSON, maps and lists included and keys not, without reading it: one more than there are commas, and maps
/// and lists that are not empty. Exact for valid JSON.
pub fn count_values(json: &[u8]) -> usize {
    let (mut values, mut is_in_string, mut is_escaped, mut previous) = (1_usize, false, false, b' ');
    for &byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            b',' | b'{' | b'[' if !is_in_string => values += 1,
            b'}' | b']' if !is_in_string && matches!(previous, b'{' | b'[') => {
                values = values.saturating_sub(1);
            }
            _ => {}
        }
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            previous = byte;
        }
    }
    values
}

/// Reads a text of at most so many values, and at most 128 levels.
///
/// # Errors
/// It has more values, or is not what is read.
pub fn read<T: DeserializeOwned>(json: &str, most: usize) -> Result<T, UnreadableJson> {
    let values = count_values(json.as_bytes());
    if values > most {
        return Err(UnreadableJson::TooManyValues { values, most });
    }
    serde_json::from_str(json).map_err(|error| UnreadableJson::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn p19_what_a_value_needs_at_most_follows_from_the_layout_of_maps_and_lists() {
        let entry = size_of::<(usize, String, Value)>();
        let map_of_one = 64 + (3 * entry + 8) + 32;
        let list_of_one = 4 * size_of::<Value>() + 8;
        let item_of_many = 3 * size_of::<Value>();
        let most = map_of_one.max(list_of_one).max(item_of_many) as u64;
        assert!(most <= VALUE_BYTES && VALUE_BYTES < most + most / 4, "{most}");
    }

    /// The values of a parsed text.
    fn count_parsed(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(count_parsed).sum::<usize>(),
            Value::Object(fields) => fields.values().map(count_parsed).sum::<usize>(),
            _ => 0,
        }
    }

    #[test]
    fn p19_values_are_counted_without_reading_them() {
        for (text, values) in [
            ("null", 1),
            ("\"[{,}]\"", 1),
            ("[]", 1),
            ("{ \n}", 1),
            ("[ [ ], [] ]", 3),
            ("[[[[]]]]", 4),
            ("[1, 2]", 3),
            (r#"{"a": [1, "x,\",{[", {}]}"#, 5),
            (r#"{"[": "]", "\\": "\\", "{\"": {}}"#, 4),
            (r#"[{"a":{}},{"b":[null,"}"]}]"#, 7),
        ] {
            assert_eq!(count_values(text.as_bytes()), values, "{text}");
            assert_eq!(count_parsed(&serde_json::from_str(text).unwrap()), values, "{text}");
        }
        // What is no JSON is counted too.
        assert_eq!(count_values(b""), 1);
        assert_eq!(count_values(b"]]}}[]]"), 1);
    }

    #[test]
    fn p19_a_text_is_read_up_to_its_limit_of_values() {
        let list = |items: usize| format!("[{}null]", "[],".repeat(items));
        assert_eq!(read::<Value>(&list(8), 10).unwrap(), json!([[], [], [], [], [], [], [], [], null]));
        let refused = read::<Value>(&list(9), 10).unwrap_err();
        assert_eq!(refused, UnreadableJson::TooManyValues { values: 11, most: 10 });
        assert_eq!(refused.to_string(), "it has 11 values, and at most 10 are read");
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read::<Value>(&nested(100), 100).is_ok());
        assert!(matches!(read::<Value>(&nested(101), 100), Err(UnreadableJson::TooManyValues { .. })));
        assert!(matches!(read::<Value>(&nested(1_000), 1_000), Err(UnreadableJson::Invalid(_))));
        assert!(matches!(read::<Value>("{", 10), Err(UnreadableJson::Invalid(_))));
        assert!(matches!(read::<Vec<u8>>("{}", 10), Err(UnreadableJson::Invalid(_))));
    }
}

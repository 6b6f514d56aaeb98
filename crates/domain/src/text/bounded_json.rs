//! JSON that others wrote: its values are counted in its text before it is parsed, which says how much memory it needs, and it is read with a
//! limit on their number.
//!
//! A value needs far more memory than its text: `{"":` and its end have five bytes, and a map with one field some 400, because it has room
//! for more. The count is linear in the text and allocates nothing, so that it comes before every limit and every reservation.

use serde::de::DeserializeOwned;

/// What a value needs in memory at most, in bytes, its key and its part of a map or a list included. A map of one field needs the most for its
/// text: a table of four slots (64), a list with room for three entries of a hash, a key and a value of 72 bytes (320 with the header of the
/// allocator), and the text of a short key (32). A list of one item has room for four (296); a long one has up to three places for each
/// item while it grows (216).
pub const VALUE_BYTES: u64 = 450;
/// The same for a value that is no map.
const PLAIN_VALUE_BYTES: u64 = 300;
/// What a map needs at most while its text is parsed into a type: what it needs itself, and a typed copy of it, which is nearly as large. An
/// empty one becomes a structure with the default of every field: some 200, three times where a list of them grows.
const PARSED_MAP_BYTES: u64 = 768;
/// How often the text itself is in memory while it is parsed: as it was sent or stored, and in the values.
const TEXT_COPIES: u64 = 2;

/// What is counted of a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonSize {
    /// Its bytes.
    pub bytes: u64,
    /// Its values, maps and lists included and keys not.
    pub values: u64,
    /// Its maps.
    pub maps: u64,
}

impl JsonSize {
    /// Counts a text: there is one more value than commas, and maps and lists that are not empty. Exact for valid JSON; what is no JSON is
    /// counted too.
    pub fn of_text(text: &[u8]) -> Self {
        let (mut values, mut maps) = (1_u64, 0);
        let (mut is_in_string, mut is_escaped, mut previous) = (false, false, b' ');
        for &byte in text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_in_string => is_escaped = true,
                b'"' => is_in_string = !is_in_string,
                b',' | b'[' if !is_in_string => values += 1,
                b'{' if !is_in_string => {
                    values += 1;
                    maps += 1;
                }
                b'}' | b']' if !is_in_string && matches!(previous, b'{' | b'[') => {
                    values = values.saturating_sub(1);
                }
                _ => {}
            }
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                previous = byte;
            }
        }
        Self { bytes: text.len() as u64, values, maps }
    }

    /// The size of what is serialized; more than any limit if it can't be.
    pub fn of_serialized<T: serde::Serialize + ?Sized>(item: &T) -> Self {
        let most = Self { bytes: u64::MAX, values: u64::MAX, maps: u64::MAX };
        serde_json::to_vec(item).map_or(most, |text| Self::of_text(&text))
    }

    /// The size of both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            values: self.values.saturating_add(other.values),
            maps: self.maps.saturating_add(other.maps),
        }
    }

    /// What it needs about when it is read once from a valid text that was written by this program, in bytes: half of what is needed while
    /// input is checked and copied.
    pub const fn stored_bytes(self) -> u64 {
        self.decoded_bytes() / 2
    }

    /// What it needs at most when it is parsed into a type, in bytes.
    pub const fn decoded_bytes(self) -> u64 {
        let plain = PLAIN_VALUE_BYTES.saturating_mul(self.values.saturating_sub(self.maps));
        let maps = PARSED_MAP_BYTES.saturating_mul(self.maps);
        plain.saturating_add(maps).saturating_add(TEXT_COPIES.saturating_mul(self.bytes))
    }
}

/// The number of values of a text in JSON ([`JsonSize::of_text`]).
pub fn count_values(json: &[u8]) -> usize {
    usize::try_from(JsonSize::of_text(json).values).unwrap_or(usize::MAX)
}

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
        assert!(list_of_one.max(item_of_many) as u64 <= PLAIN_VALUE_BYTES, "{list_of_one} {item_of_many}");
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
            assert_eq!(JsonSize::of_text(text.as_bytes()).bytes, text.len() as u64);
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

    #[test]
    fn p19_maps_are_counted_and_not_what_strings_contain() {
        let maps = |text: &str| JsonSize::of_text(text.as_bytes()).maps;
        assert_eq!(maps(r#"{"a":{"b":{"c":0}},"d":{}}"#), 4);
        assert_eq!(maps("[{},[],1]"), 1);
        assert_eq!(maps(r#"["{", "\", ""{", {}]"#), 1);
        assert_eq!(maps("[1,2,[3,4]]"), 0);
    }

    #[test]
    fn p19_maps_in_maps_need_more_than_a_hundred_times_their_text() {
        let text = format!("{}0{}", r#"{"":"#.repeat(100), "}".repeat(100));
        let size = JsonSize::of_text(text.as_bytes());
        assert_eq!((size.values, size.maps), (101, 100));
        assert!(size.decoded_bytes() > 100 * size.bytes, "{size:?}");
        let long = format!("\"{}\"", "a".repeat(10_000));
        assert!(JsonSize::of_text(long.as_bytes()).decoded_bytes() < 3 * long.len() as u64);
    }

    #[test]
    fn p19_empty_maps_need_as_much_as_the_structures_that_they_become() {
        let text = format!("[{}{{}}]", "{},".repeat(1_000));
        let size = JsonSize::of_text(text.as_bytes());
        assert_eq!((size.values, size.maps), (1_002, 1_001));
        assert!(size.decoded_bytes() > 200 * size.bytes, "{size:?}");
    }

    #[test]
    fn sizes_are_added_and_never_overflow() {
        let one = JsonSize::of_text(b"[1,2]");
        assert_eq!(one.and(one), JsonSize { bytes: 10, values: 6, maps: 0 });
        let most = JsonSize { bytes: u64::MAX, values: u64::MAX, maps: u64::MAX };
        assert_eq!(most.and(one).decoded_bytes(), u64::MAX);
        assert_eq!(JsonSize::of_serialized(&["a", "b"]), JsonSize::of_text(br#"["a","b"]"#));
    }
}

//! How much memory a JSON text needs when it is parsed, counted in its bytes before.
//!
//! A value needs far more memory than its text: `{"":` and its end have five bytes, and a map with one field some 400, because it has room
//! for more. The count is linear in the text and allocates nothing, so that it comes before every limit and every reservation.

/// What a value needs at most while it is parsed, in bytes: 72 of its own, three times where its list grows, and its key.
pub const VALUE_BYTES: u64 = 256;
/// What a map needs beyond that, in bytes. One with fields has some 400 for its table and room for three of them, and as much again for a
/// typed copy of it beside the parsed one, less what its fields count. One without becomes a structure with the default of every field: some
/// 200, three times where a list of them grows.
pub const MAP_BYTES: u64 = 512;
/// How often the text itself is in memory: as it was sent or stored, and in the values.
const TEXT_COPIES: u64 = 2;

/// What is counted of a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonSize {
    /// Its bytes.
    pub bytes: u64,
    /// Its values, maps and lists included.
    pub values: u64,
    /// Its maps.
    pub maps: u64,
}

impl JsonSize {
    /// Counts a text, which need not be valid: there is one more value than commas, and maps and lists that are not empty.
    pub fn of_text(text: &[u8]) -> Self {
        let (mut values, mut maps) = (1, 0);
        let (mut in_string, mut is_escaped, mut previous) = (false, false, b' ');
        for &byte in text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                b',' | b'[' if !in_string => values += 1,
                b'{' if !in_string => {
                    values += 1;
                    maps += 1;
                }
                b'}' | b']' if !in_string && matches!(previous, b'{' | b'[') => values -= 1,
                _ => {}
            }
            previous = byte;
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

    /// What it needs at most when it is parsed, in bytes.
    pub const fn decoded_bytes(self) -> u64 {
        let values = VALUE_BYTES.saturating_mul(self.values);
        let maps = MAP_BYTES.saturating_mul(self.maps);
        values.saturating_add(maps).saturating_add(TEXT_COPIES.saturating_mul(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values and the maps of a text.
    fn count(text: &str) -> (u64, u64) {
        let size = JsonSize::of_text(text.as_bytes());
        assert_eq!(size.bytes, text.len() as u64);
        (size.values, size.maps)
    }

    #[test]
    fn p19_the_values_and_maps_of_a_text_are_counted_and_not_what_its_strings_contain() {
        assert_eq!(count("1"), (1, 0));
        assert_eq!(count(r#"{"a":1,"b":2}"#), (3, 1));
        assert_eq!(count("[1,2,[3,4]]"), (6, 0));
        assert_eq!(count("[{},[],1]"), (4, 1));
        assert_eq!(count("[]"), (1, 0));
        assert_eq!(count(r#"{"a":{"b":{"c":0}},"d":{}}"#), (5, 4));
        assert_eq!(count(r#""a,b,{[,\",\\""#), (1, 0));
        assert_eq!(count(r#"{"a":"\\","b":1}"#), (3, 1), "an escaped backslash does not escape the quote");
        assert_eq!(count("]}}]"), (1, 0), "what is no JSON is counted too");
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

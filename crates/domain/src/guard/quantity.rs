//! The quantity that was probably meant.

use crate::quantity::Quantity;

/// `512mb` is `512Mi`.
pub(super) fn suggest(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, suffix) = text.split_at(digits);
    let unit = match suffix.trim().to_ascii_lowercase().as_str() {
        "kb" | "kib" | "ki" => "Ki",
        "mb" | "mib" | "mi" => "Mi",
        "gb" | "gib" | "gi" | "g" => "Gi",
        "tb" | "tib" | "ti" => "Ti",
        _ => return None,
    };
    Quantity::parse(number).map(|_| format!("{number}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn g209_a_unit_written_as_people_say_it_is_understood() {
        assert_eq!(suggest("512mb").as_deref(), Some("512Mi"));
        assert_eq!(suggest("lots"), None);
    }
}

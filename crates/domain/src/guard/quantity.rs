//! The quantity that was probably meant.

use crate::quantity::Quantity;

/// `512mb` is `512Mi`.
pub(crate) fn suggest(text: &str) -> Option<String> {
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

/// The same, where nothing else can be meant: `512mb` of memory, but not `1g`, which some read as a thousand millions.
pub(super) fn certain(resource: &str, text: &str) -> Option<String> {
    let bytes = matches!(resource, "memory" | "storage" | "ephemeral-storage");
    let ends = |unit: &str| text.trim().to_ascii_lowercase().ends_with(unit);
    suggest(text).filter(|_| bytes && (ends("b") || ends("i")))
}

#[cfg(test)]
mod tests {
    use super::{certain, suggest};

    #[test]
    fn g209_a_unit_written_as_people_say_it_is_understood() {
        assert_eq!(suggest("512mb").as_deref(), Some("512Mi"));
        assert_eq!(suggest("lots"), None);
    }

    #[test]
    fn g209_only_what_can_mean_one_thing_is_certain() {
        assert_eq!(certain("memory", "512MB").as_deref(), Some("512Mi"));
        assert_eq!(certain("storage", "1gi").as_deref(), Some("1Gi"));
        assert_eq!(certain("memory", "1g"), None);
        assert_eq!(certain("cpu", "1gi"), None);
    }
}

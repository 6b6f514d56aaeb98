//! Corrections for quantities that Kubernetes can't parse (G209).

use super::Quantity;

/// The valid quantity that was probably meant: `512Mi` for `512mb`.
pub(crate) fn suggest_quantity(text: &str) -> Option<String> {
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

/// Like [`suggest_quantity`], but only where the meaning is unambiguous: `512mb` of memory, but not `1g`, which may also mean
/// 10⁹.
pub(crate) fn suggest_unambiguous_quantity(resource: &str, text: &str) -> Option<String> {
    let bytes = matches!(resource, "memory" | "storage" | "ephemeral-storage");
    let ends = |unit: &str| text.trim().to_ascii_lowercase().ends_with(unit);
    suggest_quantity(text).filter(|_| bytes && (ends("b") || ends("i")))
}

#[cfg(test)]
mod tests {
    use super::{suggest_quantity, suggest_unambiguous_quantity};

    #[test]
    fn g209_a_colloquial_unit_has_a_suggestion() {
        assert_eq!(suggest_quantity("512mb").as_deref(), Some("512Mi"));
        assert_eq!(suggest_quantity("lots"), None);
    }

    #[test]
    fn g209_only_an_unambiguous_unit_has_a_fix() {
        assert_eq!(suggest_unambiguous_quantity("memory", "512MB").as_deref(), Some("512Mi"));
        assert_eq!(suggest_unambiguous_quantity("storage", "1gi").as_deref(), Some("1Gi"));
        assert_eq!(suggest_unambiguous_quantity("memory", "1g"), None);
        assert_eq!(suggest_unambiguous_quantity("cpu", "1gi"), None);
    }
}

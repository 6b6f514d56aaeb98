//! Quantities such as `500m` and `1Gi`, as Kubernetes writes resources.

/// What a quantity means, in the unit without a suffix; for comparing, not for adding up.
pub(super) fn parse(text: &str) -> Option<f64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, suffix) = rest.split_at(digits);
    if number.is_empty() || number == "." || number.matches('.').count() > 1 {
        return None;
    }
    Some(sign * number.trim_end_matches('.').parse::<f64>().ok()? * factor(suffix)?)
}

fn factor(suffix: &str) -> Option<f64> {
    let power = match suffix {
        "" => return Some(1.0),
        "n" => -3,
        "u" => -2,
        "m" => -1,
        "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return binary(suffix).or_else(|| exponent(suffix)),
    };
    Some(1000_f64.powi(power))
}

fn binary(suffix: &str) -> Option<f64> {
    let power = match suffix {
        "Ki" => 1,
        "Mi" => 2,
        "Gi" => 3,
        "Ti" => 4,
        "Pi" => 5,
        "Ei" => 6,
        _ => return None,
    };
    Some(1024_f64.powi(power))
}

fn exponent(suffix: &str) -> Option<f64> {
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (power.abs() <= 30).then(|| 10_f64.powi(power))
}

/// The quantity that was probably meant: `512mb` is `512Mi`.
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
    parse(number).map(|_| format!("{number}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g209_quantities_are_read_as_kubernetes_reads_them() {
        for (text, value) in [
            ("1", 1.0),
            ("500m", 0.5),
            ("1Ki", 1024.0),
            ("1.5G", 1.5e9),
            (".5", 0.5),
            ("1e3", 1e3),
            ("5.", 5.0),
            ("-1", -1.0),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        for bad in ["", "1 Gi", "512mb", "1KB", "1Kii", "x", ".", "1.2.3", "1e", "١"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(suggest("512mb").as_deref(), Some("512Mi"));
        assert_eq!(suggest("lots"), None);
    }
}

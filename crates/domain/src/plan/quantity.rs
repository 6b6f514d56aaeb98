//! Kubernetes quantities: when two texts say the same amount (`1000m` and `1`, `1Gi` and `1024Mi`).
//!
//! The API server rewrites quantities into its own form, so a comparison as text would see a difference for ever.

use serde_json::Value;

/// Most digits that are read; longer ones are compared as text.
const MAX_DIGITS: usize = 24;

/// Whether both are quantities of one amount. A number stands for its own text.
pub(super) fn same_amount(a: &Value, b: &Value) -> bool {
    match (nanos(a), nanos(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The amount in thousand-millionths, rounded up as the API server does; `None` if it is no quantity or too large.
fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text.trim()),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > MAX_DIGITS || fraction.contains('.') {
        return None;
    }
    let (factor, exponent) = scale(suffix)?;
    let amount = digits.parse::<i128>().ok()?.checked_mul(factor)?;
    let exponent = exponent + 9 - i32::try_from(fraction.len()).ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(sign * if exponent < 0 { (amount + power - 1) / power } else { amount.checked_mul(power)? })
}

/// A suffix as a factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let binary = |power: u32| Some((1024_i128.pow(power), 0));
    match suffix {
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "" => Some((1, 0)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-30..=30).contains(&power).then_some((1, power))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_amount_may_be_written_in_many_ways() {
        let same = [
            (json!("1000m"), json!("1")),
            (json!("0.5"), json!("500m")),
            (json!(0.5), json!("500m")),
            (json!(2), json!("2")),
            (json!("1Gi"), json!("1024Mi")),
            (json!("1.5Gi"), json!("1536Mi")),
            (json!("1e3"), json!("1k")),
            (json!("1E3"), json!("1000")),
            (json!("2E"), json!("2000P")),
            (json!("128974848"), json!("123Mi")),
            (json!("0.0000000001"), json!("1n")),
            (json!("-1"), json!("-1000m")),
            (json!("+1"), json!("1")),
            (json!(".5"), json!("500m")),
        ];
        for (a, b) in same {
            assert!(same_amount(&a, &b), "{a} {b}");
        }
    }

    #[test]
    fn other_amounts_and_texts_that_are_no_quantities_are_not_the_same() {
        let other = [
            (json!("1"), json!("1m")),
            (json!("1G"), json!("1Gi")),
            (json!("1"), json!("")),
            (json!("x"), json!("x")),
            (json!("1.2.3"), json!("1.2.3")),
            (json!("1e99"), json!("1e99")),
            (json!("9".repeat(60)), json!("9".repeat(60))),
            (json!("1"), json!(true)),
            (json!("."), json!("0")),
        ];
        for (a, b) in other {
            assert!(!same_amount(&a, &b), "{a} {b}");
        }
    }
}

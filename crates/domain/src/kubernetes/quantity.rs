//! Kubernetes quantities such as `500m` and `1.5Gi`, parsed as by the API server.
//!
//! An amount is stored exactly, in billionths, the finest unit of Kubernetes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod suggestion;

pub(crate) use suggestion::{suggest_quantity, suggest_unambiguous_quantity};

/// Most digits that are parsed; a longer text is rejected.
const MAX_DIGITS: usize = 24;

/// An amount of something: cores, bytes, pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `n` whole units.
    pub const fn from_units(n: u32) -> Self {
        Self(n as i128 * NANOS_PER_UNIT)
    }

    /// Parses a text; `None` if it is not a quantity, or too large. Fractions of a billionth are rounded up, as by the
    /// API server.
    pub fn parse(text: &str) -> Option<Self> {
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
        let (factor, exponent) = parse_suffix(suffix)?;
        let amount = digits.parse::<i128>().ok()?.checked_mul(factor)?;
        let exponent = exponent + 9 - i32::try_from(fraction.len()).ok()?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        let amount = if exponent < 0 { (amount + power - 1) / power } else { amount.checked_mul(power)? };
        Some(Self(sign * amount))
    }

    /// Parses a value of a manifest: a text or a number.
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// The amount multiplied by `n`, saturating.
    pub fn times(self, n: u32) -> Self {
        Self(self.0.saturating_mul(i128::from(n)))
    }

    /// Its share of `from_units` in percent, rounded down, 0 to 100; 0 unless `from_units` is positive.
    pub fn percent_of(self, whole: Self) -> u32 {
        if whole.0 <= 0 {
            return 0;
        }
        let share = self.0.clamp(0, whole.0).saturating_mul(100) / whole.0;
        u32::try_from(share).unwrap_or(0)
    }

    /// As bytes, with the largest binary unit that keeps the number at 1 or above: `1.5 GiB`.
    pub fn format_bytes(self) -> String {
        const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
        let bytes = self.0 / NANOS_PER_UNIT;
        let (unit, shift) =
            UNITS.into_iter().find(|(_, shift)| bytes.abs() >> shift >= 1).unwrap_or(("B", 0));
        format!("{} {unit}", format_tenths((bytes * 10) >> shift))
    }
}

const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// One decimal place, unless it is zero.
fn format_tenths(n: i128) -> String {
    if n % 10 == 0 { (n / 10).to_string() } else { format!("{}.{}", n / 10, (n % 10).abs()) }
}

/// Canonical and exact: whole units plain, the rest in the coarsest of `m`, `u` and `n` that keeps it whole.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, suffix) in [(NANOS_PER_UNIT, ""), (1_000_000, "m"), (1_000, "u")] {
            if self.0 % unit == 0 {
                return write!(f, "{}{suffix}", self.0 / unit);
            }
        }
        write!(f, "{}n", self.0)
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a quantity"))
    }
}

/// A suffix as a factor and a power of ten.
fn parse_suffix(suffix: &str) -> Option<(i128, i32)> {
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
    use super::*;

    fn q(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn equal_amounts_have_several_notations() {
        let same = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1Gi", "1024Mi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("2E", "2000P"),
            ("128974848", "123Mi"),
            ("0.0000000001", "1n"),
            ("-1", "-1000m"),
            ("+1", "1"),
            (".5", "500m"),
            ("5.", "5"),
        ];
        for (a, b) in same {
            assert_eq!(q(a), q(b), "{a} {b}");
        }
        assert_eq!(Quantity::from_json(&Value::from(0.5)), Some(q("500m")));
        assert!(q("1") > q("1m") && q("1G") < q("1Gi"));
    }

    #[test]
    fn g209_text_that_kubernetes_rejects_is_not_a_quantity() {
        for bad in ["", "1 Gi", "512mb", "1KB", "1Kii", "x", ".", "1.2.3", "1e", "1e99", "١"] {
            assert_eq!(Quantity::parse(bad), None, "{bad}");
        }
        assert_eq!(Quantity::parse(&"9".repeat(60)), None);
        assert_eq!(Quantity::from_json(&Value::from(true)), None);
    }

    #[test]
    fn an_amount_round_trips_through_its_text() {
        for text in ["0", "1", "1500m", "3u", "7n", "-2", "1073741824"] {
            assert_eq!(q(text).to_string(), text);
        }
        let cpus: Quantity = ["500m", "1.5", "2"].map(q).into_iter().sum();
        assert_eq!((cpus.to_string().as_str(), (cpus - q("1")).to_string().as_str()), ("4", "3"));
        assert_eq!(q("250m").times(6), q("1500m"));
    }

    #[test]
    fn bytes_are_formatted_in_the_largest_unit_that_fits() {
        let cases =
            [("64Gi", "64 GiB"), ("1536Mi", "1.5 GiB"), ("1500", "1.4 KiB"), ("12", "12 B"), ("0", "0 B")];
        for (amount, text) in cases {
            assert_eq!(q(amount).format_bytes(), text);
        }
    }
}

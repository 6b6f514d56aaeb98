//! Kubernetes quantities: `500m`, `1Gi`, `2e3`. The server returns the canonical form of any accepted input.

/// A parsed quantity in billionths, with the format that its canonical form retains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormattedQuantity {
    nano: i128,
    format: QuantityFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuantityFormat {
    Decimal,
    Binary,
    Exponent,
}

const NANO: i128 = 1_000_000_000;
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 9] =
    [("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

impl FormattedQuantity {
    /// Parses a quantity; `None` if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<FormattedQuantity> {
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-' && c != '+')
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let base = parse_decimal(number)?;
        if let Some(power) = BINARY.iter().position(|s| *s == suffix) {
            let factor = 1024_i128.checked_pow(u32::try_from(power).ok()? + 1)?;
            return Some(FormattedQuantity {
                nano: base.checked_mul(factor)?,
                format: QuantityFormat::Binary,
            });
        }
        let (exponent, format) = match DECIMAL.iter().find(|(s, _)| *s == suffix) {
            _ if suffix.is_empty() => (0, QuantityFormat::Decimal),
            Some((_, e)) => (*e, QuantityFormat::Decimal),
            None => (suffix.strip_prefix(['e', 'E'])?.parse().ok()?, QuantityFormat::Exponent),
        };
        let factor = 10_i128.checked_pow(i32::unsigned_abs(exponent))?;
        let nano = if exponent < 0 { div_up(base, factor) } else { base.checked_mul(factor)? };
        Some(FormattedQuantity { nano, format })
    }

    /// Thousandths, rounded up.
    pub(crate) fn to_milli(self) -> i64 {
        i64::try_from(div_up(self.nano, NANO / 1000)).unwrap_or(i64::MAX)
    }

    /// Whole units, rounded up.
    pub(crate) fn to_units(self) -> i64 {
        i64::try_from(div_up(self.nano, NANO)).unwrap_or(i64::MAX)
    }

    /// The canonical form, as the server returns it.
    pub(crate) fn to_canonical(self) -> String {
        if self.format == QuantityFormat::Binary && self.nano.abs() >= 1024 * NANO {
            let mut value = div_up(self.nano, NANO);
            let mut power = 0;
            while power < BINARY.len() && value % 1024 == 0 && value != 0 {
                value /= 1024;
                power += 1;
            }
            return format!("{value}{}", if power == 0 { "" } else { BINARY[power - 1] });
        }
        let (mut value, mut exponent) = (self.nano, -9);
        while value != 0 && value % 1000 == 0 && exponent < 18 {
            value /= 1000;
            exponent += 3;
        }
        if value == 0 || exponent == 0 {
            return value.to_string();
        }
        match (self.format, DECIMAL.iter().find(|(_, e)| *e == exponent)) {
            (QuantityFormat::Exponent, _) | (_, None) => format!("{value}e{exponent}"),
            (_, Some((suffix, _))) => format!("{value}{suffix}"),
        }
    }
}

fn div_up(value: i128, by: i128) -> i128 {
    let (whole, rest) = (value / by, value % by);
    if rest > 0 { whole + 1 } else { whole }
}

/// Parses a decimal number into billionths.
fn parse_decimal(number: &str) -> Option<i128> {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 20 {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let decimals = &fraction[..fraction.len().min(9)];
    let part: i128 = if decimals.is_empty() { 0 } else { format!("{decimals:0<9}").parse().ok()? };
    let nano = whole * NANO + part;
    Some(if negative { -nano } else { nano })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_returned_in_canonical_form() {
        for (sent, canonical) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("2000m", "2"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("100m", "100m"),
            ("64Mi", "64Mi"),
            ("0", "0"),
            ("1e3", "1e3"),
            ("1000k", "1M"),
            ("512", "512"),
            ("0.5Ki", "512"),
            ("1G", "1G"),
            ("100", "100"),
            ("1500", "1500"),
            ("250u", "250u"),
        ] {
            assert_eq!(
                FormattedQuantity::parse(sent).map(FormattedQuantity::to_canonical).as_deref(),
                Some(canonical),
                "{sent}"
            );
        }
    }

    #[test]
    fn an_invalid_quantity_is_rejected() {
        for sent in ["", "abc", "1Xi", "1.2.3", "--1"] {
            assert_eq!(FormattedQuantity::parse(sent), None, "{sent}");
        }
    }
}

//! Amounts and time spans as people write them. Text that can't be parsed is stored unchanged, so that G511 can report
//! it and no input is lost.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum stored length of a text that can't be parsed, in characters.
const MAX_STORED_CHARS: usize = 60;

/// A number of clusters or a percentage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountOrPercent {
    /// A number.
    Count(u32),
    /// A percentage.
    Percent(u32),
    /// Text that is neither.
    Invalid(String),
}

impl CountOrPercent {
    /// The number of clusters for a total of `all`, rounded up; `None` if the text is not valid.
    pub fn round_up(&self, all: u32) -> Option<u32> {
        self.scale(all, 99)
    }

    /// The number of clusters for a total of `all`, rounded down; `None` if the text is not valid.
    pub fn round_down(&self, all: u32) -> Option<u32> {
        self.scale(all, 0)
    }

    fn scale(&self, all: u32, rest: u64) -> Option<u32> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Percent(percent) => {
                let part = (u64::from(all) * u64::from(*percent) + rest) / 100;
                Some(u32::try_from(part).unwrap_or(u32::MAX))
            }
            Self::Invalid(_) => None,
        }
    }
}

impl FromStr for CountOrPercent {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| text.parse().ok().filter(|_| digits(text));
        let percent = text.strip_suffix('%').map(str::trim_end).and_then(number).map(Self::Percent);
        let count = || number(text).map(Self::Count);
        Ok(percent
            .or_else(count)
            .unwrap_or_else(|| Self::Invalid(text.chars().take(MAX_STORED_CHARS).collect())))
    }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Invalid(text) => f.write_str(text),
        }
    }
}

impl Serialize for CountOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "a number of clusters such as 3, or a percentage such as 25%")
    }
}

/// A time span such as `90s`, `10m`, `1h30m` or `2d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpan {
    text: String,
    millis: Option<i64>,
}

/// The longest span: a year. A longer one is taken for a mistake.
const MAX_SPAN_MILLIS: i64 = 365 * 86_400_000;

impl TimeSpan {
    /// In milliseconds; `None` if the text is not valid.
    pub fn millis(&self) -> Option<i64> {
        self.millis
    }
}

impl FromStr for TimeSpan {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text: String = text.trim().chars().take(MAX_STORED_CHARS).collect();
        let millis = parse_millis(&text);
        Ok(Self { text, millis })
    }
}

/// Parses numbers with units in descending order; `0` needs no unit.
fn parse_millis(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let (mut rest, mut all, mut last) = (text, 0_i64, i64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if unit >= last {
            return None;
        }
        all = all.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        (rest, last) = (tail, unit);
    }
    (!text.is_empty() && all <= MAX_SPAN_MILLIS).then_some(all)
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "a time span such as 10m")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for CountOrPercent {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{SchemaType, Type};
        let number_or_text = SchemaType::from_iter([Type::Integer, Type::String]);
        amount_schema(number_or_text, "A number of clusters, or a percentage.", "25%")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for CountOrPercent {}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for TimeSpan {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let text = utoipa::openapi::schema::Type::String.into();
        amount_schema(text, "A time span: numbers with units, the larger first.", "1h30m")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for TimeSpan {}

#[cfg(feature = "openapi")]
fn amount_schema(
    schema_type: utoipa::openapi::schema::SchemaType,
    about: &str,
    example: &str,
) -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(schema_type)
        .description(Some(about))
        .examples([serde_json::json!(example)])
        .into()
}

/// Deserializes a text or an unquoted number: YAML authors write `3` without quotes.
fn deserialize_text<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err = std::convert::Infallible>,
    D: Deserializer<'de>,
{
    struct Visitor<T>(&'static str, std::marker::PhantomData<T>);
    impl<T: FromStr<Err = std::convert::Infallible>> serde::de::Visitor<'_> for Visitor<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
    }
    deserializer.deserialize_any(Visitor(expected, std::marker::PhantomData))
}

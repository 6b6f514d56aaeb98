//! Numbers and times as people write them. What can't be read is kept as it was written: a guard rail says so (G511),
//! and nothing is lost.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest text that is kept of what can't be read, in characters.
const KEPT_CHARS: usize = 60;

/// A number of clusters, or a percentage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Count(u32),
    /// So many of a hundred.
    Percent(u32),
    /// Neither.
    Unclear(String),
}

impl Amount {
    /// So many of `all`, rounded up; `None` if it can't be read.
    pub fn up(&self, all: u32) -> Option<u32> {
        self.of(all, 99)
    }

    /// So many of `all`, rounded down; `None` if it can't be read.
    pub fn down(&self, all: u32) -> Option<u32> {
        self.of(all, 0)
    }

    fn of(&self, all: u32, rest: u64) -> Option<u32> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Percent(percent) => {
                let part = (u64::from(all) * u64::from(*percent) + rest) / 100;
                Some(u32::try_from(part).unwrap_or(u32::MAX))
            }
            Self::Unclear(_) => None,
        }
    }
}

impl FromStr for Amount {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| text.parse().ok().filter(|_| digits(text));
        let percent = text.strip_suffix('%').map(str::trim_end).and_then(number).map(Self::Percent);
        let count = || number(text).map(Self::Count);
        Ok(percent.or_else(count).unwrap_or_else(|| Self::Unclear(text.chars().take(KEPT_CHARS).collect())))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Unclear(text) => f.write_str(text),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, "a number of clusters such as 3, or a percentage such as 25%")
    }
}

/// A time span such as `90s`, `10m`, `1h30m` or `2d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    text: String,
    millis: Option<i64>,
}

/// The longest span: a year. A longer one is a slip.
const MAX_SPAN_MILLIS: i64 = 365 * 86_400_000;

impl Span {
    /// In milliseconds; `None` if it can't be read.
    pub fn millis(&self) -> Option<i64> {
        self.millis
    }
}

impl FromStr for Span {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text: String = text.trim().chars().take(KEPT_CHARS).collect();
        let millis = millis(&text);
        Ok(Self { text, millis })
    }
}

/// Reads numbers with their units, the larger before the smaller; a bare `0` is none.
fn millis(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let (mut rest, mut all, mut last) = (text, 0_i64, i64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let word = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(word);
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

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, "a time span such as 10m")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Amount {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        text("A number of clusters, or a percentage.", "25%")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Amount {}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Span {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        text("A time span: numbers with units, the larger first.", "1h30m")
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Span {}

#[cfg(feature = "openapi")]
fn text(about: &str, example: &str) -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    let text = utoipa::openapi::schema::Object::with_type(utoipa::openapi::schema::Type::String);
    utoipa::openapi::schema::ObjectBuilder::from(text)
        .description(Some(about))
        .examples([serde_json::json!(example)])
        .into()
}

/// Reads a text, or a number for its own text: in YAML nobody quotes `3`.
fn read<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
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

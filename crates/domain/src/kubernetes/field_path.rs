//! Field paths: JSON pointers (RFC 6901) in which a list item can be selected by its fields instead of its index.
//!
//! `/spec/template/spec/containers[name=web]/image` stays correct when a container is inserted before it; `…/0/image`
//! does not. A condition compares any scalar field of the item, and several may follow each other:
//! `ports[containerPort=53][protocol=UDP]`; the field `.` is the item itself, for lists of scalars: `finalizers[.=a/b]`. Beside the escapes of the RFC (`~0` for `~`, `~1` for `/`), `~2` stands for
//! `[`, `~3` for `]` and, in the field of a condition, `~4` for `=`; inside a condition `/` needs no escape, as in
//! `volumeMounts[mountPath=/data]`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// Longest path, in bytes.
pub const MAX_BYTES: usize = 1_024;
/// Most segments of a path; keeps objects created from paths shallow enough for every JSON parser.
pub const MAX_SEGMENTS: usize = 64;
/// The field of a condition that compares the item itself.
pub const SELF_FIELD: &str = ".";

/// A path into an object; empty for the object itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(pub Vec<PathSegment>);

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathSegment {
    /// A key of a map, the index of a list's item, or `-` behind a list's last item.
    Key(String),
    /// The item of a list for which all of these hold: field and the text of its scalar value.
    Item(Vec<(String, String)>),
}

/// The text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a path: {why}")]
pub struct InvalidFieldPath {
    text: String,
    why: String,
}

/// The items of a list that conditions select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemMatch {
    /// No item.
    None,
    /// The item at this index.
    One(usize),
    /// More than one item.
    Many,
}

impl FieldPath {
    /// This path and one more key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        self.with_segment(PathSegment::Key(key.to_owned()))
    }

    /// This path and one more segment.
    #[must_use]
    pub fn with_segment(&self, segment: PathSegment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// Whether this path equals `other` or is a prefix of it.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The value at this path.
    pub fn get<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, segment| segment.get(value))
    }
}

impl PathSegment {
    /// The item with this name.
    pub fn item_named(name: &str) -> Self {
        Self::Item(vec![("name".to_owned(), name.to_owned())])
    }

    /// The value that this segment leads to.
    pub fn get<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(map)) => map.get(key),
            (Self::Key(key), Value::Array(items)) => items.get(parse_index(key)?),
            (Self::Item(conditions), Value::Array(items)) => match find_item(items, conditions) {
                ItemMatch::One(at) => items.get(at),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The list index that a key represents; a number with leading zeros is not an index, as in RFC 6901.
pub fn parse_index(key: &str) -> Option<usize> {
    let plain = key == "0" || (!key.starts_with('0') && key.bytes().all(|b| b.is_ascii_digit()));
    if plain { key.parse().ok() } else { None }
}

/// The item for which all conditions hold.
pub fn find_item(items: &[Value], conditions: &[(String, String)]) -> ItemMatch {
    let holds = |item: &&Value| {
        conditions.iter().all(|(key, value)| {
            let field = if key == SELF_FIELD { Some(*item) } else { item.get(key) };
            field.and_then(scalar_text).is_some_and(|text| text == *value)
        })
    };
    let mut found = items.iter().enumerate().filter(|(_, item)| holds(item));
    match (found.next(), found.next()) {
        (None, _) => ItemMatch::None,
        (Some((at, _)), None) => ItemMatch::One(at),
        _ => ItemMatch::Many,
    }
}

/// The text of a scalar; `None` for null, lists and maps.
pub fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(yes) => Some(Cow::Borrowed(if *yes { "true" } else { "false" })),
        _ => None,
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| segment.fmt(f))
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "/{}", escape(key).replace('/', "~1")),
            Self::Item(conditions) => conditions.iter().try_for_each(|(key, value)| {
                write!(f, "[{}={}]", escape(key).replace('=', "~4"), escape(value))
            }),
        }
    }
}

/// A key as a token of a JSON pointer (RFC 6901): `~0` for `~`, `~1` for `/`.
pub fn escape_pointer_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn escape(text: &str) -> String {
    text.replace('~', "~0").replace('[', "~2").replace(']', "~3")
}

/// The text of a token: the escapes of a JSON pointer, and those of conditions.
///
/// # Errors
/// A `~` is followed by anything else.
pub(crate) fn unescape_token(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                Some('2') => '[',
                Some('3') => ']',
                Some('4') => '=',
                _ => return Err(format!("in {text:?}, write ~0 for a ~")),
            },
            plain => plain,
        });
    }
    Ok(out)
}

impl FromStr for FieldPath {
    type Err = InvalidFieldPath;
    fn from_str(text: &str) -> Result<Self, InvalidFieldPath> {
        let bad = |why: String| InvalidFieldPath { text: text.chars().take(120).collect(), why };
        if text.len() > MAX_BYTES {
            return Err(bad(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some(after) = rest.strip_prefix('/') else {
                return Err(bad("a path starts with / and has a / before every field".to_owned()));
            };
            rest = parse_token(after, &mut segments).map_err(bad)?;
            if segments.len() > MAX_SEGMENTS {
                return Err(bad(format!("it has more than {MAX_SEGMENTS} parts")));
            }
        }
        Ok(Self(segments))
    }
}

/// Parses one field and the conditions behind it; returns the rest.
fn parse_token<'a>(text: &'a str, segments: &mut Vec<PathSegment>) -> Result<&'a str, String> {
    let end = text.find(['/', '[']).unwrap_or(text.len());
    let (key, mut rest) = text.split_at(end);
    if !key.is_empty() || !rest.starts_with('[') {
        segments.push(PathSegment::Key(unescape_token(key)?));
    }
    let mut conditions = Vec::new();
    while let Some(after) = rest.strip_prefix('[') {
        let (condition, left) =
            after.split_once(']').ok_or_else(|| format!("the [ after {key:?} is never closed"))?;
        let Some((field, value)) = condition.split_once('=') else {
            return Err(format!(
                "write {key}[name=…] for an item by name, or {key}/0 for an item by position"
            ));
        };
        if field.is_empty() {
            return Err(format!("[{condition}] names no field"));
        }
        conditions.push((unescape_token(field)?, unescape_token(value)?));
        rest = left;
    }
    if !conditions.is_empty() {
        segments.push(PathSegment::Item(conditions));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> FieldPath {
        text.parse().unwrap()
    }

    #[test]
    fn items_are_found_by_any_scalar_field_by_index_and_by_several_conditions() {
        let object = json!({"ports": [
            {"name": "web", "port": 80, "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP", "main": true},
        ]});
        let name = |text: &str| path(text).get(&object).and_then(Value::as_str).map(str::to_owned);
        assert_eq!(name("/ports[port=80]/name").unwrap(), "web");
        assert_eq!(name("/ports/1/name").unwrap(), "dns");
        assert_eq!(name("/ports[main=true]/name").unwrap(), "dns-tcp");
        assert_eq!(name("/ports[port=53][protocol=TCP]/name").unwrap(), "dns-tcp");
        assert_eq!(name("/ports/[name=dns]/name").unwrap(), "dns");
        for missing in
            ["/ports[port=53]/name", "/ports/3/name", "/ports/01/name", "/ports/-/name", "/x", "/ports/name"]
        {
            assert_eq!(name(missing), None, "{missing}");
        }
        assert_eq!(path("").get(&object), Some(&object));
        let finalizers = json!({"finalizers": ["a/b", "c"]});
        assert_eq!(path("/finalizers[.=a/b]").get(&finalizers), Some(&json!("a/b")));
        assert_eq!(path("/finalizers[.=b]").get(&finalizers), None);
    }

    #[test]
    fn keys_are_escaped_as_in_rfc_6901_and_brackets_too() {
        let object = json!({"a/b": {"m~n": [{"mountPath": "/da]ta"}]}, "x[y=z]": 1});
        assert!(path("/a~1b/m~0n[mountPath=/da~3ta]").get(&object).is_some());
        assert_eq!(path("/x~2y=z~3").get(&object), Some(&json!(1)));
        for text in ["", "/a~1b/m~0n[mountPath=/da~3ta]/-", "/x~2y=z~3", "//a", "/l[a=1][b=]/c"] {
            assert_eq!(path(text).to_string(), text);
        }
    }

    #[test]
    fn g507_an_invalid_path_is_rejected_with_the_reason() {
        let why = |text: &str| text.parse::<FieldPath>().unwrap_err().to_string();
        assert!(why("spec/replicas").contains("starts with /"));
        assert!(why("/containers[0]/image").contains("containers[name=…]"));
        assert!(why("/containers[name=web").contains("never closed"));
        assert!(why("/a~x").contains("~0"));
        assert!(why("/l[=x]").contains("names no field"));
        assert!(why(&"/a".repeat(65)).contains("64 parts"));
        assert!(why(&"a".repeat(2_000)).len() < 300);
    }
}

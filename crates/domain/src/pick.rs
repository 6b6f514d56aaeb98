//! Picks: the fields a person names by JSON pointer or simple JSONPath, to be left alone or to be reported (S3).
//!
//! A JSON pointer is a [`Path`] and may name items (`/spec/containers[name=web]/image`). Of JSONPath there is what names
//! fields: `$.spec.replicas`, `.data["a.b"]`, `.items[0]`, `.items[-1]`, `.items[*].name`, `[?(@.type=="Ready")]`, also
//! in the braces of kubectl. Nothing searches (`..`), computes or slices, so a pick costs no more than the object is large.

use std::str::FromStr;

use serde_json::Value;

use crate::path::{MAX_BYTES, MAX_SEGMENTS, Path, Segment, scalar};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A key of a map.
    Key(String),
    /// An item of a list; from its end if negative.
    At(i64),
    /// A key of a map or an item of a list, as in a JSON pointer.
    Either(String),
    /// Every item of a list, or every value of a map.
    Every,
    /// The items for which all of these hold: field and the text of its scalar value.
    Where(Vec<(String, String)>),
}

/// Fields, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pick(Vec<Step>);

/// Text that picks nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no field: {why}")]
pub struct BadPick {
    text: String,
    why: String,
}

impl FromStr for Pick {
    type Err = BadPick;
    fn from_str(text: &str) -> Result<Self, BadPick> {
        let bad = |why: String| BadPick { text: text.chars().take(120).collect(), why };
        if text.len() > MAX_BYTES {
            return Err(bad(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let steps = if text.starts_with('/') {
            let path: Path = text.parse().map_err(|error: crate::path::BadPath| bad(error.to_string()))?;
            path.0.into_iter().map(Step::from).collect()
        } else {
            json_path(text).map_err(bad)?
        };
        match steps.len() {
            0 => Err(bad("it stands for the whole object".to_owned())),
            many if many > MAX_SEGMENTS => Err(bad(format!("it has more than {MAX_SEGMENTS} parts"))),
            _ => Ok(Self(steps)),
        }
    }
}

impl From<Segment> for Step {
    fn from(segment: Segment) -> Self {
        match segment {
            Segment::Key(key) => Self::Either(key),
            Segment::Item(conditions) => Self::Where(conditions),
        }
    }
}

impl Pick {
    /// The values it names in `root`, in order.
    pub fn values<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        self.0.iter().fold(vec![root], |found, step| {
            found.into_iter().flat_map(|value| step.of(value).into_iter().map(|(_, child)| child)).collect()
        })
    }

    /// Where in `root` its values are, with list items by position.
    pub fn places(&self, root: &Value) -> Vec<Path> {
        let begin = vec![(Path::default(), root)];
        let all = self.0.iter().fold(begin, |found, step| {
            let below = |(path, value)| {
                let path: Path = path;
                step.of(value).into_iter().map(move |(key, child)| (path.key(&key), child))
            };
            found.into_iter().flat_map(below).collect()
        });
        all.into_iter().map(|(path, _)| path).collect()
    }

    /// Whether the field at `path` is one it names, or lies in one. Items are compared by what the path says of them.
    pub fn covers(&self, path: &Path) -> bool {
        self.0.len() <= path.0.len()
            && self.0.iter().zip(&path.0).all(|(step, segment)| match (step, segment) {
                (Step::Every, _) => true,
                (Step::Key(key) | Step::Either(key), Segment::Key(other)) => key == other,
                (Step::At(at), Segment::Key(key)) => *key == at.to_string(),
                (Step::Where(wanted), Segment::Item(said)) => wanted.iter().all(|one| said.contains(one)),
                _ => false,
            })
    }
}

impl Step {
    /// Key or position, and value, of everything one step down.
    fn of<'a>(&self, value: &'a Value) -> Vec<(String, &'a Value)> {
        match (self, value) {
            (Self::Key(key) | Self::Either(key), Value::Object(map)) => {
                map.get(key).map(|child| (key.clone(), child)).into_iter().collect()
            }
            (Self::Either(key), Value::Array(items)) => {
                let at = crate::path::index(key);
                at.and_then(|at| items.get(at)).map(|item| (key.clone(), item)).into_iter().collect()
            }
            (Self::At(at), Value::Array(items)) => {
                let at = if *at < 0 {
                    items.len().checked_sub(at.unsigned_abs() as usize)
                } else {
                    usize::try_from(*at).ok()
                };
                at.and_then(|at| Some((at.to_string(), items.get(at)?))).into_iter().collect()
            }
            (Self::Every, Value::Object(map)) => {
                map.iter().map(|(key, child)| (key.clone(), child)).collect()
            }
            (Self::Every, Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
            }
            (Self::Where(wanted), Value::Array(items)) => {
                let holds = |item: &Value| {
                    wanted
                        .iter()
                        .all(|(key, text)| item.get(key).and_then(scalar).is_some_and(|seen| seen == *text))
                };
                let all = items.iter().enumerate().filter(|(_, item)| holds(item));
                all.map(|(at, item)| (at.to_string(), item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Reads a JSONPath.
fn json_path(text: &str) -> Result<Vec<Step>, String> {
    let inner = text.trim();
    let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
    let mut rest = inner.strip_prefix('$').unwrap_or(inner);
    if !rest.starts_with(['.', '[']) {
        return Err("write a JSON pointer (/spec/replicas) or a JSONPath ($.spec.replicas)".to_owned());
    }
    let mut steps = Vec::new();
    while !rest.is_empty() {
        rest = if let Some(after) = rest.strip_prefix('[') {
            bracket(after, &mut steps)?
        } else if let Some(after) = rest.strip_prefix('.') {
            dotted(after, &mut steps)?
        } else {
            return Err(format!("before {rest:?} there should be a dot or a bracket"));
        };
    }
    Ok(steps)
}

fn dotted<'a>(after: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    if after.starts_with('.') {
        return Err("searching with .. is not taken; name every field on the way".to_owned());
    }
    // `.[0]` and `.['a']` are written too.
    if after.starts_with('[') {
        return Ok(after);
    }
    let end = after.find(['.', '[']).unwrap_or(after.len());
    let (key, rest) = after.split_at(end);
    match key {
        "" => return Err("a dot is followed by nothing".to_owned()),
        "*" => steps.push(Step::Every),
        key => steps.push(Step::Key(key.to_owned())),
    }
    Ok(rest)
}

fn bracket<'a>(after: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    if let Some(quote) = after.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (key, rest) = after[1..]
            .split_once(quote)
            .ok_or_else(|| format!("the {quote} in {after:?} is never closed"))?;
        let rest = rest.strip_prefix(']').ok_or("after a quoted key there should be ]")?;
        steps.push(Step::Key(key.to_owned()));
        return Ok(rest);
    }
    let (inside, rest) = match after.strip_prefix("?(") {
        Some(filter) => filter.split_once(")]").map(|(inside, rest)| (Err(inside), rest)),
        None => after.split_once(']').map(|(inside, rest)| (Ok(inside), rest)),
    }
    .ok_or("a [ is never closed")?;
    steps.push(match inside {
        Ok("*") => Step::Every,
        Ok(number) => Step::At(number.trim().parse().map_err(|_| {
            format!("[{number}] is no position; write [0], [*], ['key'] or [?(@.name==\"web\")]")
        })?),
        Err(filter) => Step::Where(vec![condition(filter)?]),
    });
    Ok(rest)
}

/// `@.name=="web"`: one field of the item and its value.
fn condition(filter: &str) -> Result<(String, String), String> {
    let wrong = || format!("[?({filter})] is not understood; write [?(@.name==\"web\")]");
    let (field, value) = filter.split_once("==").ok_or_else(wrong)?;
    let field = field.trim().strip_prefix("@.").ok_or_else(wrong)?;
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    if field.is_empty() || field.contains(['.', '[']) {
        return Err(wrong());
    }
    Ok((field.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pick(text: &str) -> Pick {
        text.parse().unwrap()
    }

    fn object() -> Value {
        json!({
            "metadata": {"annotations": {"a.b/c": "1"}},
            "spec": {"replicas": 3, "containers": [{"name": "web", "image": "a"}, {"name": "log", "image": "b"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        })
    }

    #[test]
    fn pointers_and_json_paths_name_the_same_fields() {
        let object = object();
        for (text, found) in [
            ("/spec/replicas", json!([3])),
            ("$.spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            (".metadata.annotations['a.b/c']", json!(["1"])),
            ("/metadata/annotations/a.b~1c", json!(["1"])),
            ("$.spec.containers[*].image", json!(["a", "b"])),
            ("$.spec.containers[-1].image", json!(["b"])),
            ("$.spec.containers[?(@.name==\"web\")].image", json!(["a"])),
            ("/spec/containers[name=log]/image", json!(["b"])),
            ("/spec/containers/0/image", json!(["a"])),
            (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
            ("$.spec.nothing.here", json!([])),
            ("$.spec.replicas[0]", json!([])),
        ] {
            assert_eq!(json!(pick(text).values(&object)), found, "{text}");
        }
    }

    #[test]
    fn places_are_pointers_into_this_very_object() {
        let object = object();
        let pointer = pick("$.spec.containers[*].image").places(&object);
        let texts: Vec<String> = pointer.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["/spec/containers/0/image", "/spec/containers/1/image"]);
    }

    #[test]
    fn a_pick_covers_the_field_and_everything_in_it_however_items_are_named() {
        let path = |text: &str| text.parse::<Path>().unwrap();
        let covers = |pick_text: &str, at: &str| pick(pick_text).covers(&path(at));
        assert!(covers("$.spec.replicas", "/spec/replicas"));
        assert!(covers("$.spec.template", "/spec/template/metadata/labels/a"));
        assert!(covers("$.spec.containers[*].image", "/spec/containers[name=web]/image"));
        assert!(covers("/spec/containers[name=web]/image", "/spec/containers[name=web]/image"));
        assert!(!covers("/spec/containers[name=web]/image", "/spec/containers[name=log]/image"));
        assert!(!covers("$.spec.replicas", "/spec"));
        assert!(!covers("$.spec.replicas", "/spec/paused"));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_reason() {
        for (text, why) in [
            ("spec.replicas", "JSON pointer"),
            ("$", "JSON pointer"),
            ("$..image", ".."),
            ("$.spec[", "never closed"),
            ("$.spec[1:2]", "no position"),
            ("$.spec[?(@.a.b==1)]", "not understood"),
            ("$.spec.", "nothing"),
            ("/a~x", "~0"),
        ] {
            let error = text.parse::<Pick>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(".a".repeat(600).parse::<Pick>().is_err());
        assert!(".a".repeat(100).parse::<Pick>().is_err());
    }
}

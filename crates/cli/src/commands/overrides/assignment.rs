//! Fields of an override as they are written on the command line.
//!
//! A field is a path (`/spec/replicas`, as in overrides), or its last parts separated by dots (`replicas`, `limits.cpu`,
//! `web.image`), where an item of a list is named by its `name`. The short form must name one field of the source.

use domain::field_path::{FieldPath, PathSegment};
use domain::manifest::{self, yaml_value};
use domain::overrides::ObjectSelector;
use domain::workload::Source;
use domain::yaml_edit;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Most fields that an error names.
const MAX_NAMED: usize = 6;

/// A field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The field as it was written.
    pub field: String,
    /// The value, read as YAML: `4` is a number, `"4"` a text.
    pub value: Value,
}

/// The object of the flag `--object`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFlag {
    kind: String,
    name: String,
}

impl Assignment {
    /// Parses `FIELD=VALUE`, whose value is YAML. The first `=` outside of brackets separates them.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (field, value) = split(text)?;
        let value = match value {
            "" => Value::String(String::new()),
            value => yaml_value::read(value)
                .map_err(|finding| {
                    Failure::usage(format!("{:?}: {}", shorten(text), finding.message), finding.hint)
                })?
                .unwrap_or(Value::Null),
        };
        Ok(Self { field: field.to_owned(), value })
    }

    /// The same with a text as the value, whatever it looks like.
    pub fn parse_text(text: &str) -> Result<Self, Failure> {
        let (field, value) = split(text)?;
        Ok(Self { field: field.to_owned(), value: value.into() })
    }
}

/// What a message repeats of an assignment.
fn shorten(text: &str) -> String {
    text.chars().take(120).collect()
}

/// The field and the text of its value.
fn split(text: &str) -> Result<(&str, &str), Failure> {
    let mut depth = 0_usize;
    let at = text.find(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '=' && depth == 0
    });
    at.filter(|at| *at > 0).map(|at| (&text[..at], &text[at + 1..])).ok_or_else(|| {
        let hint = "Write FIELD=VALUE, such as replicas=4.";
        Failure::usage(format!("{:?} sets no field.", shorten(text)), hint)
    })
}

impl ObjectFlag {
    /// Parses `KIND/NAME`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err(Failure::usage(
                format!("{text:?} is not an object."),
                "Write KIND/NAME, such as Deployment/web.",
            )),
        }
    }

    /// Whether it names this object.
    pub fn matches(&self, object: &ObjectSelector) -> bool {
        self.kind.eq_ignore_ascii_case(&object.kind) && self.name == object.name
    }
}

/// Whether `field`, a path or its last parts, names this path.
pub fn is_field_of(field: &str, path: &str) -> bool {
    let Ok(parsed) = path.parse::<FieldPath>() else { return false };
    if field.starts_with('/') { field == path } else { ends_with(&parsed, field) }
}

/// The path of a value of a chart: `image.tag`, where `\.` is a dot in a key, or `/image/tag`.
pub fn value_path(field: &str) -> Result<FieldPath, Failure> {
    if field.starts_with('/') {
        return parse_path(field);
    }
    let escaped = field.replace("\\.", "\0");
    let keys: Vec<String> = escaped.split('.').map(|key| key.replace('\0', ".")).collect();
    if keys.iter().any(String::is_empty) {
        let hint = "Write the keys with dots between them, such as image.tag.";
        return Err(Failure::usage(format!("{field:?} is not the path of a value."), hint));
    }
    Ok(FieldPath(keys.into_iter().map(PathSegment::Key).collect()))
}

/// The text of values with this one set; comments stay.
pub fn set_value(text: &str, assignment: &Assignment) -> Result<String, Failure> {
    let path = value_path(&assignment.field)?;
    if let Ok(None) = yaml_value::read(text) {
        let nested =
            path.0.iter().rev().try_fold(assignment.value.clone(), |value, segment| match segment {
                PathSegment::Key(key) => Ok(json!({ key: value })),
                PathSegment::Item(_) => Err(Failure::usage(
                    format!("{} is an item of a list, and no list is set yet.", assignment.field),
                    "Set the whole list: LIST='[…]'",
                )),
            })?;
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{line_end}{}", yaml_value::write(&nested)));
    }
    yaml_edit::set(text, 0, &path, &assignment.value).map_err(|error| {
        let message = format!("The value {} can't be set: {error}", assignment.field);
        Failure::new(message, "Edit the values as a whole, in a file or in the console.")
    })
}

/// The object and the path that a field names in a source.
pub fn resolve_field(
    source: &Source,
    field: &str,
    flag: Option<&ObjectFlag>,
) -> Result<(ObjectSelector, FieldPath), Failure> {
    let objects: Vec<(ObjectSelector, Value)> = list_objects(source);
    let is_selected = |object: &ObjectSelector| flag.is_none_or(|flag| flag.matches(object));
    let selected: Vec<&(ObjectSelector, Value)> =
        objects.iter().filter(|(object, _)| is_selected(object)).collect();
    if field.starts_with('/') {
        let path = parse_path(field)?;
        let having = selected.iter().filter(|(_, value)| path.get(value).is_some());
        let having: Vec<&ObjectSelector> = having.map(|(object, _)| object).collect();
        return match (&*having, &*selected, flag) {
            ([one], ..) => Ok(((*one).clone(), path)),
            ([], [(one, _)], _) => Ok((one.clone(), path)),
            // Objects of a chart or a Git repository are known only to the server, which checks the name.
            ([], [], Some(flag)) if objects.is_empty() => {
                let object =
                    ObjectSelector { kind: flag.kind.clone(), name: flag.name.clone(), ..Default::default() };
                Ok((object, path))
            }
            _ => Err(ambiguous_object(field, if having.is_empty() { &objects } else { &[] }, &having)),
        };
    }
    let fields = selected.iter().flat_map(|(object, value)| {
        let mut paths = Vec::new();
        collect_leaves(value, &FieldPath::default(), &mut paths);
        paths.into_iter().map(move |path| (object, path))
    });
    let found: Vec<(&ObjectSelector, FieldPath)> =
        fields.filter(|(_, path)| ends_with(path, field)).collect();
    match &*found {
        [(object, path)] => Ok(((*object).clone(), path.clone())),
        [] => Err(Failure::usage(
            format!("No object of the source has a field {field:?}."),
            "A field that is not set yet needs its path and its object: --object Deployment/web /spec/replicas=4",
        )),
        several => Err(ambiguous_field(field, several)),
    }
}

fn parse_path(field: &str) -> Result<FieldPath, Failure> {
    field.parse().map_err(|error: domain::field_path::InvalidFieldPath| {
        Failure::usage(format!("{error}."), "Write it as /spec/template/spec/containers[name=web]/image.")
    })
}

fn list_objects(source: &Source) -> Vec<(ObjectSelector, Value)> {
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let objects = manifest::parse(source.files()).objects().into_iter();
    let objects = objects.map(|object| {
        let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
        (ObjectSelector { kind, name, namespace: text(&object, "/metadata/namespace") }, object)
    });
    objects.collect()
}

/// Whether the last parts of a path are those of `field`.
fn ends_with(path: &FieldPath, field: &str) -> bool {
    let parts: Vec<&str> = field.split('.').collect();
    let names: Vec<&str> = path.0.iter().map(segment_name).collect();
    names.ends_with(&parts)
}

fn segment_name(segment: &PathSegment) -> &str {
    match segment {
        PathSegment::Key(key) => key,
        PathSegment::Item(conditions) => conditions.first().map_or("", |(_, value)| value),
    }
}

/// The paths of all scalars; an item of a list is addressed by its name if it has one.
pub fn collect_leaves(value: &Value, at: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| collect_leaves(value, &at.with_key(key), found))
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let segment = match item.get("name").and_then(Value::as_str) {
                    Some(name) => PathSegment::item_named(name),
                    None => PathSegment::Key(index.to_string()),
                };
                collect_leaves(item, &at.with_segment(segment), found);
            }
        }
        _ => found.push(at.clone()),
    }
}

fn object_names<'o>(objects: impl Iterator<Item = &'o ObjectSelector>) -> String {
    let mut names: Vec<String> = objects.map(|object| format!("{}/{}", object.kind, object.name)).collect();
    names.dedup();
    names.truncate(MAX_NAMED);
    names.join(", ")
}

fn ambiguous_object(field: &str, objects: &[(ObjectSelector, Value)], having: &[&ObjectSelector]) -> Failure {
    let names = object_names(objects.iter().map(|(object, _)| object).chain(having.iter().copied()));
    let message = match (having.is_empty(), names.is_empty()) {
        (false, _) => format!("Several objects have the field {field}: {names}."),
        (true, false) => format!("No object has the field {field} yet; the objects are {names}."),
        (true, true) => {
            format!("The object of {field} is not known, because the source contains no manifests.")
        }
    };
    Failure::usage(message, "Name the object: --object KIND/NAME")
}

fn ambiguous_field(field: &str, found: &[(&ObjectSelector, FieldPath)]) -> Failure {
    let shown = found.iter().take(MAX_NAMED);
    let shown: Vec<String> =
        shown.map(|(object, path)| format!("{}/{} {path}", object.kind, object.name)).collect();
    let (first, path) = &found[0];
    Failure::usage(
        format!("{field:?} names {} fields: {}.", found.len(), shown.join(", ")),
        format!("Name one of them, such as --object {}/{} {path}=…", first.kind, first.name),
    )
}

#[cfg(test)]
mod tests {
    use domain::workload::SourceFile;
    use serde_json::json;

    use super::*;

    const MANIFESTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template: {spec: {containers: [{name: web, image: a:1}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec: {template: {spec: {containers: [{name: db, image: b:1}]}}}
";

    fn resolve(field: &str, object: Option<&str>) -> Result<String, String> {
        let file = SourceFile { name: "a.yaml".into(), text: MANIFESTS.into() };
        let flag = object.map(|text| ObjectFlag::parse(text).unwrap());
        let found = resolve_field(&Source::Yaml { files: vec![file] }, field, flag.as_ref());
        found.map(|(object, path)| format!("{object} {path}")).map_err(|failure| match failure {
            Failure::Report(report) => format!("{} {}", report.message, report.hint),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn an_assignment_is_split_outside_of_brackets_and_its_value_is_yaml() {
        let parse = |text: &str| Assignment::parse(text).map(|one| (one.field, one.value)).ok();
        assert_eq!(parse("replicas=4"), Some(("replicas".to_owned(), json!(4))));
        assert_eq!(parse("a=\"4\""), Some(("a".to_owned(), json!("4"))));
        assert_eq!(parse("/c[name=web]/x=a=b"), Some(("/c[name=web]/x".to_owned(), json!("a=b"))));
        assert_eq!(parse("a="), Some(("a".to_owned(), json!(""))));
        assert_eq!((parse("a"), parse("=a")), (None, None));
        let text = |text: &str| Assignment::parse_text(text).map(|one| one.value).ok();
        assert_eq!((text("a=4"), text("a=[1"), text("a")), (Some(json!("4")), Some(json!("[1")), None));
    }

    #[test]
    fn r_6_a_value_is_set_in_its_text_and_comments_stay() {
        let set = |text: &str, assignment: &str| {
            set_value(text, &Assignment::parse(assignment).unwrap()).map_err(|failure| format!("{failure:?}"))
        };
        let first = set("", "image.tag=\"1\"").unwrap();
        assert_eq!(yaml_value::read(&first).unwrap(), Some(json!({"image": {"tag": "1"}})), "{first}");
        let values = "# ours\nimage:\n  tag: old # pinned\n";
        let changed = set(values, "image.tag=new").unwrap();
        assert!(changed.starts_with("# ours\n") && changed.contains("tag: new # pinned"), "{changed}");
        assert!(set(values, "replicas=2").unwrap().contains("replicas: 2"));
        assert!(set("", "/list[name=a]/b=1").unwrap_err().contains("no list is set yet"));
    }

    #[test]
    fn the_short_form_names_the_one_field_with_these_last_parts() {
        assert_eq!(resolve("replicas", None).unwrap(), "Deployment web /spec/replicas");
        assert_eq!(
            resolve("db.image", None).unwrap(),
            "Deployment db /spec/template/spec/containers[name=db]/image"
        );
        let several = resolve("image", None).unwrap_err();
        assert!(several.contains("names 2 fields: Deployment/web /spec/"), "{several}");
        assert!(several.contains("--object Deployment/web"), "{several}");
        assert!(resolve("image", Some("deployment/db")).is_ok());
        assert!(resolve("color", None).unwrap_err().contains("No object"));
    }

    #[test]
    fn a_path_needs_the_object_if_no_or_several_objects_have_the_field() {
        assert_eq!(resolve("/spec/replicas", None).unwrap(), "Deployment web /spec/replicas");
        assert!(resolve("/spec/paused", None).unwrap_err().contains("Deployment/web, Deployment/db"));
        assert_eq!(resolve("/spec/paused", Some("Deployment/db")).unwrap(), "Deployment db /spec/paused");
        assert!(resolve("/kind", None).unwrap_err().contains("Several objects"));
    }

    #[test]
    fn a_value_of_a_chart_is_named_with_dots() {
        assert_eq!(value_path("image.tag").unwrap().to_string(), "/image/tag");
        assert_eq!(value_path("a\\.b.c").unwrap().to_string(), "/a.b/c");
        assert!(value_path("a..b").is_err());
    }
}

//! An override as a form: whom it is for, fields that differ, values and patches as YAML. Pure; the same in browser and
//! server.
//!
//! Fields become patches that set one value, addressed by name; values are merged before them, patches done after. An
//! override that does not fit into that order is shown as patches alone, so that saving it changes nothing.

use domain::Finding;
use domain::manifest::plain;
use domain::overrides::{DEFAULT_PRIORITY, ObjectSelector, Override, Patch, PatchOp, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::override_fields::{Field, key, of_key};
use crate::components::words;

#[cfg(test)]
mod tests;

/// One field that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldForm {
    /// Which object and field: [`Field::key`].
    pub key: String,
    /// Its value; empty to leave it as it is.
    pub value: String,
    /// `number`: what is typed is read as YAML, so that 3 is a number.
    pub read: String,
}

/// The form, as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverrideForm {
    /// Its name.
    pub name: String,
    /// Clusters by name, separated by commas or spaces.
    pub clusters: String,
    /// Groups by name.
    pub groups: String,
    /// Labels of clusters; empty for none.
    pub selector: String,
    /// `yes`: every cluster, which in labels is the empty selector.
    pub everywhere: String,
    /// Its strength; empty for the default.
    pub priority: String,
    /// Fields.
    pub fields: Vec<FieldForm>,
    /// Values to merge, as YAML by object: `Deployment/web: {spec: …}`.
    pub values: String,
    /// Patches, as YAML.
    pub patches: String,
}

/// What an override says, read from the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its name.
    pub name: String,
    /// Whom it is for.
    pub target: Target,
    /// Its strength.
    pub priority: u32,
    /// Its changes.
    pub patches: Vec<Patch>,
}

impl OverrideForm {
    /// The form that shows this override, with a row for every field.
    pub fn of(over: &Override, fields: &[Field]) -> Self {
        let target = &over.target;
        let everywhere = target.selector.as_ref().is_some_and(domain::labels::Selector::is_empty);
        let mut form = Self {
            name: over.name.clone(),
            clusters: target.clusters.join(", "),
            groups: target.groups.join(", "),
            selector: target.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            everywhere: if everywhere { "yes".to_owned() } else { String::new() },
            priority: over.priority.to_string(),
            ..Self::blank(fields)
        };
        let plain_form = form.clone();
        form.spread(&over.patches);
        match form.content() {
            Ok(read) if read.patches == over.patches => form,
            _ => Self { patches: in_yaml(&over.patches), ..plain_form },
        }
    }

    /// A new override: a row for every field, nothing in them.
    pub fn blank(fields: &[Field]) -> Self {
        let row = |field: &Field| {
            let is_text = field.base.as_ref().map_or(!field.is_number, Value::is_string);
            let read = if is_text { String::new() } else { "number".to_owned() };
            FieldForm { key: field.key(), value: String::new(), read }
        };
        Self { fields: fields.iter().map(row).collect(), ..Self::default() }
    }

    /// Lays patches out over values, fields and patches.
    fn spread(&mut self, patches: &[Patch]) {
        let mut values = Map::new();
        let mut rest = Vec::new();
        for patch in patches {
            match &patch.op {
                PatchOp::Merge { value } if patch.object.namespace.is_empty() => {
                    values.insert(heading(&patch.object), value.clone());
                }
                PatchOp::Set { path, value }
                    if !value.is_object() && !value.is_array() && !value.is_null() =>
                {
                    match self.row_of(&patch.object, path) {
                        Some(at) => {
                            let row = &mut self.fields[at];
                            // A patch for all of a kind stays one, although there is only this object of it.
                            row.key = key(&patch.object, path);
                            row.value = in_line(value);
                            row.read = if value.is_string() { String::new() } else { "number".to_owned() };
                        }
                        None => rest.push(patch.clone()),
                    }
                }
                _ => rest.push(patch.clone()),
            }
        }
        if !values.is_empty() {
            self.values = plain::write(&Value::Object(values));
        }
        self.patches = in_yaml(&rest);
    }

    /// The only row of this field that is still empty, of the objects that are meant.
    fn row_of(&self, object: &ObjectSelector, path: &str) -> Option<usize> {
        let is = |asked: &str, has: &str| asked.is_empty() || asked == has;
        let fits = |row: &FieldForm| {
            of_key(&row.key).is_some_and(|(of, at)| {
                at == path
                    && of.kind == object.kind
                    && is(&object.name, &of.name)
                    && is(&object.namespace, &of.namespace)
            })
        };
        let mut rows = self.fields.iter().enumerate().filter(|(_, row)| fits(row));
        match (rows.next(), rows.next()) {
            (Some((at, row)), None) if row.value.is_empty() => Some(at),
            _ => None,
        }
    }

    /// Whether nothing is typed that would be lost.
    pub fn is_blank(&self) -> bool {
        let texts = [&self.name, &self.clusters, &self.groups, &self.selector, &self.values, &self.patches];
        texts.iter().all(|text| text.trim().is_empty())
            && self.fields.iter().all(|row| row.value.trim().is_empty())
    }

    /// What it says, or everything that can't be read.
    pub fn content(&self) -> Result<Content, Vec<Finding>> {
        let mut wrong = Vec::new();
        let target = self.read_target(&mut wrong);
        let name = match (self.name.trim(), &target.clusters[..]) {
            ("", [only]) => only.clone(),
            (name, _) => name.to_owned(),
        };
        let priority = match self.priority.trim() {
            "" => DEFAULT_PRIORITY,
            text => text.parse().unwrap_or_else(|_| {
                let message = format!("{text:?} is no priority.");
                wrong.push(Finding::error("G508", message, "Write 0 to 1000.").at("/override/priority"));
                DEFAULT_PRIORITY
            }),
        };
        let mut patches = self.merges(&mut wrong);
        patches.extend(self.sets(&mut wrong));
        patches.extend(self.others(&mut wrong));
        if wrong.is_empty() { Ok(Content { name, target, priority, patches }) } else { Err(wrong) }
    }

    /// Whom it is for, as far as that can be read.
    pub fn target(&self) -> Target {
        self.read_target(&mut Vec::new())
    }

    fn read_target(&self, wrong: &mut Vec<Finding>) -> Target {
        let list = |text: &str| words(text).map(str::to_owned).collect();
        let selector = match (self.everywhere == "yes", self.selector.trim()) {
            (true, _) => Some(domain::labels::Selector::default()),
            (false, "") => None,
            (false, text) => match text.parse() {
                Ok(selector) => Some(selector),
                Err(error) => {
                    let message = domain::labels::BadSelector::to_string(&error);
                    let hint = "Write it as env=prod,region in (eu,us).";
                    wrong.push(Finding::error("G502", message, hint).at("/override/selector"));
                    None
                }
            },
        };
        Target { clusters: list(&self.clusters), groups: list(&self.groups), selector }
    }

    fn merges(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let hint = "Write the fields below the object, such as Deployment/web: {spec: {replicas: 3}}.";
        let mut bad =
            |message: &str| wrong.push(Finding::error("G507", message, hint).at("/override/values"));
        match plain::read(&self.values) {
            Ok(None) => Vec::new(),
            Ok(Some(Value::Object(map))) => map
                .into_iter()
                .map(|(heading, value)| Patch { object: of_heading(&heading), op: PatchOp::Merge { value } })
                .collect(),
            Ok(Some(_)) => {
                bad("Values are a map of objects.");
                Vec::new()
            }
            Err(finding) => {
                bad(&finding.message);
                Vec::new()
            }
        }
    }

    fn sets(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let mut patches = Vec::new();
        for row in self.fields.iter().filter(|row| !row.value.trim().is_empty()) {
            let (Some((object, path)), Some(value)) = (of_key(&row.key), typed(row)) else {
                let path = of_key(&row.key).map(|(_, path)| path).unwrap_or_default();
                let message = format!("{:?} is no number for {path}.", row.value);
                wrong.push(
                    Finding::error("G507", message, "Write a number, or true or false.")
                        .at(format!("/override/fields/{}", row.key)),
                );
                continue;
            };
            patches.push(Patch { object, op: PatchOp::Set { path, value } });
        }
        patches
    }

    fn others(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let hint =
            "Write a list such as - {object: {kind: Deployment}, op: set, path: /spec/replicas, value: 3}.";
        let mut bad =
            |message: String| wrong.push(Finding::error("G507", message, hint).at("/override/patches"));
        let value = match plain::read(&self.patches) {
            Ok(None) => return Vec::new(),
            Ok(Some(value)) => value,
            Err(finding) => {
                bad(finding.message);
                return Vec::new();
            }
        };
        serde_json::from_value(value).unwrap_or_else(|error| {
            bad(format!("These are no patches: {error}."));
            Vec::new()
        })
    }
}

/// The value of a row; `None` if it should be a number and is none. What a template stands for is only known per cluster.
fn typed(row: &FieldForm) -> Option<Value> {
    let text = row.value.trim();
    if row.read != "number" || text.contains("${{") {
        return Some(Value::from(text));
    }
    plain::read(text).ok().flatten().filter(|value| value.is_number() || value.is_boolean())
}

/// A scalar as it stands in a one-line field.
pub fn in_line(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn in_yaml(patches: &[Patch]) -> String {
    match serde_json::to_value(patches) {
        Ok(value) if !patches.is_empty() => plain::write(&value),
        _ => String::new(),
    }
}

/// `Deployment/web`, or `Deployment` for all of that kind.
fn heading(object: &ObjectSelector) -> String {
    if object.name.is_empty() { object.kind.clone() } else { format!("{}/{}", object.kind, object.name) }
}

fn of_heading(text: &str) -> ObjectSelector {
    let (kind, name) = text.split_once('/').unwrap_or((text, ""));
    ObjectSelector { kind: kind.to_owned(), name: name.to_owned(), namespace: String::new() }
}

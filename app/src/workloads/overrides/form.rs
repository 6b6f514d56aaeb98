//! An override as a form: target, fields, values and patches as YAML. Pure; the same in browser and server.
//!
//! Values are merged first, then each field is set, then the patches are applied. An override with its patches in another
//! order is shown as patches only, so that a save does not change it.

use domain::Finding;
use domain::chart::check_values;
use domain::manifest::yaml_value;
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, ObjectSelector, Override, Patch, PatchOp};
use domain::placement::{FACTS_HINT, FactSelector, INVALID_GROUP};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::overridable::{OverridableField, field_key, parse_field_key};
use crate::components::split_words;
use crate::parsing::parse_text;

#[cfg(test)]
mod tests;

/// A row for one field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverrideFieldForm {
    /// Object and path: [`Field::key`].
    pub key: String,
    /// The value; empty for no override.
    pub value: String,
    /// `parse_number` to parse the value as YAML, so that 3 is a number; empty for a string.
    pub value_type: String,
}

/// The input of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverrideForm {
    /// Its name; the selected cluster or group if it is empty, or else the only cluster or group that it names.
    pub name: String,
    /// The selected cluster, which a new override always targets; empty for a stored one.
    pub cluster: String,
    /// The selected group, which a new override always targets; empty for a stored one.
    pub group: String,
    /// Clusters by name, separated by commas or spaces; of a new override those beside the selected one.
    pub clusters: String,
    /// Groups by name; of a new override those beside the selected one.
    pub groups: String,
    /// Labels of clusters; empty for none.
    pub selector: String,
    /// Confirmed facts of clusters; empty for none.
    pub facts: String,
    /// What is typed in the field that adds to the target, and is not added yet.
    pub also: String,
    /// `yes` for every cluster, which is the empty label selector.
    pub everywhere: String,
    /// Its priority; empty for the default.
    pub priority: String,
    /// Fields.
    pub fields: Vec<OverrideFieldForm>,
    /// Values to merge, as YAML by object: `Deployment/web: {spec: …}`.
    pub values: String,
    /// Patches, as YAML.
    pub patches: String,
    /// Values of the chart, as YAML with comments; only for a source of type chart.
    pub chart_values: String,
}

/// The content of an override, parsed from the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideInput {
    /// Its name.
    pub name: String,
    /// Its target.
    pub target: ClusterSelector,
    /// Its priority.
    pub priority: u32,
    /// Its values of the chart, as YAML.
    pub chart_values: String,
    /// Its patches, in the order of their application.
    pub patches: Vec<Patch>,
}

impl OverrideForm {
    /// The form of an override, with a row for every field.
    pub fn from_override(over: &Override, fields: &[OverridableField]) -> Self {
        let target = &over.target;
        let everywhere = target.selector.as_ref().is_some_and(domain::labels::LabelSelector::is_empty);
        let mut form = Self {
            name: over.name.clone(),
            clusters: target.clusters.join(", "),
            groups: target.groups.join(", "),
            selector: target.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            facts: target.field_selector.to_string(),
            everywhere: if everywhere { "yes".to_owned() } else { String::new() },
            priority: over.priority.to_string(),
            chart_values: over.values.clone(),
            ..Self::blank(fields)
        };
        let plain_form = form.clone();
        form.distribute(&over.patches);
        match form.parse() {
            Ok(read) if read.patches == over.patches => form,
            _ => Self { patches: patches_to_yaml(&over.patches), ..plain_form },
        }
    }

    /// The form of a new override, with a blank row for every field.
    pub fn blank(fields: &[OverridableField]) -> Self {
        let row = |field: &OverridableField| {
            let is_text = field.base.as_ref().map_or(!field.is_number, Value::is_string);
            let read = if is_text { String::new() } else { "number".to_owned() };
            OverrideFieldForm { key: field.key(), value: String::new(), value_type: read }
        };
        Self { fields: fields.iter().map(row).collect(), ..Self::default() }
    }

    /// The form with the input of another one, whose rows may be those of another source: a row that this form does not have is left
    /// out, as when it is submitted.
    pub fn with_input(self, typed: Self) -> Self {
        let value = |row: &OverrideFieldForm| {
            typed.fields.iter().find(|other| other.key == row.key).map(|other| other.value.clone())
        };
        let fields = self.fields.into_iter().map(|row| {
            let value = value(&row).unwrap_or_default();
            OverrideFieldForm { value, ..row }
        });
        let fields = fields.collect();
        // The target of a new override is that of its page.
        Self { fields, cluster: self.cluster, group: self.group, ..typed }
    }

    /// Distributes patches over values, fields and patches.
    fn distribute(&mut self, patches: &[Patch]) {
        let mut values = Map::new();
        let mut rest = Vec::new();
        for patch in patches {
            match &patch.op {
                PatchOp::Merge { value } if patch.object.namespace.is_empty() => {
                    values.insert(format_object(&patch.object), value.clone());
                }
                PatchOp::Set { path, value }
                    if !value.is_object() && !value.is_array() && !value.is_null() =>
                {
                    match self.find_row(&patch.object, path) {
                        Some(at) => {
                            let row = &mut self.fields[at];
                            // Keeps the selector of a patch for all objects of a kind, also if there is only one.
                            row.key = field_key(&patch.object, path);
                            row.value = format_scalar(value);
                            row.value_type =
                                if value.is_string() { String::new() } else { "number".to_owned() };
                        }
                        None => rest.push(patch.clone()),
                    }
                }
                _ => rest.push(patch.clone()),
            }
        }
        if !values.is_empty() {
            self.values = yaml_value::write(&Value::Object(values));
        }
        self.patches = patches_to_yaml(&rest);
    }

    /// The index of the row for a field, if exactly one row matches and it is blank.
    fn find_row(&self, object: &ObjectSelector, path: &str) -> Option<usize> {
        let matches = |expected: &str, actual: &str| expected.is_empty() || expected == actual;
        let fits = |row: &OverrideFieldForm| {
            parse_field_key(&row.key).is_some_and(|(of, at)| {
                at == path
                    && of.kind == object.kind
                    && matches(&object.name, &of.name)
                    && matches(&object.namespace, &of.namespace)
            })
        };
        let mut rows = self.fields.iter().enumerate().filter(|(_, row)| fits(row));
        match (rows.next(), rows.next()) {
            (Some((at, row)), None) if row.value.is_empty() => Some(at),
            _ => None,
        }
    }

    /// Whether the form has no input.
    pub fn is_blank(&self) -> bool {
        let texts = [
            &self.name,
            &self.clusters,
            &self.groups,
            &self.selector,
            &self.facts,
            &self.also,
            &self.values,
            &self.patches,
            &self.chart_values,
        ];
        texts.iter().all(|text| text.trim().is_empty())
            && self.fields.iter().all(|row| row.value.trim().is_empty())
    }

    /// Parses the form. Errors: a finding for each field that is invalid.
    pub fn parse(&self) -> Result<OverrideInput, Vec<Finding>> {
        let mut wrong = Vec::new();
        let target = self.parse_target(&mut wrong);
        wrong.extend(self.check_added());
        let name = self.resolve_name(&target);
        let priority = match self.priority.trim() {
            "" => DEFAULT_PRIORITY,
            text => text.parse().unwrap_or_else(|_| {
                let message = format!("{text:?} is not a priority.");
                wrong.push(
                    Finding::error("G508", message, "Write 0 to 1000.").with_path("/override/priority"),
                );
                DEFAULT_PRIORITY
            }),
        };
        let mut patches = self.parse_values(&mut wrong);
        patches.extend(self.parse_fields(&mut wrong));
        patches.extend(self.parse_patches(&mut wrong));
        let chart_values = self.chart_values.replace("\r\n", "\n");
        let found = check_values("The values", &chart_values);
        wrong.extend(found.map(|finding| finding.with_path("/override/chartValues")));
        if wrong.is_empty() {
            Ok(OverrideInput { name, target, priority, chart_values, patches })
        } else {
            Err(wrong)
        }
    }

    /// The name under which it is stored, also of a form with invalid fields; empty if it has none yet.
    pub fn resolved_name(&self) -> String {
        self.resolve_name(&self.target())
    }

    fn resolve_name(&self, target: &ClusterSelector) -> String {
        match (self.name.trim(), &target.clusters[..], &target.groups[..]) {
            ("", ..) if !self.cluster.is_empty() => self.cluster.clone(),
            ("", ..) if !self.group.is_empty() => self.group.clone(),
            ("", [only], _) | ("", [], [only]) => only.clone(),
            (name, ..) => name.to_owned(),
        }
    }

    /// The target, without the parts that are invalid.
    pub fn target(&self) -> ClusterSelector {
        self.parse_target(&mut Vec::new())
    }

    /// What is typed and not added to the target would be lost.
    fn check_added(&self) -> Option<Finding> {
        let also = self.also.trim();
        let message = format!("{also:?} is not a part of the target yet.");
        let hint = "Press Enter in the field to add it, or clear the field.";
        (!also.is_empty()).then(|| Finding::error("G506", message, hint).with_path("/override/also"))
    }

    fn parse_target(&self, wrong: &mut Vec<Finding>) -> ClusterSelector {
        let list = |text: &str| -> Vec<String> { split_words(text).map(str::to_owned).collect() };
        let selector = match (self.everywhere == "yes", self.selector.trim()) {
            (true, _) => Some(domain::labels::LabelSelector::default()),
            (false, "") => None,
            (false, text) => match text.parse() {
                Ok(selector) => Some(selector),
                Err(error) => {
                    let message = domain::labels::InvalidSelector::to_string(&error);
                    let hint = "Write it as env=prod,region in (eu,us).";
                    wrong.push(Finding::error(INVALID_GROUP, message, hint).with_path("/override/selector"));
                    None
                }
            },
        };
        let field_selector = self.facts.parse::<FactSelector>().unwrap_or_else(|error| {
            let finding = Finding::error(INVALID_GROUP, error.to_string(), FACTS_HINT);
            wrong.push(finding.with_path("/override/facts"));
            FactSelector::default()
        });
        // The selected one first.
        let with_selected = |selected: &String, others: &str| -> Vec<String> {
            let mut names = list(others);
            if !selected.is_empty() && !names.contains(selected) {
                names.insert(0, selected.clone());
            }
            names
        };
        let clusters = with_selected(&self.cluster, &self.clusters);
        let groups = with_selected(&self.group, &self.groups);
        ClusterSelector { clusters, groups, selector, field_selector }
    }

    fn parse_values(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let hint = "Write the fields below the object, such as Deployment/web: {spec: {replicas: 3}}.";
        let mut bad =
            |message: &str| wrong.push(Finding::error("G507", message, hint).with_path("/override/values"));
        match parse_text(|| yaml_value::read(&self.values)) {
            Ok(None) => Vec::new(),
            Ok(Some(Value::Object(map))) => map
                .into_iter()
                .map(|(heading, value)| Patch {
                    object: parse_object(&heading),
                    op: PatchOp::Merge { value },
                })
                .collect(),
            Ok(Some(_)) => {
                bad("Values must be a map of objects.");
                Vec::new()
            }
            Err(finding) => {
                bad(&finding.message);
                Vec::new()
            }
        }
    }

    fn parse_fields(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let mut patches = Vec::new();
        for row in self.fields.iter().filter(|row| !row.value.trim().is_empty()) {
            let (Some((object, path)), Some(value)) = (parse_field_key(&row.key), parse_value(row)) else {
                let path = parse_field_key(&row.key).map(|(_, path)| path).unwrap_or_default();
                let message = format!("{:?} is not a number for {path}.", row.value);
                wrong.push(
                    Finding::error("G507", message, "Write a number, or true or false.")
                        .with_path(format!("/override/fields/{}", row.key)),
                );
                continue;
            };
            patches.push(Patch { object, op: PatchOp::Set { path, value } });
        }
        patches
    }

    fn parse_patches(&self, wrong: &mut Vec<Finding>) -> Vec<Patch> {
        let hint =
            "Write a list such as - {object: {kind: Deployment}, op: set, path: /spec/replicas, value: 3}.";
        let mut bad = |message: String| {
            wrong.push(Finding::error("G507", message, hint).with_path("/override/patches"))
        };
        let value = match parse_text(|| yaml_value::read(&self.patches)) {
            Ok(None) => return Vec::new(),
            Ok(Some(value)) => value,
            Err(finding) => {
                bad(finding.message);
                return Vec::new();
            }
        };
        domain::strict_input::parse(&value).unwrap_or_else(|error| {
            bad(format!("The patches are invalid: {error}."));
            Vec::new()
        })
    }
}

/// The value of a row; `None` if it must be a number and is not. Templates stay strings: their values are only known
/// per cluster.
fn parse_value(row: &OverrideFieldForm) -> Option<Value> {
    let text = row.value.trim();
    if row.value_type != "number" || text.contains("${{") {
        return Some(Value::from(text));
    }
    yaml_value::read(text).ok().flatten().filter(|value| value.is_number() || value.is_boolean())
}

/// Formats a scalar for a one-line field.
pub fn format_scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn patches_to_yaml(patches: &[Patch]) -> String {
    match serde_json::to_value(patches) {
        Ok(value) if !patches.is_empty() => yaml_value::write(&value),
        _ => String::new(),
    }
}

/// `Deployment/web`, or `Deployment` for all objects of the kind.
fn format_object(object: &ObjectSelector) -> String {
    if object.name.is_empty() { object.kind.clone() } else { format!("{}/{}", object.kind, object.name) }
}

fn parse_object(text: &str) -> ObjectSelector {
    let (kind, name) = text.split_once('/').unwrap_or((text, ""));
    ObjectSelector { kind: kind.to_owned(), name: name.to_owned(), namespace: String::new() }
}

//! An override as a form: target, fields, values and patches as YAML. Pure; the same in browser and server.
//!
//! Values are merged first, then each field is set, then the patches are applied. An override with its patches in another
//! order is shown as patches only, so that a save does not change it.

use domain::Finding;
use domain::chart::check_values;
use domain::manifest::yaml_value;
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, ObjectSelector, Override, Patch, PatchOp};
use domain::placement::FactSelector;
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
    /// Its name; the selected cluster if it is empty.
    pub name: String,
    /// The selected cluster, which a new override always targets; empty for a stored one.
    pub cluster: String,
    /// Clusters by name, separated by commas or spaces; of a new override those beside the selected one.
    pub clusters: String,
    /// Groups by name.
    pub groups: String,
    /// Labels of clusters; empty for none.
    pub selector: String,
    /// Confirmed facts of clusters; empty for none.
    pub facts: String,
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
        let name = match (self.name.trim(), &target.clusters[..]) {
            ("", _) if !self.cluster.is_empty() => self.cluster.clone(),
            ("", [only]) => only.clone(),
            (name, _) => name.to_owned(),
        };
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

    /// The target, without the parts that are invalid.
    pub fn target(&self) -> ClusterSelector {
        self.parse_target(&mut Vec::new())
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
                    wrong.push(Finding::error("G502", message, hint).with_path("/override/selector"));
                    None
                }
            },
        };
        let field_selector = self.facts.parse::<FactSelector>().unwrap_or_else(|error| {
            let hint = "Write it as provider=aws,region in (eu-1,eu-2).";
            wrong.push(Finding::error("G502", error.to_string(), hint).with_path("/override/facts"));
            FactSelector::default()
        });
        let mut clusters: Vec<String> = list(&self.clusters);
        if !self.cluster.is_empty() && !clusters.contains(&self.cluster) {
            clusters.insert(0, self.cluster.clone());
        }
        ClusterSelector { clusters, groups: list(&self.groups), selector, field_selector }
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

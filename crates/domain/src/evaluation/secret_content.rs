//! What responses contain of secrets, and who reads it: a secret is shown to the roles that may write it, and hidden from those below
//! them. What nobody edits, such as a revision, shows the values of Secrets to nobody.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::evaluation::authorization::UserAction;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::ObjectRef;
use crate::model::chart_envelope::ChartUnwrapping;
use crate::model::cluster::{Cluster, ClusterSummary};
use crate::model::deployment::DeploymentView;
use crate::model::drift::DriftItem;
use crate::model::overrides::Override;
use crate::model::page::Page;
use crate::model::placement::{ClusterGroup, FeatureStatus, GroupView};
use crate::model::policy::Feedback;
use crate::model::project::Project;
use crate::model::release::{DesiredValues, ReleaseDetails, ReleaseView};
use crate::model::report::{DriftedField, ResourceStatus};
use crate::model::role::Role;
use crate::model::source::Source;
use crate::model::values::{EffectiveValues, ValuesLayer};
use crate::model::workload::{Revision, Workload, WorkloadSpec, WorkloadView};
use crate::text::secret_name::is_secret_name;
use crate::text::secret_text::{HIDDEN_VALUE, hide_field};
use crate::text::secret_values::SecretMarks;
use crate::text::yaml_edit::EditBudget;

/// The least role that reads the secrets of drafts in clear text, because it may write them.
pub const fn draft_secrets_role() -> Role {
    UserAction::Edit.required_role()
}

/// Which values of the charts of some sources are secrets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartMarks {
    known: Vec<(String, SecretMarks)>,
    /// Whether charts that are not known have names alone, because the reader may write their values.
    is_editor: bool,
}

impl ChartMarks {
    /// The marks for a role that may write the values of drafts: the names and formats of secrets.
    pub fn for_editor() -> Self {
        Self { known: Vec::new(), is_editor: true }
    }

    /// Adds the marks of the chart of a source.
    pub fn add(&mut self, source: &Source, marks: SecretMarks) {
        if let Some(key) = chart_key(source) {
            self.known.push((key, marks));
        }
    }

    /// The marks for a source. Those of a chart that is not known are unknown, so that its values are hidden.
    pub fn get(&self, source: &Source) -> &SecretMarks {
        let key = chart_key(source);
        match self.known.iter().find(|(known, _)| Some(known) == key.as_ref()) {
            Some((_, marks)) => marks,
            None if self.is_editor || source.is_inline() => &SecretMarks::Names,
            None => &SecretMarks::Unknown,
        }
    }
}

/// The sources with different charts, at most so many of them.
pub fn list_charts(sources: &[&Source], most: usize) -> Vec<Source> {
    let mut keys = BTreeSet::new();
    let is_new = |source: &&&Source| chart_key(source).is_some_and(|key| keys.insert(key));
    sources.iter().filter(is_new).take(most).map(|source| (*source).clone()).collect()
}

/// What names the chart of a source: chart and version, or the digest of its content; `None` without a chart.
fn chart_key(source: &Source) -> Option<String> {
    match source {
        Source::Yaml { .. } => None,
        Source::Chart(chart) => Some(format!("{} {}", chart.chart, chart.version)),
        Source::Git(source) | Source::Oci(source) => {
            source.pinned.as_ref().map(|pinned| pinned.digest.to_string())
        }
    }
}

/// Content of a response with secrets in it.
pub trait SecretContent {
    /// The sources whose charts say which of their values are secrets.
    fn sources(&self) -> Vec<&Source> {
        Vec::new()
    }

    /// Hides the secrets that a role may not write.
    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks);
}

fn hide_spec(spec: &mut WorkloadSpec, marks: &ChartMarks) {
    let marks = marks.get(&spec.source);
    spec.hide_secrets(marks);
}

impl SecretContent for Workload {
    fn sources(&self) -> Vec<&Source> {
        vec![&self.draft.source]
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        if role < draft_secrets_role() {
            hide_spec(&mut self.draft, marks);
        }
    }
}

impl SecretContent for Revision {
    fn sources(&self) -> Vec<&Source> {
        vec![&self.spec.source]
    }

    /// A revision is never edited, so the values of its Secrets are shown to nobody.
    fn hide_secrets(&mut self, _: Role, marks: &ChartMarks) {
        hide_spec(&mut self.spec, marks);
    }
}

impl SecretContent for WorkloadView {
    fn sources(&self) -> Vec<&Source> {
        let revision = self.published_revision.iter().flat_map(|revision| revision.sources());
        self.workload.sources().into_iter().chain(revision).collect()
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.workload.hide_secrets(role, marks);
        self.published_revision.iter_mut().for_each(|revision| revision.hide_secrets(role, marks));
    }
}

impl SecretContent for ChartUnwrapping {
    /// The version of the chart need not be known yet, so no chart says which values are secrets: all are hidden.
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        if role >= draft_secrets_role() {
            return;
        }
        if let Some(chart) = &mut self.chart {
            chart.values = SecretMarks::Unknown.hide_in_text(&chart.values);
        }
        match &mut self.source {
            Some(Source::Chart(chart)) => chart.values = SecretMarks::Unknown.hide_in_text(&chart.values),
            Some(Source::Git(source) | Source::Oci(source)) => {
                source.values = SecretMarks::Unknown.hide_in_text(&source.values);
            }
            Some(Source::Yaml { .. }) | None => {}
        }
    }
}

/// Overrides of a draft, with its source.
impl SecretContent for (Source, Vec<Override>) {
    fn sources(&self) -> Vec<&Source> {
        vec![&self.0]
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        if role < draft_secrets_role() {
            let marks = marks.get(&self.0);
            let mut budget = EditBudget::default();
            self.1.iter_mut().for_each(|over| over.hide_secrets(marks, &mut budget));
        }
    }
}

/// The effective values of a workload, with its source.
impl SecretContent for (Source, EffectiveValues) {
    fn sources(&self) -> Vec<&Source> {
        vec![&self.0]
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        let marks = marks.get(&self.0);
        let EffectiveValues { values, provenance, .. } = &mut self.1;
        if role < draft_secrets_role() {
            marks.hide_in_value(values);
        }
        for leaf in provenance {
            for (at, setting) in leaf.settings.iter_mut().enumerate() {
                let is_hidden =
                    role < writing_role(&setting.layer) && marks.is_secret_path(&leaf.path, &setting.value);
                if is_hidden {
                    setting.value = HIDDEN_VALUE.into();
                }
                // The first setting is the effective one.
                if is_hidden
                    && at == 0
                    && let Some(effective) = values.pointer_mut(&leaf.path)
                {
                    *effective = HIDDEN_VALUE.into();
                }
            }
        }
    }
}

/// The least role that may write a layer of values. The defaults of a chart are in the chart, which everybody reads.
fn writing_role(layer: &ValuesLayer) -> Role {
    match layer {
        ValuesLayer::ChartDefault => Role::Viewer,
        ValuesLayer::LockedByGroup { .. } => UserAction::ChangeGroups.required_role(),
        ValuesLayer::LockedByProject { .. } => UserAction::ManageProject.required_role(),
        ValuesLayer::Common | ValuesLayer::Override { .. } => draft_secrets_role(),
    }
}

/// A deployment, with the source of its workload.
impl SecretContent for (Source, DeploymentView) {
    fn sources(&self) -> Vec<&Source> {
        vec![&self.0]
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        if role < draft_secrets_role() {
            let marks = marks.get(&self.0);
            marks.hide_in_map(&mut self.1.values);
            self.1.value_overrides.values_mut().for_each(|values| marks.hide_in_map(values));
        }
    }
}

impl SecretContent for Project {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        if role < UserAction::ManageProject.required_role() {
            self.locked_values = SecretMarks::Names.hide_in_text(&self.locked_values);
        }
    }
}

impl SecretContent for ClusterGroup {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        if role < UserAction::ChangeGroups.required_role() {
            self.locked_values = SecretMarks::Names.hide_in_text(&self.locked_values);
            self.features.iter_mut().for_each(|one| SecretMarks::Names.hide_in_map(&mut one.properties));
        }
    }
}

impl SecretContent for FeatureStatus {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        if role < UserAction::ChangeGroups.required_role() {
            SecretMarks::Names.hide_in_map(&mut self.feature.properties);
        }
    }
}

impl SecretContent for GroupView {
    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.group.hide_secrets(role, marks);
    }
}

impl SecretContent for Cluster {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        if role < UserAction::EditCluster.required_role() {
            SecretMarks::Names.hide_in_map(&mut self.values);
        }
    }
}

impl SecretContent for ClusterSummary {
    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.cluster.hide_secrets(role, marks);
    }
}

impl SecretContent for DriftItem {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        let hides_named = role < draft_secrets_role();
        for field in &mut self.fields {
            for value in [&mut field.applied, &mut field.live, &mut field.desired].into_iter().flatten() {
                hide_live_value(&self.object, &field.path, hides_named, value);
            }
        }
        if hides_named {
            // A short secret could be found by trying values until their digest is this one. Only a decision needs it.
            self.digest = Digest::compute(&serde_json::to_vec(&self.fields).unwrap_or_default());
        }
    }
}

impl SecretContent for ReleaseView {
    fn hide_secrets(&mut self, role: Role, _: &ChartMarks) {
        self.resources.iter_mut().for_each(|resource| hide_in_resource(resource, role));
    }
}

impl SecretContent for ReleaseDetails {
    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.view.hide_secrets(role, marks);
        let DesiredValues::Other(desired) = &mut self.desired_values else { return };
        for field in desired {
            if let Some(value) = &mut field.value {
                hide_live_value(&field.object, &field.path, role < draft_secrets_role(), value);
            }
        }
    }
}

fn hide_in_resource(resource: &mut ResourceStatus, role: Role) {
    let hides_named = role < draft_secrets_role();
    hide_drifted_fields(&resource.object, &mut resource.drifted_fields, hides_named);
    hide_feedback(&resource.object, &mut resource.feedback, hides_named);
}

/// The same in the reported values of an object: an agent of an earlier version reports values of Secrets.
pub(crate) fn hide_feedback(object: &ObjectRef, feedback: &mut [Feedback], hides_named: bool) {
    for one in feedback.iter_mut().filter(|one| !one.value.is_null()) {
        hide_live_value(object, &one.name, hides_named, &mut one.value);
    }
}

/// Hides what a cluster reports of secrets in fields of an object. `hides_named` is whether those that have only the name of a secret are
/// hidden too, as they are from whoever may not write them.
pub fn hide_drifted_fields(object: &ObjectRef, fields: &mut [DriftedField], hides_named: bool) {
    for field in fields {
        for value in [&mut field.applied, &mut field.live].into_iter().flatten() {
            hide_live_value(object, &field.path, hides_named, value);
        }
    }
}

/// What a cluster reports of a Secret, or of one that stands in another object, is hidden from everybody; other values of fields with the
/// name of a secret, such as the password in a ConfigMap, from those who may not write them.
fn hide_live_value(object: &ObjectRef, path: &str, hides_named: bool, value: &mut Value) {
    // Whatever its group: one that is wrong makes a value no less a secret.
    if object.kind == "Secret" || hides_named && names_secret(path) {
        *value = HIDDEN_VALUE.into();
        return;
    }
    // The manifest of a Secret in it: an agent of an earlier version reports it.
    hide_field(path.contains("stringData"), path, value);
    if hides_named {
        hide_named(value);
    }
}

/// Whether a part of a path is the name of a secret: a key, or the name of an item such as `env[name=DB_PASSWORD]`.
fn names_secret(path: &str) -> bool {
    path.split(['/', '[', ']', '=']).any(is_secret_name)
}

/// Hides what has the name of a secret within a value.
fn hide_named(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_named = fields.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
            for (key, field) in fields.iter_mut() {
                if is_secret_name(key) || (is_named && key == "value") {
                    *field = HIDDEN_VALUE.into();
                } else {
                    hide_named(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_named),
        _ => {}
    }
}

impl<T: SecretContent> SecretContent for Vec<T> {
    fn sources(&self) -> Vec<&Source> {
        self.iter().flat_map(|item| item.sources()).collect()
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.iter_mut().for_each(|item| item.hide_secrets(role, marks));
    }
}

impl<T: SecretContent> SecretContent for Page<T> {
    fn sources(&self) -> Vec<&Source> {
        self.items.sources()
    }

    fn hide_secrets(&mut self, role: Role, marks: &ChartMarks) {
        self.items.hide_secrets(role, marks);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chart::ChartSource;
    use crate::model::values::{ValueProvenance, ValueSetting};

    fn chart(values: &str) -> Source {
        let source =
            ChartSource { chart: "local/web".into(), version: "1.0.0".into(), ..ChartSource::default() };
        Source::Chart(ChartSource { values: values.to_owned(), ..source })
    }

    #[test]
    fn the_values_of_a_chart_that_is_not_known_are_hidden_from_those_who_may_not_write_them() {
        let marks = ChartMarks::default();
        assert_eq!(marks.get(&chart("")), &SecretMarks::Unknown);
        assert_eq!(marks.get(&Source::default()), &SecretMarks::Names);
        let mut known = ChartMarks::default();
        known.add(&chart(""), SecretMarks::Names);
        assert_eq!(list_charts(&[&chart(""), &Source::default(), &chart("a: 1\n")], 4), [chart("")]);
        assert_eq!(known.get(&chart("a: 1\n")), &SecretMarks::Names);
        assert_eq!(ChartMarks::for_editor().get(&chart("")), &SecretMarks::Names);
    }

    #[test]
    fn locked_values_are_shown_to_the_roles_that_may_lock_them() {
        let group = ClusterGroup { locked_values: "password: hunter2\n".into(), ..ClusterGroup::default() };
        for role in Role::ALL {
            let mut shown = group.clone();
            shown.hide_secrets(*role, &ChartMarks::default());
            assert_eq!(shown == group, *role >= Role::Publisher, "{role}");
        }
    }

    #[test]
    fn an_effective_value_is_shown_to_the_roles_that_may_write_its_layer() {
        let setting = |layer: ValuesLayer, value: &str| ValueSetting { layer, value: json!(value) };
        let locked = ValuesLayer::LockedByProject { project: "default".into() };
        let settings = vec![setting(locked, "hunter2"), setting(ValuesLayer::Common, "swordfish")];
        let path = "/db/password".to_owned();
        let effective = EffectiveValues {
            cluster: "eu-1".into(),
            values: json!({"db": {"password": "hunter2", "host": "db"}}),
            provenance: vec![ValueProvenance { path, settings }],
        };
        for role in Role::ALL {
            let mut shown = (chart(""), effective.clone());
            shown.hide_secrets(*role, &ChartMarks::for_editor());
            let text = serde_json::to_string(&shown.1).unwrap();
            assert_eq!(text.contains("hunter2"), *role == Role::Admin, "{role}: {text}");
            assert_eq!(text.contains("swordfish"), *role >= Role::Editor, "{role}: {text}");
            assert!(text.contains("\"host\":\"db\""), "{text}");
        }
    }

    #[test]
    fn feedback_of_a_secret_that_an_earlier_agent_reports_is_shown_to_nobody() {
        let feedback =
            |name: &str| Feedback { name: name.into(), value: json!("hunter2"), ..Feedback::default() };
        let resource = |kind: &str| ResourceStatus {
            object: ObjectRef { kind: kind.into(), ..ObjectRef::default() },
            feedback: vec![feedback("value"), feedback("dbPassword")],
            ..ResourceStatus::default()
        };
        for role in Role::ALL {
            let hidden = |kind: &str| {
                let mut shown = resource(kind);
                hide_in_resource(&mut shown, *role);
                shown.feedback.iter().filter(|one| one.value == HIDDEN_VALUE).count()
            };
            let of_settings = usize::from(*role < Role::Editor);
            assert_eq!((hidden("Secret"), hidden("ConfigMap")), (2, of_settings), "{role}");
        }
    }
}

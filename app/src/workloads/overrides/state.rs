//! The state of the overrides editor. The browser merges with the same functions as the server.

use std::collections::{BTreeMap, BTreeSet};

use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::overrides::{ClusterSelector, Override, OverrideResult, apply_overrides, check, check_targets};
use domain::placement::decide;
use domain::project::Project;
use domain::remote::RemoteSource;
use domain::values::{ValueProvenance, trace_values};
use domain::workload::{Workload, WorkloadSpec};
use domain::{Finding, OverrideId, manifest};
use leptos::prelude::*;
use serde_json::Value;

use super::actions::{OverrideSave, OverridesData};
use super::form::{OverrideForm, OverrideInput};
use super::overridable::{OverridableField, list_fields};
use crate::address::use_tab_query;
use crate::parsing::parse_text;
use crate::workloads::form_page::open_left_form;
use crate::workloads::placement::candidates::Fleet;
use crate::workloads::placement::fleet_values::FleetValues;

/// The values of a chart with the layers that set them, or why they can't be listed.
pub type TracedValues = Result<Vec<ValueProvenance>, Box<Finding>>;

/// The state that the parts of the editor share.
#[derive(Clone, Copy)]
pub struct EditorState {
    /// The workload with its stored draft.
    pub workload: StoredValue<Workload>,
    /// The revision of the draft that the next change is based on.
    pub base_revision: Memo<i64>,
    /// The clusters and groups that an override can target.
    pub fleet: StoredValue<Fleet>,
    /// The labels and facts of those clusters.
    pub fleet_values: StoredValue<FleetValues>,
    /// The project, which may lock values of charts.
    pub project: StoredValue<Project>,
    /// The objects of the source.
    pub objects: StoredValue<Vec<Value>>,
    /// The fields of the source that have an input.
    pub fields: StoredValue<Vec<OverridableField>>,
    /// The input of the form.
    pub form: RwSignal<OverrideForm>,
    /// The text of the field that adds to the target.
    pub search: RwSignal<String>,
    /// The parsed form, or the findings about its invalid fields.
    pub input: Memo<Result<OverrideInput, Vec<Finding>>>,
    /// The name of the edited override; empty for a new one.
    pub edited_name: StoredValue<String>,
    /// The overrides, including the current input of the form.
    pub overrides: Memo<Vec<Override>>,
    /// The cluster whose values are shown.
    pub cluster: Memo<Option<Cluster>>,
    /// The name of the cluster that a new override targets: the shown one until something is typed; empty for a stored override.
    pub target_cluster: Memo<String>,
    /// The name of the group that a new override targets; empty for any other.
    pub target_group: StoredValue<String>,
    /// The effective objects of that cluster.
    pub effective: Memo<OverrideResult>,
    /// The values of the chart on that cluster; `None` without a chart.
    pub values: Memo<Option<TracedValues>>,
    /// Names of the clusters that the draft's placement selects.
    pub selected: StoredValue<Vec<String>>,
}

/// What the address of the page selects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OverrideAddress {
    /// The name of an override; empty for the one of the selected cluster.
    pub name: String,
    /// Whether a new override without a target is edited, whatever the selected cluster has.
    pub is_new: bool,
    /// The selected group; empty if there is none, and for an override by its name.
    pub group: String,
}

/// The state for the override that the address names, or the own one of the selected group or cluster; a new one if there is none.
pub fn create_state(data: &OverridesData, at: &OverrideAddress, base_revision: Memo<i64>) -> EditorState {
    let fleet = data.candidates.clone().into_fleet();
    let draft = &data.workload.draft;
    let objects = parse_text(|| manifest::parse(draft.source.files()).objects());
    let known = list_fields(&objects);
    let decision = decide(&draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let selected: Vec<String> = decision.selected().map(|evaluation| evaluation.name.clone()).collect();
    let query = use_tab_query();
    let requested = query.read_untracked().get("cluster").unwrap_or_default();
    let edited = find_edited(&draft.overrides, at, || {
        shown_cluster(&requested, &ClusterSelector::default(), &fleet, &selected)
    });
    let (begin, search) = begin_form(edited, &at.group, &known);
    let group = begin.group.clone();
    let name = edited.map(|over| over.name.clone()).unwrap_or_default();
    let (form, search) = (RwSignal::new(begin), RwSignal::new(search));
    let fleet_values = StoredValue::new(FleetValues::count(&fleet));
    let (workload, fleet) = (StoredValue::new(data.workload.clone()), StoredValue::new(fleet));
    let (objects, selected) = (StoredValue::new(objects), StoredValue::new(selected));
    let project = StoredValue::new(data.project.clone());
    let edited = StoredValue::new(name);
    let has_default_target = edited.with_value(String::is_empty) && !at.is_new && group.is_empty();
    let target = Memo::new(move |_| form.with(OverrideForm::target));
    let cluster = Memo::new(move |_| {
        let requested = query.read().get("cluster").unwrap_or_default();
        target.with(|target| {
            fleet.with_value(|fleet| {
                selected.with_value(|selected| shown_cluster(&requested, target, fleet, selected))
            })
        })
    });
    let target_cluster = Memo::new(move |former: Option<&String>| match former {
        _ if !has_default_target => String::new(),
        // What was typed for one cluster does not move to another one that is looked at.
        Some(former) if !former.is_empty() && !form.with(OverrideForm::is_blank) => former.clone(),
        _ => cluster.with(|cluster| cluster.as_ref().map(|one| one.name.clone())).unwrap_or_default(),
    });
    let input = Memo::new(move |_| {
        let cluster = target_cluster.get();
        form.with(|form| OverrideForm { cluster, ..form.clone() }.parse())
    });
    let overrides = Memo::new(move |_| {
        let input = input.get().ok().filter(|_| form.with(|form| !form.is_blank()));
        workload.with_value(|all| with_input(&all.draft.overrides, input))
    });
    let effective = Memo::new(move |_| match cluster.get() {
        Some(cluster) => {
            overrides.with(|overrides| merge_for_cluster(overrides, &cluster, (objects, workload), fleet))
        }
        None => OverrideResult::default(),
    });
    let values = Memo::new(move |_| {
        let cluster = cluster.get()?;
        let workload = workload.get_value();
        overrides.with(|overrides| trace_chart_values(&workload, overrides, &cluster, (fleet, project)))
    });
    let fields = StoredValue::new(known);
    EditorState {
        workload,
        base_revision,
        fleet,
        fleet_values,
        project,
        objects,
        fields,
        form,
        search,
        input,
        edited_name: edited,
        overrides,
        cluster,
        target_cluster,
        target_group: StoredValue::new(group),
        effective,
        values,
        selected,
    }
}

/// The override that the address names, or the own one of the selected group, or else of the shown cluster.
fn find_edited<'a>(
    overrides: &'a [Override],
    at: &OverrideAddress,
    shown: impl FnOnce() -> Option<Cluster>,
) -> Option<&'a Override> {
    match at.name.as_str() {
        "" if at.is_new => None,
        "" if !at.group.is_empty() => find_group_override(overrides, &at.group),
        "" => shown().and_then(|cluster| find_own_override(overrides, &cluster.name)),
        name => overrides.iter().find(|over| over.name == name),
    }
}

/// The input of the form, and the text of the field that adds to the target: only a submission contains it.
fn begin_form(edited: Option<&Override>, group: &str, known: &[OverridableField]) -> (OverrideForm, String) {
    let mut form = restore_typed_input(match edited {
        Some(over) => OverrideForm::from_override(over, known),
        None => OverrideForm { group: group.to_owned(), ..OverrideForm::blank(known) },
    });
    let search = std::mem::take(&mut form.also);
    (form, search)
}

/// The form with the input with which its page was left before it was stored.
fn restore_typed_input(begin: OverrideForm) -> OverrideForm {
    match open_left_form::<OverrideSave>() {
        Some(typed) => begin.with_input(typed.form),
        None => begin,
    }
}

/// The values of the chart on a cluster as they are written, without the defaults of the chart, below those that groups and the project
/// lock; `None` if the source is no chart.
pub fn trace_chart_values(
    workload: &Workload,
    overrides: &[Override],
    cluster: &Cluster,
    (fleet, project): (StoredValue<Fleet>, StoredValue<Project>),
) -> Option<TracedValues> {
    let of_git =
        workload.draft.source.remote().filter(|source| source.is_chart()).map(RemoteSource::to_chart_source);
    let source = workload.draft.source.chart().or(of_git.as_ref())?;
    let spec = WorkloadSpec { overrides: overrides.to_vec(), ..WorkloadSpec::default() };
    let project = project.get_value();
    let layers = fleet.with_value(|fleet| {
        let (groups, targets, installed) = (fleet.groups.as_slice(), &[], &BTreeMap::new());
        let release = ChartRelease {
            workload: &workload.name,
            revision: 0,
            spec: &spec,
            source,
            groups,
            project: Some(&project),
            targets,
            installed,
        };
        release.written_layers(cluster)
    });
    Some(trace_values(&layers))
}

/// The stored override that the selection of this cluster edits: the one with its name, or the first one that targets only it.
pub fn find_own_override<'a>(overrides: &'a [Override], cluster: &str) -> Option<&'a Override> {
    let is_only = |over: &&Override| {
        let target = &over.target;
        target.clusters == [cluster] && target.groups.is_empty() && !target.has_selector()
    };
    overrides.iter().find(|over| over.name == cluster).or_else(|| overrides.iter().find(is_only))
}

/// The stored override that the selection of this group edits: the first one that targets only it, or the one with its name, which a new
/// one would replace.
pub fn find_group_override<'a>(overrides: &'a [Override], group: &str) -> Option<&'a Override> {
    let is_only = |over: &&Override| {
        let target = &over.target;
        target.groups == [group] && target.clusters.is_empty() && !target.has_selector()
    };
    overrides.iter().find(is_only).or_else(|| overrides.iter().find(|over| over.name == group))
}

/// The requested cluster, or else the first selected one that the form targets, or the first selected one, or the first.
fn shown_cluster(
    requested: &str,
    target: &ClusterSelector,
    fleet: &Fleet,
    selected: &[String],
) -> Option<Cluster> {
    let find = |name: &str| fleet.clusters.iter().find(|cluster| cluster.name == name);
    let names: BTreeSet<&str> = selected.iter().map(String::as_str).collect();
    let is_targeted = |cluster: &&Cluster| {
        names.contains(&*cluster.name) && target.specificity(cluster, &fleet.groups).is_some()
    };
    let meant = fleet.clusters.iter().find(is_targeted);
    let first = selected.first().and_then(|name| find(name));
    find(requested).or(meant).or(first).or(fleet.clusters.first()).cloned()
}

/// Applies overrides to the objects of the source, for one cluster.
pub fn merge_for_cluster(
    overrides: &[Override],
    cluster: &Cluster,
    (objects, workload): (StoredValue<Vec<Value>>, StoredValue<Workload>),
    fleet: StoredValue<Fleet>,
) -> OverrideResult {
    let namespace = workload.with_value(|workload| workload.draft.namespace.clone());
    objects.with_value(|objects| {
        fleet.with_value(|fleet| apply_overrides(objects, overrides, cluster, &fleet.groups, &namespace))
    })
}

/// The stored overrides with the input of the form: it replaces the override of the same name, or is appended. `input` is
/// `None` while the form is invalid or blank.
fn with_input(stored: &[Override], input: Option<OverrideInput>) -> Vec<Override> {
    let mut all = stored.to_vec();
    let Some(read) = input else { return all };
    let at = all.iter().position(|over| over.name == read.name);
    let id = at.map_or_else(|| OverrideId::from_parts(0, 0), |at| all[at].id);
    let edited = Override {
        id,
        name: read.name,
        target: read.target,
        priority: read.priority,
        values: read.chart_values,
        patches: read.patches,
    };
    match at {
        Some(at) => all[at] = edited,
        None => all.push(edited),
    }
    all
}

/// Findings about the overrides: invalid fields, syntax, targets, and effects on the shown cluster.
pub fn findings(state: EditorState) -> Vec<Finding> {
    let mut findings = state.input.with(|input| input.clone().err().unwrap_or_default());
    let overrides = state.overrides.get();
    findings.extend(check(&overrides));
    let reached = state.fleet.with_value(|fleet| {
        let selected: Vec<domain::ClusterId> = state.selected.with_value(|names| {
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let is_selected = |cluster: &&Cluster| names.contains(cluster.name.as_str());
            fleet.clusters.iter().filter(is_selected).map(|cluster| cluster.id).collect()
        });
        check_targets(&overrides, &fleet.clusters, &selected, &fleet.groups)
    });
    findings.extend(reached);
    findings.extend(state.effective.with(|effective| effective.findings.clone()));
    domain::finding::sort_findings(&mut findings);
    findings
}

//! The planned changes, grouped by identical changes; each group shows its objects and fields. Signs carry the meaning, so the
//! diff is readable without colour.

use std::collections::{BTreeMap, BTreeSet};

use domain::plan::{
    ChangeCounts, ClusterPlan, ClusterPlanGroup, CreatedManifest, Distinction, DryRunState, FieldChange,
    FieldValue, HIDDEN_VALUE, PlannedAction, PlannedChange, TargetChange,
};
use leptos::prelude::*;
use leptos::web_sys::{Element, Event};
use serde_json::Value;

use super::review::{ChangeGroup, PlanView};
use crate::components::{StatusStyle, icon, join_names, pluralize};

/// Most cluster names in the head of a group.
const NAMES_MAX: usize = 4;

/// What the user opened or closed. The review is rendered again with every answer of a cluster, and starts with some parts open.
#[derive(Clone, Copy, Default)]
pub struct ToggledParts(StoredValue<BTreeSet<String>>);

impl ToggledParts {
    /// Whether the part is open, which `is_open` says until it is toggled.
    pub fn is_open(self, part: &str, is_open: bool) -> bool {
        is_open != self.0.with_value(|toggled| toggled.contains(part))
    }

    /// Stores whether the part is open now.
    pub fn record(self, part: &str, is_open: bool, event: &Event) {
        let is_toggled = event_target::<Element>(event).has_attribute("open") != is_open;
        self.0.update_value(|toggled| {
            if is_toggled {
                toggled.insert(part.to_owned());
            } else {
                toggled.remove(part);
            }
        });
    }
}

/// The section with all groups.
#[component]
pub fn PlannedChanges(plan: PlanView, toggled: ToggledParts) -> impl IntoView {
    let clusters =
        u32::try_from(plan.groups.iter().map(|group| group.count).sum::<usize>()).unwrap_or(u32::MAX);
    let kinds = plan.groups.iter().filter(|one| is_change(&one.group)).count();
    let kinds = match u32::try_from(kinds).unwrap_or(u32::MAX) {
        0 => "no change".to_owned(),
        kinds => format!("{} of change", pluralize(kinds, "kind")),
    };
    let needs_confirmation = plan.blast_radius.confirmation().is_some();
    let groups = plan
        .groups
        .into_iter()
        .enumerate()
        .map(|(at, changed)| change_group(changed, at == 0, needs_confirmation, toggled));
    view! {
        <section class="stack-sm" aria-labelledby="changes">
            <div class="flex flex-wrap items-baseline justify-between gap-x-4">
                <h2 class="section" id="changes">
                    "Changes "
                    <span class="meta font-normal">{format!("{}, {kinds}", pluralize(clusters, "cluster"))}</span>
                </h2>
                <p class="meta">"+ create  ~ change  − delete"</p>
            </div>
            {plan.no_op_message.map(|nothing| view! { <p class="text-2">{nothing}</p> })}
            <div>{groups.collect_view()}</div>
        </section>
    }
    .into_any()
}

/// A group. `needs_confirmation`: whether removals in this plan have to be confirmed.
fn change_group(
    changed: ChangeGroup,
    is_open: bool,
    needs_confirmation: bool,
    toggled: ToggledParts,
) -> impl IntoView {
    let ChangeGroup { group, count, plan: effect, manifests } = changed;
    let state = match group.change {
        TargetChange::Remove if needs_confirmation => {
            let look = StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-loud" };
            look.with_label("Needs confirmation").into_any()
        }
        _ => dry_run_label(&group.dry_run, group.counts),
    };
    let head = pluralize(u32::try_from(count).unwrap_or(u32::MAX), "cluster");
    let what = match (&group.dry_run, group.change) {
        (_, TargetChange::Remove) => "lose the workload",
        (DryRunState::NotRendered { .. }, _) => "can't be planned",
        _ if group.cluster_plan.is_none() => "changes not known",
        _ if group.counts.rejected > 0 => "rejected",
        _ if is_unchanged(group.counts) => "unchanged",
        _ if count > 1 => "identical change",
        _ => "",
    };
    let names = join_names(&group.clusters, count, NAMES_MAX);
    let why = match &group.dry_run {
        DryRunState::NotRequested { message: why } | DryRunState::NotRendered { message: why } => {
            Some(why.clone())
        }
        DryRunState::Requested | DryRunState::Answered => None,
    };
    let all = (count > NAMES_MAX).then(|| join_names(&group.clusters, count, group.clusters.len()));
    let part = group.clusters.first().cloned().unwrap_or_default();
    let open = toggled.is_open(&part, is_open);
    view! {
        <details class="fold change" open=open on:toggle=move |event| toggled.record(&part, is_open, &event)>
            <summary>
                <span class="change-head">
                    <span>{head} " " <span class="text-3">{what}</span></span>
                    <span class="name text-2 truncate">{names}</span>
                    <span class="mono change-counts" aria-label=describe_counts(group.counts)>{format_counts(group.counts)}</span>
                    <span class="change-state">{state}</span>
                </span>
            </summary>
            <div class="stack-sm pb-4">
                {why.map(|why| view! { <p class="text-2">{why}</p> })}
                {all.map(|all| view! { <p class="meta">{all}</p> })}
                {match effect {
                    Some(effect) => view! {
                        {not_validated(&effect)}
                        {changed_objects(&effect, &group.distinctions, &manifests)}
                    }
                    .into_any(),
                    None if group.counts == ChangeCounts::default() => ().into_any(),
                    None => view! { <p class="text-2">"Too many different changes to show all of them; flotilla diff lists them."</p> }.into_any(),
                }}
            </div>
        </details>
    }
}

/// Whether the clusters of the group change, or may change because that is not known.
fn is_change(group: &ClusterPlanGroup) -> bool {
    group.change == TargetChange::Remove || !is_unchanged(group.counts)
}

fn is_unchanged(counts: ChangeCounts) -> bool {
    counts.create + counts.change + counts.replace + counts.delete + counts.orphan == 0
        && counts.unchanged > 0
}

fn format_counts(counts: ChangeCounts) -> String {
    let replaced = if counts.replace > 0 { format!(" −/+{}", counts.replace) } else { String::new() };
    format!("+{} ~{} −{}{replaced}", counts.create, counts.change, counts.delete)
}

fn describe_counts(counts: ChangeCounts) -> String {
    let mut text = format!("{} created, {} changed, {} deleted", counts.create, counts.change, counts.delete);
    if counts.replace > 0 {
        text.push_str(&format!(", {} replaced", counts.replace));
    }
    if counts.orphan > 0 {
        text.push_str(&format!(", {} orphaned", counts.orphan));
    }
    text
}

fn dry_run_label(state: &DryRunState, counts: ChangeCounts) -> AnyView {
    let (look, word) = match state {
        DryRunState::Answered if counts.rejected > 0 => {
            (StatusStyle { icon: "error", hue: "hue-degraded", emphasis: "state-loud" }, "Rejected")
        }
        DryRunState::Answered if counts.unverified > 0 => {
            (StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }, "Partly validated")
        }
        DryRunState::Answered => {
            (StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }, "Accepted")
        }
        DryRunState::Requested => {
            (StatusStyle { icon: "queued", hue: "hue-progressing", emphasis: "state-quiet" }, "Waiting")
        }
        DryRunState::NotRequested { .. } => {
            (StatusStyle { icon: "offline", hue: "hue-unknown", emphasis: "state-quiet" }, "Not validated")
        }
        DryRunState::NotRendered { .. } => {
            (StatusStyle { icon: "blocked", hue: "hue-drifted", emphasis: "state-loud" }, "Not planned")
        }
    };
    look.with_label(word).into_any()
}

/// The changed objects of one cluster plan, with their fields; of a new object those that distinguish it from other groups.
pub fn changed_objects(
    effect: &ClusterPlan,
    distinctions: &[Distinction],
    manifests: &[CreatedManifest],
) -> impl IntoView + use<> {
    let changed: Vec<&PlannedChange> =
        effect.objects.iter().filter(|one| one.action != PlannedAction::Unchanged).collect();
    let same = effect.objects.len() - changed.len();
    let same = (same > 0).then(|| {
        let same = pluralize(u32::try_from(same).unwrap_or(u32::MAX), "object");
        view! { <p class="meta">{format!("{same} unchanged.")}</p> }
    });
    let more = (effect.omitted > 0)
        .then(|| view! { <p class="meta">{format!("And {} more objects.", effect.omitted)}</p> });
    let distinction = |one: &PlannedChange| {
        distinctions.iter().find(|distinction| distinction.object.is_same_object(&one.object))
    };
    let manifest = |one: &PlannedChange| manifests.iter().find(|created| created.object == one.object);
    let rows: Vec<AnyView> =
        changed.into_iter().map(|one| object_diff(one, distinction(one), manifest(one))).collect();
    view! {
        {(!rows.is_empty()).then(|| view! {
            // It scrolls horizontally and therefore must be focusable with the keyboard.
            <div class="diff" tabindex="0" role="region" aria-label="Fields">{rows}</div>
        })}
        {more}
        {same}
    }
}

fn object_diff(
    one: &PlannedChange,
    distinction: Option<&Distinction>,
    manifest: Option<&CreatedManifest>,
) -> AnyView {
    let (sign, note, fields) = match &one.action {
        PlannedAction::Unchanged => ("=", String::new(), &[][..]),
        PlannedAction::Create if distinction.is_some() => {
            ("+", "differs between clusters".to_owned(), &[][..])
        }
        PlannedAction::Create => ("+", String::new(), &[][..]),
        PlannedAction::Delete if one.after_operational => {
            ("−", "once the revision is operational".to_owned(), &[][..])
        }
        PlannedAction::Delete => ("−", String::new(), &[][..]),
        PlannedAction::Orphan => (".", "stays, no longer managed".to_owned(), &[][..]),
        PlannedAction::Rejected { finding } => ("!", finding.code.clone(), &[][..]),
        PlannedAction::Replace { fields, .. } => {
            ("−/+", "is deleted and created again; a Job runs again".to_owned(), fields.as_slice())
        }
        PlannedAction::Change { fields, omitted: left_out } => {
            let n = u32::try_from(fields.len()).unwrap_or(u32::MAX).saturating_add(*left_out);
            let hidden = fields.iter().any(has_hidden_value);
            let more = if hidden { ", values are never shown" } else { "" };
            ("~", format!("{}{more}", pluralize(n, "field")), fields.as_slice())
        }
    };
    let rejected = match &one.action {
        PlannedAction::Rejected { finding } => Some(view! {
            <div class="diff-note hue-degraded">{icon("error")} " " {finding.message.clone()}</div>
        }),
        _ => None,
    };
    let unverified = (!one.unverified.is_empty())
        .then(|| view! { <span class="text-3">{format!("  not validated: {}", one.unverified)}</span> });
    let place = if one.object.namespace.is_empty() {
        one.object.name.clone()
    } else {
        format!("{}/{}", one.object.namespace, one.object.name)
    };
    view! {
        <div class="diff-head">
            <span aria-hidden="true">{sign} " "</span>
            <span class="sr-only">{action_label(&one.action)} " "</span>
            {one.object.kind.clone()}
            " "
            <b>{place}</b>
            {(!note.is_empty()).then(|| format!(" {note}"))}
            {unverified}
        </div>
        {rejected}
        {fields.iter().map(field_diff).collect_view()}
        {distinction.map(|distinction| distinction.fields.iter().map(distinguishing_field).collect_view())}
        {manifest.map(show_manifest)}
    }
    .into_any()
}

/// The manifest of a new object, on demand.
fn show_manifest(manifest: &CreatedManifest) -> AnyView {
    let Some(yaml) = manifest.yaml.clone() else {
        return view! { <div class="text-3">"Its manifest is too long to be shown here; flotilla render prints it."</div> }
            .into_any();
    };
    view! {
        <details class="diff-manifest">
            <summary>"Manifest"</summary>
            <pre>{yaml}</pre>
        </details>
    }
    .into_any()
}

/// The objects that a cluster did not validate, by reason.
fn not_validated(effect: &ClusterPlan) -> AnyView {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for change in effect.objects.iter().filter(|change| !change.unverified.is_empty()) {
        reasons.entry(change.unverified.as_str()).or_default().push(change.object.to_string());
    }
    let line = |(reason, objects): (&str, Vec<String>)| {
        let names = join_names(&objects, objects.len(), NAMES_MAX);
        view! { <p class="text-2">{icon("warning")} {format!(" No dry run of {names}: {reason}")}</p> }
    };
    reasons.into_iter().map(line).collect_view().into_any()
}

const fn action_label(outcome: &PlannedAction) -> &'static str {
    match outcome {
        PlannedAction::Unchanged => "Unchanged:",
        PlannedAction::Create => "Create",
        PlannedAction::Change { .. } => "Change",
        PlannedAction::Replace { .. } => "Replace",
        PlannedAction::Delete => "Delete",
        PlannedAction::Orphan => "Orphan",
        PlannedAction::Rejected { .. } => "Rejected:",
    }
}

fn has_hidden_value(field: &FieldChange) -> bool {
    let hidden = |value: &Option<Value>| value.as_ref().is_some_and(|value| value == HIDDEN_VALUE);
    hidden(&field.desired) || hidden(&field.live)
}

/// A field in which a new object differs from the same new object on other clusters.
fn distinguishing_field(field: &FieldValue) -> AnyView {
    let FieldValue { path, value } = field;
    if value.is_none() {
        return view! { <div class="diff-path">{format!("{} not set", dotted_path(path))}</div> }.into_any();
    }
    field_diff(&FieldChange { path: path.clone(), desired: value.clone(), live: None }).into_any()
}

/// The path of a field with its value before and after.
pub fn field_diff(field: &FieldChange) -> impl IntoView + use<> {
    let side = |class: &'static str, word: &'static str, value: &Option<Value>| {
        value.as_ref().map(|value| {
            let lines: Vec<String> = format_value(value).lines().map(str::to_owned).collect();
            lines
                .into_iter()
                .map(|line| view! { <div class=class><span class="sr-only">{word}</span>{line}</div> })
                .collect_view()
        })
    };
    view! {
        <div class="diff-path">{dotted_path(&field.path)}</div>
        {side("diff-del", "now ", &field.live)}
        {side("diff-add", "then ", &field.desired)}
    }
}

/// Formats `/spec/containers[name=web]/image` as `spec.containers[name=web].image`.
pub fn dotted_path(pointer: &str) -> String {
    let dotted = pointer.trim_start_matches('/').replace('/', ".");
    dotted.replace("~1", "/").replace("~0", "~")
}

/// Formats a string unquoted, any other value as indented JSON, a hidden value as dots.
pub fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) if text == HIDDEN_VALUE => "••••••••".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_is_shown_in_dot_notation() {
        assert_eq!(dotted_path("/spec/containers[name=web]/image"), "spec.containers[name=web].image");
        assert_eq!(
            dotted_path("/metadata/labels/app.kubernetes.io~1name"),
            "metadata.labels.app.kubernetes.io/name"
        );
    }

    #[test]
    fn a_hidden_value_is_shown_as_dots() {
        assert_eq!(format_value(&json!(HIDDEN_VALUE)), "••••••••");
        assert_eq!(format_value(&json!(3)), "3");
        assert_eq!(format_value(&json!("a\nb")), "a\nb");
    }
}

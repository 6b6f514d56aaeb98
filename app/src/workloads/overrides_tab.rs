//! The overrides editor: the list of overrides, and for one cluster every field with its base, the value of the edited
//! override, the effective value and its origin (E-8). The browser merges with the same functions as the server.

use std::collections::BTreeSet;

use domain::Finding;
use domain::OverrideId;
use domain::cluster::Cluster;
use domain::manifest;
use domain::overrides::{ClusterSelector, Override, OverrideResult, apply_overrides, check, check_targets};
use domain::placement::decide;
use domain::workload::Workload;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::candidates::{Candidates, Fleet};
use super::override_fields::{OverridableField, list_fields};
use super::override_form::OverrideForm;
use super::placement_tab::RenderFooter;
use crate::components::{
    Banner, DisabledButton, ErrorBanner, FindingList, StatusStyle, icon, pluralize, render_resource_part,
};
use crate::errors::AppResult;
use crate::paths::{self, WorkloadTab};

mod lists;
mod table;
mod target;

/// Data of the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverridesData {
    /// The workload with its whole draft.
    pub workload: Workload,
    /// The fleet.
    pub candidates: Candidates,
}

/// Reads the data of the editor.
#[server(prefix = "/api/fn", endpoint = "overrides_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn overrides_read(name: String) -> AppResult<OverridesData> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let workload = host::into_app_result(hub.get_workload(&name).await)?.workload;
    let fleet = host::into_app_result(hub.load_placement_inputs(&name).await)?;
    let candidates = Candidates::new(fleet.clusters, fleet.groups, &fleet.current);
    Ok(OverridesData { workload, candidates })
}

/// Saves one override in the draft; with `now` also in the published revision. A blank form stores nothing. Returns the name of
/// the override; empty if nothing was stored.
#[server(prefix = "/api/fn", endpoint = "override_save")]
pub async fn override_save(
    name: String,
    form: OverrideForm,
    #[server(default)] now: bool,
    #[server(default)] then: String,
) -> AppResult<String> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut saved = String::new();
    if !form.is_blank() {
        let read = form.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
        let content = domain::request::OverridePut {
            target: read.target,
            priority: read.priority,
            patches: read.patches,
        };
        let edit = hub::OverrideEdit { name: read.name.clone(), content, publish_now: now };
        host::into_app_result(hub.put_override(&actor, &name, edit).await)?;
        saved = read.name;
    }
    super::wizard::redirect_after(&name, super::wizard::WizardStep::Overrides, &then);
    Ok(saved)
}

/// Removes one override from the draft; with `now` also from the published revision. Returns its name.
#[server(prefix = "/api/fn", endpoint = "override_remove")]
pub async fn override_remove(
    name: String,
    override_name: String,
    #[server(default)] now: bool,
) -> AppResult<String> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.delete_override(&actor, &name, &override_name, now).await)?;
    Ok(override_name)
}

/// The tab with the overrides.
#[component]
pub fn OverridesTab(name: Memo<String>) -> impl IntoView {
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = count_saves(save, remove);
    let data = Resource::new(move || (name.get(), stored.get()), |(name, _)| overrides_read(name));
    render_resource_part(data, move |data| {
        view! { <OverridesEditor data=data save=save remove=remove /> }.into_any()
    })
}

/// Counts successful saves and removals: each reloads the draft. A rejected one leaves the form unchanged.
pub fn count_saves(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> RwSignal<u32> {
    let stored = RwSignal::new(0);
    Effect::new(move |_| {
        if matches!(save.value().get(), Some(Ok(name)) if !name.is_empty()) {
            stored.update(|n| *n += 1);
        }
    });
    Effect::new(move |_| {
        if matches!(remove.value().get(), Some(Ok(_))) {
            stored.update(|n| *n += 1);
        }
    });
    stored
}

/// The state that the parts of the editor share.
#[derive(Clone, Copy)]
struct EditorState {
    workload: StoredValue<Workload>,
    fleet: StoredValue<Fleet>,
    /// The objects of the source.
    objects: StoredValue<Vec<Value>>,
    fields: StoredValue<Vec<OverridableField>>,
    form: RwSignal<OverrideForm>,
    /// The name of the edited override; empty for a new one.
    edited_name: StoredValue<String>,
    /// The overrides, including the current input of the form.
    overrides: Memo<Vec<Override>>,
    /// The cluster whose values are shown.
    cluster: Memo<Option<Cluster>>,
    /// The effective objects of that cluster.
    effective: Memo<OverrideResult>,
    /// Names of the clusters that the draft's placement selects.
    selected: StoredValue<Vec<String>>,
}

/// The editor. A step of the wizard passes its footer; the tab has buttons of its own.
#[component]
pub fn OverridesEditor(
    /// The workload and its fleet.
    data: OverridesData,
    /// The action that saves.
    save: ServerAction<OverrideSave>,
    /// The action that removes.
    remove: ServerAction<OverrideRemove>,
    /// The footer of the wizard.
    #[prop(optional)]
    footer: Option<RenderFooter>,
) -> impl IntoView {
    let query = use_query_map();
    // Only another `override` creates a new form; another `cluster` keeps the input.
    let at = Memo::new(move |_| query.read().get("override").unwrap_or_default());
    let data = StoredValue::new(data);
    view! {
        <div class=if footer.is_some() { "wizard-step" } else { "stack-md" }>
            {save_result(save, remove)}
            {move || {
                let at = at.get();
                let bench = data.with_value(|data| create_state(data, &at));
                editor_view(bench, save, remove, footer)
            }}
        </div>
    }
    .into_any()
}

fn create_state(data: &OverridesData, at: &str) -> EditorState {
    let fleet = data.candidates.clone().into_fleet();
    let draft = &data.workload.draft;
    let objects = manifest::parse(draft.source.files()).objects();
    let known = list_fields(&objects);
    let edited = draft.overrides.iter().find(|over| over.name == at);
    let begin =
        edited.map_or_else(|| OverrideForm::blank(&known), |over| OverrideForm::from_override(over, &known));
    let decision = decide(&draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let chosen: Vec<String> = decision.selected().map(|verdict| verdict.name.clone()).collect();
    let name = edited.map(|over| over.name.clone()).unwrap_or_default();
    let form = RwSignal::new(begin);
    let (workload, fleet) = (StoredValue::new(data.workload.clone()), StoredValue::new(fleet));
    let (objects, chosen) = (StoredValue::new(objects), StoredValue::new(chosen));
    let edited = StoredValue::new(name);
    let typed = Memo::new(move |_| workload.with_value(|all| with_input(&all.draft.overrides, &form.get())));
    let query = use_query_map();
    let target = Memo::new(move |_| form.with(OverrideForm::target));
    let cluster = Memo::new(move |_| {
        let requested = query.read().get("cluster").unwrap_or_default();
        target.with(|target| {
            fleet.with_value(|fleet| {
                chosen.with_value(|chosen| shown_cluster(&requested, target, fleet, chosen))
            })
        })
    });
    let effective = Memo::new(move |_| match cluster.get() {
        Some(cluster) => typed.with(|typed| merge_for_cluster(typed, &cluster, objects, fleet)),
        None => OverrideResult::default(),
    });
    let fields = StoredValue::new(known);
    EditorState {
        workload,
        fleet,
        objects,
        fields,
        form,
        edited_name: edited,
        overrides: typed,
        cluster,
        effective,
        selected: chosen,
    }
}

/// The requested cluster, or else the first selected one that the form targets, or the first selected one, or the first.
fn shown_cluster(
    requested: &str,
    target: &ClusterSelector,
    fleet: &Fleet,
    chosen: &[String],
) -> Option<Cluster> {
    let find = |name: &str| fleet.clusters.iter().find(|cluster| cluster.name == name);
    let names: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
    let is_targeted = |cluster: &&Cluster| {
        names.contains(&*cluster.name) && target.specificity(cluster, &fleet.groups).is_some()
    };
    let meant = fleet.clusters.iter().find(is_targeted);
    let first = chosen.first().and_then(|name| find(name));
    find(requested).or(meant).or(first).or(fleet.clusters.first()).cloned()
}

fn merge_for_cluster(
    overrides: &[Override],
    cluster: &Cluster,
    objects: StoredValue<Vec<Value>>,
    fleet: StoredValue<Fleet>,
) -> OverrideResult {
    objects.with_value(|objects| {
        fleet.with_value(|fleet| apply_overrides(objects, overrides, cluster, &fleet.groups))
    })
}

/// The stored overrides with the input of the form: it replaces the override of the same name, or is appended. Unchanged while
/// the form is invalid or blank.
fn with_input(stored: &[Override], form: &OverrideForm) -> Vec<Override> {
    let mut all = stored.to_vec();
    let Ok(read) = form.parse() else { return all };
    if form.is_blank() {
        return all;
    }
    let at = all.iter().position(|over| over.name == read.name);
    let id = at.map_or_else(|| OverrideId::from_parts(0, 0), |at| all[at].id);
    let typed =
        Override { id, name: read.name, target: read.target, priority: read.priority, patches: read.patches };
    match at {
        Some(at) => all[at] = typed,
        None => all.push(typed),
    }
    all
}

/// Findings about the overrides: invalid fields, syntax, targets, and effects on the shown cluster.
fn findings(bench: EditorState) -> Vec<Finding> {
    let mut findings = bench.form.with(|form| form.parse().err().unwrap_or_default());
    let typed = bench.overrides.get();
    findings.extend(check(&typed));
    let reached = bench.fleet.with_value(|fleet| {
        let selected: Vec<domain::ClusterId> = bench.selected.with_value(|names| {
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let is_selected = |cluster: &&Cluster| names.contains(cluster.name.as_str());
            fleet.clusters.iter().filter(is_selected).map(|cluster| cluster.id).collect()
        });
        check_targets(&typed, &fleet.clusters, &selected, &fleet.groups)
    });
    findings.extend(reached);
    findings.extend(bench.effective.with(|effective| effective.findings.clone()));
    domain::finding::sort_findings(&mut findings);
    findings
}

fn editor_view(
    bench: EditorState,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
    footer: Option<RenderFooter>,
) -> AnyView {
    let all_findings = Memo::new(move |_| findings(bench));
    let name = bench.workload.with_value(|workload| workload.name.clone());
    let busy = Signal::derive(move || save.pending().get());
    let (id, own, below) = match footer {
        Some(footer) => (super::wizard::FORM, None, Some(footer(all_findings.into(), busy))),
        None => ("override", Some(tab_footer(bench)), None),
    };
    let columns = view! {
        <div class="overrides">
            {lists::cluster_list(bench)}
            <div class="stack-md min-w-0">
                {lists::override_list(bench, remove)}
                <ActionForm action=save attr:id=id attr:class="stack-md">
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="tab" value=WorkloadTab::Overrides.slug() />
                    {target::target_fields(bench)}
                    {move || {
                        let findings = all_findings.get();
                        (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })
                    }}
                    {table::field_table(bench)}
                    {own}
                </ActionForm>
            </div>
        </div>
    };
    view! { {columns} {below} }.into_any()
}

fn tab_footer(bench: EditorState) -> AnyView {
    let (can, is_published) = bench.workload.with_value(|workload| {
        (domain::actions::check_edit(workload), workload.intent == domain::workload::Intent::Published)
    });
    let save = match can {
        Ok(()) => view! { <button class="btn btn-primary" type="submit">"Save override"</button> }.into_any(),
        Err(why) => {
            view! { <DisabledButton verb="Save override".to_owned() why=why.to_string() id="why-edit" /> }
                .into_any()
        }
    };
    let now = is_published.then(|| {
        view! {
            <button class="btn" type="submit" name="now" value="true">
                "Save and roll out now"
            </button>
        }
    });
    view! {
        <div class="flex flex-wrap items-center gap-3">
            {save} {now}
            <span class="meta">
                {if is_published {
                    "Saved in the draft. “Save and roll out now” also creates a revision with only this change, for the clusters that it changes."
                } else {
                    "Saving changes the draft. Clusters change when you publish."
                }}
            </span>
        </div>
    }
    .into_any()
}

fn save_result(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> impl IntoView {
    let success = |text: String| {
        view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{text}</b>
                </p>
            </Banner>
        }
        .into_any()
    };
    move || {
        let saved = match save.value().get() {
            Some(Ok(name)) if !name.is_empty() => Some(success(format!("Override {name} saved."))),
            Some(Err(error)) => Some(view! { <ErrorBanner error=error /> }.into_any()),
            _ => None,
        };
        let removed = match remove.value().get() {
            Some(Ok(name)) => Some(success(format!("Override {name} removed."))),
            Some(Err(error)) => Some(view! { <ErrorBanner error=error /> }.into_any()),
            None => None,
        };
        (saved, removed)
    }
}

/// The URL of this page with the query parameter `key` (`override` or `cluster`) changed; the other one is kept.
fn query_link(key: &'static str, value: String) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_query_map());
    move || {
        let get = |name: &str| query.read().get(name).unwrap_or_default();
        let (over, cluster) = match key {
            "override" => (value.clone(), get("cluster")),
            _ => (get("override"), value.clone()),
        };
        let pairs = [("tab", get("tab")), ("override", over), ("cluster", cluster)];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
        paths::query(&path.get(), &pairs)
    }
}

fn count_label(n: usize) -> String {
    match u32::try_from(n).unwrap_or(u32::MAX) {
        0 => "same".to_owned(),
        n => pluralize(n, "field"),
    }
}

/// An icon and a label.
fn plus_label(word: &'static str) -> impl IntoView {
    (icon("plus"), word)
}

//! What differs on some clusters: the overrides, and for a chosen cluster every field with its base, what the override at
//! hand sets, what comes out, and who set it (E-8). Merged in the browser with the functions that the server merges with.

use std::collections::BTreeSet;

use domain::Finding;
use domain::OverrideId;
use domain::cluster::Cluster;
use domain::manifest;
use domain::overrides::{Effective, Override, Target, check, check_targets, effective};
use domain::placement::decide;
use domain::workload::Workload;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::candidates::{Candidates, Fleet};
use super::override_fields::{Field, fields};
use super::override_form::OverrideForm;
use super::placement_tab::Foot;
use crate::components::{Banner, FindingList, Look, Refusal, Said, count_of, icon, loaded_part};
use crate::errors::Answer;
use crate::paths::{self, Tab};

mod around;
mod table;
mod target;

/// What the editor works with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverridesData {
    /// The workload with its whole draft.
    pub workload: Workload,
    /// The fleet.
    pub candidates: Candidates,
}

/// The editor's query.
#[server(prefix = "/api/fn", endpoint = "overrides_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn overrides_read(name: String) -> Answer<OverridesData> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let workload = host::answer(hub.workload_view(&name).await)?.workload;
    let fleet = host::answer(hub.placement_fleet(&name).await)?;
    let candidates = Candidates::of(fleet.clusters, fleet.groups, &fleet.current);
    Ok(OverridesData { workload, candidates })
}

/// Saves one override in the draft; `now` also in what is published. A form with nothing in it stores nothing.
/// Returns its name.
#[server(prefix = "/api/fn", endpoint = "override_save")]
pub async fn override_save(
    name: String,
    form: OverrideForm,
    #[server(default)] now: bool,
    #[server(default)] then: String,
) -> Answer<String> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut saved = String::new();
    if !form.is_blank() {
        let read = form.content().map_err(|findings| host::refused(AppError::Invalid(findings)))?;
        let content =
            hub::OverrideContent { target: read.target, priority: read.priority, patches: read.patches };
        host::answer(hub.override_put(&actor, &name, &read.name, (content, now)).await)?;
        saved = read.name;
    }
    super::wizard::go_on(&name, super::wizard::Step::Overrides, &then);
    Ok(saved)
}

/// Removes one override from the draft; `now` also from what is published.
#[server(prefix = "/api/fn", endpoint = "override_remove")]
pub async fn override_remove(name: String, over: String, #[server(default)] now: bool) -> Answer<String> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::answer(hub.override_delete(&actor, &name, &over, now).await)?;
    Ok(over)
}

/// The tab.
#[component]
pub fn OverridesTab(name: Memo<String>) -> impl IntoView {
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = stored(save, remove);
    let data = Resource::new(move || (name.get(), stored.get()), |(name, _)| overrides_read(name));
    loaded_part(data, move |data| view! { <OverridesEdit data=data save=save remove=remove /> }.into_any())
}

/// Counts what was stored: then the draft is read again. What was refused leaves the form as it is typed.
pub fn stored(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> RwSignal<u32> {
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

/// All that the parts of the editor share.
#[derive(Clone, Copy)]
struct Bench {
    workload: StoredValue<Workload>,
    fleet: StoredValue<Fleet>,
    /// The objects of the source.
    objects: StoredValue<Vec<Value>>,
    fields: StoredValue<Vec<Field>>,
    form: RwSignal<OverrideForm>,
    /// The name of the override that is edited; empty for a new one.
    edited: StoredValue<String>,
    /// The overrides with the one at hand as it is typed.
    typed: Memo<Vec<Override>>,
    /// The cluster that is looked at.
    cluster: Memo<Option<Cluster>>,
    /// What it gets.
    effective: Memo<Effective>,
    /// Clusters that the draft's placement chooses.
    chosen: StoredValue<Vec<String>>,
}

/// The editor. In a step of the wizard the foot is the wizard's; in the tab it has buttons of its own.
#[component]
pub fn OverridesEdit(
    /// The workload and its fleet.
    data: OverridesData,
    /// Saves.
    save: ServerAction<OverrideSave>,
    /// Removes.
    remove: ServerAction<OverrideRemove>,
    /// The wizard's foot.
    #[prop(optional)]
    foot: Option<Foot>,
) -> impl IntoView {
    let query = use_query_map();
    // Only another override makes another form; another cluster is looked at without losing what is typed.
    let at = Memo::new(move |_| query.read().get("override").unwrap_or_default());
    let data = StoredValue::new(data);
    view! {
        <div class=if foot.is_some() { "wizard-step" } else { "stack-md" }>
            {outcome(save, remove)}
            {move || {
                let at = at.get();
                let bench = data.with_value(|data| bench(data, &at));
                editor(bench, save, remove, foot)
            }}
        </div>
    }
    .into_any()
}

fn bench(data: &OverridesData, at: &str) -> Bench {
    let fleet = data.candidates.clone().fleet();
    let draft = &data.workload.draft;
    let objects = manifest::parse(draft.source.files()).objects();
    let known = fields(&objects);
    let edited = draft.overrides.iter().find(|over| over.name == at);
    let begin = edited.map_or_else(|| OverrideForm::blank(&known), |over| OverrideForm::of(over, &known));
    let decision = decide(&draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let chosen: Vec<String> = decision.chosen().map(|verdict| verdict.name.clone()).collect();
    let name = edited.map(|over| over.name.clone()).unwrap_or_default();
    let form = RwSignal::new(begin);
    let (workload, fleet) = (StoredValue::new(data.workload.clone()), StoredValue::new(fleet));
    let (objects, chosen) = (StoredValue::new(objects), StoredValue::new(chosen));
    let edited = StoredValue::new(name);
    let typed = Memo::new(move |_| workload.with_value(|all| with_typed(&all.draft.overrides, &form.get())));
    let query = use_query_map();
    let target = Memo::new(move |_| form.with(OverrideForm::target));
    let cluster = Memo::new(move |_| {
        let asked = query.read().get("cluster").unwrap_or_default();
        target.with(|target| {
            fleet.with_value(|fleet| chosen.with_value(|chosen| shown(&asked, target, fleet, chosen)))
        })
    });
    let effective = Memo::new(move |_| match cluster.get() {
        Some(cluster) => typed.with(|typed| merged(typed, &cluster, objects, fleet)),
        None => Effective::default(),
    });
    let fields = StoredValue::new(known);
    Bench { workload, fleet, objects, fields, form, edited, typed, cluster, effective, chosen }
}

/// The one that is asked for, or else the first that gets what is typed, or the first of all.
fn shown(asked: &str, target: &Target, fleet: &Fleet, chosen: &[String]) -> Option<Cluster> {
    let find = |name: &str| fleet.clusters.iter().find(|cluster| cluster.name == name);
    let names: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
    let is_meant = |cluster: &&Cluster| {
        names.contains(&*cluster.name) && target.specificity(cluster, &fleet.groups).is_some()
    };
    let meant = fleet.clusters.iter().find(is_meant);
    let first = chosen.first().and_then(|name| find(name));
    find(asked).or(meant).or(first).or(fleet.clusters.first()).cloned()
}

fn merged(
    overrides: &[Override],
    cluster: &Cluster,
    objects: StoredValue<Vec<Value>>,
    fleet: StoredValue<Fleet>,
) -> Effective {
    objects
        .with_value(|objects| fleet.with_value(|fleet| effective(objects, overrides, cluster, &fleet.groups)))
}

/// The stored overrides with the one that is typed in its place, or at the end. While it can't be read, as it is stored.
fn with_typed(stored: &[Override], form: &OverrideForm) -> Vec<Override> {
    let mut all = stored.to_vec();
    let Ok(read) = form.content() else { return all };
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

/// What is to be said of the overrides: what can't be read, their grammar, whom they reach, what they do to the cluster
/// that is looked at.
fn findings(bench: Bench) -> Vec<Finding> {
    let mut findings = bench.form.with(|form| form.content().err().unwrap_or_default());
    let typed = bench.typed.get();
    findings.extend(check(&typed));
    let reached = bench.fleet.with_value(|fleet| {
        let chosen: Vec<domain::ClusterId> = bench.chosen.with_value(|names| {
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let is_chosen = |cluster: &&Cluster| names.contains(cluster.name.as_str());
            fleet.clusters.iter().filter(is_chosen).map(|cluster| cluster.id).collect()
        });
        check_targets(&typed, &fleet.clusters, &chosen, &fleet.groups)
    });
    findings.extend(reached);
    findings.extend(bench.effective.with(|effective| effective.findings.clone()));
    domain::finding::sort(&mut findings);
    findings
}

fn editor(
    bench: Bench,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
    foot: Option<Foot>,
) -> AnyView {
    let said = Memo::new(move |_| findings(bench));
    let name = bench.workload.with_value(|workload| workload.name.clone());
    let busy = Signal::derive(move || save.pending().get());
    let (id, own, below) = match foot {
        Some(foot) => (super::wizard::FORM, None, Some(foot(said.into(), busy))),
        None => ("override", Some(own_foot(bench)), None),
    };
    let columns = view! {
        <div class="overrides">
            {around::clusters(bench)}
            <div class="stack-md min-w-0">
                {around::overrides(bench, remove)}
                <ActionForm action=save attr:id=id attr:class="stack-md">
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="tab" value=Tab::Overrides.slug() />
                    {target::fields(bench)}
                    {move || {
                        let findings = said.get();
                        (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })
                    }}
                    {table::table(bench)}
                    {own}
                </ActionForm>
            </div>
        </div>
    };
    view! { {columns} {below} }.into_any()
}

fn own_foot(bench: Bench) -> AnyView {
    let (can, is_published) = bench.workload.with_value(|workload| {
        (domain::can::edit(workload), workload.intent == domain::workload::Intent::Published)
    });
    let save = match can {
        Ok(()) => view! { <button class="btn btn-primary" type="submit">"Save override"</button> }.into_any(),
        Err(why) => {
            view! { <Refusal verb="Save override".to_owned() why=why.to_string() id="why-edit" /> }.into_any()
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
                    "Saved in the draft; rolled out now, it becomes a revision of its own and touches only clusters that it changes."
                } else {
                    "Saving changes the draft. Clusters change when you publish."
                }}
            </span>
        </div>
    }
    .into_any()
}

fn outcome(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> impl IntoView {
    let done = |text: String| {
        view! {
            <Banner look=Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" }>
                <p>
                    <b>{text}</b>
                </p>
            </Banner>
        }
        .into_any()
    };
    move || {
        let saved = match save.value().get() {
            Some(Ok(name)) if !name.is_empty() => Some(done(format!("Override {name} saved."))),
            Some(Err(error)) => Some(view! { <Said error=error /> }.into_any()),
            _ => None,
        };
        let removed = match remove.value().get() {
            Some(Ok(name)) => Some(done(format!("Override {name} removed."))),
            Some(Err(error)) => Some(view! { <Said error=error /> }.into_any()),
            None => None,
        };
        (saved, removed)
    }
}

/// The address of this page with another override or another cluster; the other of the two stays.
fn link(key: &'static str, value: String) -> impl Fn() -> String + Send + Sync + Clone + 'static {
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

fn differing(n: usize) -> String {
    match u32::try_from(n).unwrap_or(u32::MAX) {
        0 => "same".to_owned(),
        n => count_of(n, "field"),
    }
}

/// A quiet plus with a word.
fn plus(word: &'static str) -> impl IntoView {
    (icon("plus"), word)
}

//! Cluster groups: named sets of clusters that placements and overrides refer to (S1-1, S1-2).

use domain::placement::{ClusterGroup, GroupView, REMOVAL_NOTICE_MINUTES};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;
use serde::{Deserialize, Serialize};

use crate::components::editor::TextArea;
use crate::components::{DisabledButton, Empty, ErrorBanner, join_names, pluralize, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;

/// A group as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupForm {
    /// Its name.
    pub name: String,
    /// Its clusters by name, separated by commas, spaces or lines.
    pub members: String,
    /// Label selector; matching clusters belong to the group too, such as `env=prod,region in (eu,us)`.
    pub selector: String,
    /// Whether its members may be in no other group; any text is yes, as a browser sends a ticked box.
    pub exclusive: Option<String>,
    /// Values that charts have on its clusters, as YAML.
    pub locked_values: String,
    /// The revision that the form was rendered from; 0 for a new group.
    pub base_revision: i64,
}

/// All groups.
#[server(prefix = "/api/fn", endpoint = "groups_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn groups_read() -> AppResult<Vec<ClusterGroup>> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.list_groups().await)
}

/// One group, and the workloads that use it.
#[server(prefix = "/api/fn", endpoint = "group_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_read(name: String) -> AppResult<GroupView> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.get_group_details(&name).await)
}

/// Creates a group (`base_revision` is 0), or changes the one with the revision `base_revision`.
#[server(prefix = "/api/fn", endpoint = "group_save")]
pub async fn group_save(form: GroupForm) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let base_revision = form.base_revision;
    let group = parse_group(form)
        .map_err(|finding| host::with_status(crate::errors::AppError::from_finding(finding)))?;
    let saved = match base_revision {
        0 => hub.create_group(&actor, group).await,
        base_revision => hub.save_group(&actor, group, Some(base_revision)).await,
    };
    leptos_axum::redirect(&paths::group(&host::into_app_result(saved)?.name));
    Ok(())
}

/// Deletes a group; rejected while a workload uses it.
#[server(prefix = "/api/fn", endpoint = "group_delete")]
pub async fn group_delete(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_group(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::GROUPS);
    Ok(())
}

/// Parses the form.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn parse_group(form: GroupForm) -> Result<ClusterGroup, domain::Finding> {
    let selector = form.selector.trim();
    let read = (!selector.is_empty()).then(|| selector.parse()).transpose();
    let selector = read.map_err(|error: domain::labels::InvalidSelector| {
        let hint = "Write it as env=prod,region in (eu,us),!legacy.";
        domain::Finding::error("G502", format!("{error}."), hint).with_path("/selector")
    })?;
    let members = crate::components::split_words(&form.members).map(str::to_owned).collect();
    Ok(ClusterGroup {
        name: form.name.trim().to_owned(),
        members,
        selector,
        exclusive: form.exclusive.is_some(),
        locked_values: form.locked_values,
        revision: form.base_revision,
        ..ClusterGroup::default()
    })
}

/// All groups, and the form for a new one.
#[component]
pub fn GroupsPage() -> impl IntoView {
    let save = ServerAction::<GroupSave>::new();
    // Every change of a group is in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(move || (save.version().get(), version.get()), |_| groups_read());
    view! {
        <Title text="Cluster groups" />
        <div class="stack">
            <div class="stack-sm">
                <h1 class="title">"Cluster groups"</h1>
                <p class="text-2">
                    "A named set of clusters, by name, by label, or both. Placements and overrides refer to it by name."
                </p>
            </div>
            {render_resource(data, show_groups)}
            <section class="stack-sm max-w-180" aria-labelledby="new-group">
                <h2 class="section" id="new-group">"New group"</h2>
                {show_form(GroupForm::default(), save)}
            </section>
        </div>
    }
    .into_any()
}

fn show_groups(groups: Vec<ClusterGroup>) -> AnyView {
    if groups.is_empty() {
        return view! {
            <Empty title="No groups yet" text="Name a set of clusters once, and use it in every placement."
                command="flotilla group set edge --selector tier=edge" />
        }
        .into_any();
    }
    let row = |group: ClusterGroup| {
        let named = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
        let members = join_names(&group.members, group.members.len(), 4);
        let selector = group.selector.map(|selector| selector.to_string()).unwrap_or_default();
        let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
        let link = (!selector.is_empty()).then(|| view! { <a class="link mono" href=address>{selector}</a> });
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    <a href=paths::group(&group.name)>{group.name.clone()}</a>
                </th>
                <td data-label="By name" title=pluralize(named, "cluster")>{members}</td>
                <td data-label="By label">{link}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Group"</th>
                    <th scope="col">"By name"</th>
                    <th scope="col">"By label"</th>
                </tr>
            </thead>
            <tbody>{groups.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

/// One group: its clusters, the workloads that use it, and the form that changes it.
#[component]
pub fn GroupPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let (save, delete) = (ServerAction::<GroupSave>::new(), ServerAction::<GroupDelete>::new());
    let data = create_resource(move || (name.get(), save.version().get()), |(name, _)| group_read(name));
    view! {
        {move || view! { <Title text=name.get() /> }}
        {render_resource(data, move |view| show_group(view, save, delete))}
    }
    .into_any()
}

fn show_group(view: GroupView, save: ServerAction<GroupSave>, delete: ServerAction<GroupDelete>) -> AnyView {
    let GroupView { group, missing, matching, used_by } = view;
    let name = group.name.clone();
    let selector = group.selector.as_ref().map(ToString::to_string).unwrap_or_default();
    let by_label = (!selector.is_empty()).then(|| {
        let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
        view! {
            <p>
                <a class="link" href=address>{pluralize(matching, "cluster")}</a>
                {if matching == 1 { " matches " } else { " match " }}
                <span class="mono">{selector.clone()}</span>
                " now."
            </p>
        }
    });
    let missing = (!missing.is_empty()).then(|| {
        let names = join_names(&missing, missing.len(), 6);
        view! { <p class="text-2">{format!("No cluster has this name yet: {names}. Check the spelling.")}</p> }
    });
    let users = if used_by.is_empty() {
        view! { <p class="text-2">"No workload uses this group."</p> }.into_any()
    } else {
        let link = |workload: &String| {
            let address = paths::workload_tab(workload, WorkloadTab::Placement);
            view! { <li><a class="link name" href=address>{workload.clone()}</a></li> }
        };
        view! { <ul class="flex flex-wrap gap-x-4 gap-y-1">{used_by.iter().map(link).collect_view()}</ul> }
            .into_any()
    };
    let deletion = show_deletion(&name, &used_by, delete);
    let initial = GroupForm {
        name: name.clone(),
        members: group.members.join("\n"),
        selector,
        exclusive: group.exclusive.then(|| "on".to_owned()),
        locked_values: group.locked_values,
        base_revision: group.revision,
    };
    view! {
        <div class="stack-md">
            <h1 class="title-mono">{name}</h1>
            {by_label}
            {missing}
            <section class="stack-sm" aria-labelledby="used-by">
                <h2 class="section" id="used-by">"Used by"</h2>
                {users}
            </section>
            <section class="stack-sm max-w-180" aria-labelledby="members">
                <h2 class="section" id="members">"Members"</h2>
                {show_form(initial, save)}
                <p class="meta">
                    {format!(
                        "Saving evaluates the placement of every workload that uses this group again. A cluster that leaves the group keeps its workloads for {REMOVAL_NOTICE_MINUTES} minutes, and no change removes a workload from many clusters at once."
                    )}
                </p>
            </section>
            {deletion}
        </div>
    }
    .into_any()
}

/// The deletion, or the workloads that prevent it.
fn show_deletion(name: &str, used_by: &[String], delete: ServerAction<GroupDelete>) -> AnyView {
    let name = name.to_owned();
    match domain::actions::check_delete_group(&name, used_by) {
        Err(why) => {
            view! { <DisabledButton verb="Delete group".to_owned() why=why.to_string() id="why-delete" /> }.into_any()
        }
        Ok(()) => view! {
            <details class="fold">
                <summary>"Delete group"</summary>
                <ActionForm action=delete attr:class="stack-sm pt-3">
                    {move || delete.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                    <p class="text-2">"Its clusters do not change. No workload uses this group."</p>
                    <input type="hidden" name="name" value=name />
                    <div>
                        <button class="btn btn-danger" type="submit">"Delete"</button>
                    </div>
                </ActionForm>
            </details>
        }
        .into_any(),
    }
}

/// The fields, for a new or an existing group.
fn show_form(initial: GroupForm, save: ServerAction<GroupSave>) -> AnyView {
    let is_new = initial.base_revision == 0;
    let name = if is_new {
        view! {
            <div class="field">
                <label class="field-label" for="group-name">"Name"</label>
                <input class="input input-mono" id="group-name" name="form[name]" required=true maxlength="63"
                    placeholder="edge" autocomplete="off" autocapitalize="off" spellcheck="false" />
            </div>
        }
        .into_any()
    } else {
        view! { <input type="hidden" name="form[name]" value=initial.name /> }.into_any()
    };
    view! {
        <ActionForm action=save attr:class="stack-md">
            {move || save.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <input type="hidden" name="form[base_revision]" value=initial.base_revision.to_string() />
            {name}
            <div class="field">
                <span class="field-label">"Clusters by name"</span>
                <TextArea class="textarea input-mono min-h-24" field="form[members]" text=initial.members
                    label="Clusters by name" on_text=Callback::new(|_| ()) />
                <p class="field-help">"Separated by commas or lines. Clusters that have not joined yet are allowed."</p>
            </div>
            <div class="field">
                <label class="field-label" for="group-selector">"Clusters by label"</label>
                <input class="input input-mono" id="group-selector" name="form[selector]" value=initial.selector
                    placeholder="env=prod,region in (eu,us),!legacy" maxlength="500" autocomplete="off" autocapitalize="off" spellcheck="false" />
            </div>
            <div class="field">
                <span class="field-label">"Locked chart values"</span>
                <TextArea class="textarea input-mono min-h-24" field="form[locked_values]" text=initial.locked_values
                    label="Locked chart values" on_text=Callback::new(|_| ()) />
                <p class="field-help">
                    "YAML, such as tls: {enabled: true}. Every chart has these values on the clusters of the group; a workload or an override that sets others is rejected."
                </p>
            </div>
            <label class="choice">
                <input type="checkbox" class="checkbox" name="form[exclusive]" checked=initial.exclusive.is_some() />
                "Exclusive: no other group may name these clusters"
            </label>
            <div>
                <button class="btn btn-primary" type="submit">
                    {if is_new { "Create group" } else { "Save" }}
                </button>
            </div>
        </ActionForm>
    }
    .into_any()
}

//! Cluster groups: named sets of clusters that placements and overrides ask for (S1-1, S1-2).

use domain::placement::{ClusterGroup, GroupView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;
use serde::{Deserialize, Serialize};

use crate::components::editor::TextArea;
use crate::components::{Empty, Refusal, Said, count_of, joined, loaded};
use crate::errors::Answer;
use crate::live::{self, Topic};
use crate::paths::{self, Tab};

/// A group as a person types it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupForm {
    /// Its name.
    pub name: String,
    /// Its clusters by name, separated by commas, spaces or lines.
    pub members: String,
    /// And every cluster with these labels, such as `env=prod,region in (eu,us)`.
    pub selector: String,
    /// The revision that the person sees; 0 for a group that is to be new.
    pub seen: i64,
}

/// All groups.
#[server(prefix = "/api/fn", endpoint = "groups_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn groups_read() -> Answer<Vec<ClusterGroup>> {
    use crate::host;
    host::answer(host::hub_for_reader()?.group_list().await)
}

/// One group, and who asks for it.
#[server(prefix = "/api/fn", endpoint = "group_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_read(name: String) -> Answer<GroupView> {
    use crate::host;
    host::answer(host::hub_for_reader()?.group_look(&name).await)
}

/// Makes a group, or changes the one that the person sees.
#[server(prefix = "/api/fn", endpoint = "group_save")]
pub async fn group_save(form: GroupForm) -> Answer<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let seen = form.seen;
    let group = group(form).map_err(|finding| host::refused(crate::errors::AppError::finding(finding)))?;
    let saved = match seen {
        0 => hub.group_create(&actor, group).await,
        seen => hub.group_save(&actor, group, Some(seen)).await,
    };
    leptos_axum::redirect(&paths::group(&host::answer(saved)?.name));
    Ok(())
}

/// Forgets a group; refused while a workload asks for it.
#[server(prefix = "/api/fn", endpoint = "group_delete")]
pub async fn group_delete(name: String) -> Answer<()> {
    use crate::host;
    host::answer(host::hub()?.group_delete(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::GROUPS);
    Ok(())
}

/// What the form says.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn group(form: GroupForm) -> Result<ClusterGroup, domain::Finding> {
    let selector = form.selector.trim();
    let read = (!selector.is_empty()).then(|| selector.parse()).transpose();
    let selector = read.map_err(|error: domain::labels::BadSelector| {
        let hint = "Write it as env=prod,region in (eu,us),!legacy.";
        domain::Finding::error("G502", format!("{error}."), hint).at("/selector")
    })?;
    let members = crate::components::words(&form.members).map(str::to_owned).collect();
    Ok(ClusterGroup { name: form.name.trim().to_owned(), members, selector, revision: form.seen })
}

/// All groups, and the form for a new one.
#[component]
pub fn GroupsPage() -> impl IntoView {
    let save = ServerAction::<GroupSave>::new();
    // Whoever changes a group says so in the log, which every page of the fleet follows.
    let version = live::version(|| Some(Topic::Fleet));
    let data = Resource::new(move || (save.version().get(), version.get()), |_| groups_read());
    view! {
        <Title text="Cluster groups" />
        <div class="stack">
            <div class="stack-sm">
                <h1 class="title">"Cluster groups"</h1>
                <p class="text-2">
                    "A named set of clusters, by name, by label, or both. Placements and overrides ask for it by its name."
                </p>
            </div>
            {loaded(data, list)}
            <section class="stack-sm max-w-180" aria-labelledby="new-group">
                <h2 class="section" id="new-group">"New group"</h2>
                {form(GroupForm::default(), save)}
            </section>
        </div>
    }
    .into_any()
}

fn list(groups: Vec<ClusterGroup>) -> AnyView {
    if groups.is_empty() {
        return view! {
            <Empty title="No groups yet" text="Name a set of clusters once, and use it in every placement."
                command="flotilla group set edge --selector tier=edge" />
        }
        .into_any();
    }
    let row = |group: ClusterGroup| {
        let named = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
        let members = joined(&group.members, group.members.len(), 4);
        let selector = group.selector.map(|selector| selector.to_string()).unwrap_or_default();
        let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
        let link = (!selector.is_empty()).then(|| view! { <a class="link mono" href=address>{selector}</a> });
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    <a href=paths::group(&group.name)>{group.name.clone()}</a>
                </th>
                <td data-label="By name" title=count_of(named, "cluster")>{members}</td>
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

/// One group: what is in it, who asks for it, and the form that changes it.
#[component]
pub fn GroupPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let (save, delete) = (ServerAction::<GroupSave>::new(), ServerAction::<GroupDelete>::new());
    let data = Resource::new(move || (name.get(), save.version().get()), |(name, _)| group_read(name));
    view! {
        {move || view! { <Title text=name.get() /> }}
        {loaded(data, move |view| one(view, save, delete))}
    }
    .into_any()
}

fn one(view: GroupView, save: ServerAction<GroupSave>, delete: ServerAction<GroupDelete>) -> AnyView {
    let GroupView { group, missing, matching, asked_by } = view;
    let name = group.name.clone();
    let selector = group.selector.as_ref().map(ToString::to_string).unwrap_or_default();
    let by_label = (!selector.is_empty()).then(|| {
        let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
        view! {
            <p>
                <a class="link" href=address>{count_of(matching, "cluster")}</a>
                {if matching == 1 { " matches " } else { " match " }}
                <span class="mono">{selector.clone()}</span>
                " now."
            </p>
        }
    });
    let missing = (!missing.is_empty()).then(|| {
        let names = joined(&missing, missing.len(), 6);
        view! { <p class="text-2">{format!("Not here yet, or misspelt: {names}.")}</p> }
    });
    let asked = if asked_by.is_empty() {
        view! { <p class="text-2">"No workload asks for this group."</p> }.into_any()
    } else {
        let link = |workload: &String| {
            let address = paths::workload_tab(workload, Tab::Placement);
            view! { <li><a class="link name" href=address>{workload.clone()}</a></li> }
        };
        view! { <ul class="flex flex-wrap gap-x-4 gap-y-1">{asked_by.iter().map(link).collect_view()}</ul> }
            .into_any()
    };
    let deletion = forget(&name, &asked_by, delete);
    let begin =
        GroupForm { name: name.clone(), members: group.members.join("\n"), selector, seen: group.revision };
    view! {
        <div class="stack-md">
            <h1 class="title-mono">{name}</h1>
            {by_label}
            {missing}
            <section class="stack-sm" aria-labelledby="asked-by">
                <h2 class="section" id="asked-by">"Asked for by"</h2>
                {asked}
            </section>
            <section class="stack-sm max-w-180" aria-labelledby="members">
                <h2 class="section" id="members">"Members"</h2>
                {form(begin, save)}
                <p class="meta">
                    "Every workload that asks for this group is placed anew. A cluster that leaves it keeps what it has for 15 minutes, and no change takes a workload from many clusters at once."
                </p>
            </section>
            {deletion}
        </div>
    }
    .into_any()
}

/// The way to forget it, or who stands in the way.
fn forget(name: &str, asked_by: &[String], delete: ServerAction<GroupDelete>) -> AnyView {
    let name = name.to_owned();
    match domain::can::delete_group(&name, asked_by) {
        Err(why) => {
            view! { <Refusal verb="Delete group".to_owned() why=why.to_string() id="why-delete" /> }.into_any()
        }
        Ok(()) => view! {
            <details class="fold">
                <summary>"Delete group"</summary>
                <ActionForm action=delete attr:class="stack-sm pt-3">
                    {move || delete.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
                    <p class="text-2">"Its clusters stay as they are. Nothing asks for it by this name."</p>
                    <input type="hidden" name="name" value=name />
                    <div>
                        <button class="btn btn-danger" type="submit">"Delete it"</button>
                    </div>
                </ActionForm>
            </details>
        }
        .into_any(),
    }
}

/// The fields, for a new group or for one that is there.
fn form(begin: GroupForm, save: ServerAction<GroupSave>) -> AnyView {
    let is_new = begin.seen == 0;
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
        view! { <input type="hidden" name="form[name]" value=begin.name /> }.into_any()
    };
    view! {
        <ActionForm action=save attr:class="stack-md">
            {move || save.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <input type="hidden" name="form[seen]" value=begin.seen.to_string() />
            {name}
            <div class="field">
                <span class="field-label">"Clusters by name"</span>
                <TextArea class="textarea input-mono min-h-24" field="form[members]" text=begin.members
                    label="Clusters by name" on_text=Callback::new(|_| ()) />
                <p class="field-help">"Separated by commas or lines. They may join later."</p>
            </div>
            <div class="field">
                <label class="field-label" for="group-selector">"And every cluster with these labels"</label>
                <input class="input input-mono" id="group-selector" name="form[selector]" value=begin.selector
                    placeholder="env=prod,region in (eu,us),!legacy" maxlength="500" autocomplete="off" autocapitalize="off" spellcheck="false" />
            </div>
            <div>
                <button class="btn btn-primary" type="submit">
                    {if is_new { "Make group" } else { "Save" }}
                </button>
            </div>
        </ActionForm>
    }
    .into_any()
}

//! The page of a group: its members, what a change of them would do, the workloads that refer to it, its settings.

use domain::Finding;
use domain::authorization::UserAction;
use domain::placement::{ClusterGroup, check_membership_change};
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

use super::address::MembersAddress;
use super::describe_members;
use super::effect::{ChangeEffect, GroupMembersSave};
use super::members::MemberPicker;
use crate::clusters::group_features::{FeatureActions, FeatureDialog, Features};
use crate::components::counts::describe_counts;
use crate::components::dialog::dialog_buttons;
use crate::components::editor::TextArea;
use crate::components::error::action_error;
use crate::components::{
    Banner, ConfirmDialog, FindingList, StateStrip, StatusStyle, icon, join_names, render_by_key,
    render_resource, render_resource_part, render_selected,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// Names of clusters that do not exist; the others are counted.
const MISSING_SHOWN: usize = 6;

/// The settings of a group as entered in the form; its members are changed on their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupForm {
    /// Its name.
    pub name: String,
    /// Whether its members may be in no other group; any text is yes, as a browser sends a ticked box.
    pub exclusive: Option<String>,
    /// Values that charts have on its clusters, as YAML.
    pub locked_values: String,
    /// The revision that the form was rendered from.
    pub base_revision: i64,
}

/// A group without the names of its members: there may be thousands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPageView {
    /// The group without its members.
    pub group: ClusterGroup,
    /// How many clusters are members by name.
    pub named: u32,
    /// How many others are members by label.
    pub by_label: u32,
    /// The first of the names that no cluster has.
    pub missing: Vec<String>,
    /// How many names no cluster has.
    pub missing_total: usize,
    /// The releases on its clusters, by state.
    pub counts: ReleaseCounts,
    /// The workloads that refer to it.
    pub used_by: Vec<String>,
    /// Its clusters that are in another group although one of both is exclusive.
    pub findings: Vec<Finding>,
}

/// One group, and the workloads that use it.
#[server(prefix = "/api/fn", endpoint = "group_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_read(name: String) -> AppResult<GroupPageView> {
    use crate::host;
    use domain::placement::GroupView;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let view = host::into_app_result(hub.get_group_details(&name).await)?;
    let GroupView { group, mut missing, used_by, findings, .. } =
        host::into_app_result(hub.hide_secrets(&actor, view).await)?;
    let unchanged = domain::placement::GroupMembersChange::default();
    let members = host::into_app_result(hub.preview_group_members(&name, &unchanged).await)?.members;
    let counts = host::into_app_result(hub.count_group_releases(&name).await)?;
    let missing_total = missing.len();
    let named = u32::try_from(group.members.len() - missing_total).unwrap_or(u32::MAX);
    missing.truncate(MISSING_SHOWN);
    Ok(GroupPageView {
        group: ClusterGroup { members: Vec::new(), ..group },
        named,
        by_label: members.saturating_sub(named),
        missing,
        missing_total,
        counts,
        used_by,
        findings,
    })
}

/// Changes the settings of the group with the revision `base_revision`.
#[server(prefix = "/api/fn", endpoint = "group_save")]
pub async fn group_save(form: GroupForm) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let GroupForm { name, exclusive, locked_values, base_revision } = form;
    let group = host::into_app_result(hub.get_group(&name).await)?;
    let changed = ClusterGroup { exclusive: exclusive.is_some(), locked_values, ..group };
    host::into_app_result(hub.save_group(&actor, changed, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::group(&name));
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

/// The page.
#[component]
pub fn GroupPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let address = Memo::new(move |_| MembersAddress::from_query(&query.read()));
    let save_members = ServerAction::<GroupMembersSave>::new();
    let (save, delete) = (ServerAction::<GroupSave>::new(), ServerAction::<GroupDelete>::new());
    let features = FeatureActions::new();
    // A rejected change leaves the form with its revision: saving it again must not overwrite what another user saved.
    let (saves, member_saves) = (count_successes(save.value()), count_successes(save_members.value()));
    let version = live::watch_version(|| Some(Topic::Fleet));
    let changes = move || (saves.get(), member_saves.get(), features.version());
    // A group that is deleted here is not read again by any part of the page, which is left.
    let is_leaving =
        move || delete.pending().get() || delete.value().with(|result| matches!(result, Some(Ok(()))));
    let version = Memo::new(move |before: Option<&_>| match before {
        Some(before) if is_leaving() => *before,
        _ => version.get(),
    });
    let head = create_resource(
        move || (name.get(), changes(), version.get()),
        |(name, changes, _)| async move { group_read(name).await.map(|view| (changes, view)) },
    );
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack">
            // First: without script, the open dialog is where it is in the page.
            <FeatureDialog name=name actions=features />
            <DeleteDialog name=name address=address delete=delete />
            <div class="head">
                {render_resource(head, |(_, view)| show_head(view))}
                <Transition>{render_selected(head, |(_, view)| view.group.name, move |name| show_menu(name, address))}</Transition>
            </div>
            <div class="split split-344">
                <section class="stack-sm" aria-labelledby="members">
                    <h2 class="section" id="members">"Members"</h2>
                    <MemberPicker name=name address=address saves=member_saves />
                </section>
                <div class="stack">
                    <ChangeEffect name=name address=address save=save_members saves=member_saves version=version />
                    {render_resource_part(head, |(_, view)| show_users(&view).into_any())}
                </div>
            </div>
            <Features name=name actions=features version=version />
            // Not rendered again by events: what was typed into the form stays.
            <Transition>
                {render_by_key(
                    head,
                    |(changes, view)| (view.group.name.clone(), *changes),
                    move |(_, view)| show_settings(view.group, save),
                )}
            </Transition>
        </div>
    }
    .into_any()
}

fn show_head(view: GroupPageView) -> AnyView {
    let GroupPageView { group, named, by_label, missing, missing_total, counts, findings, .. } = view;
    let releases = if counts.total() > 0 { describe_counts(&counts) } else { "none".to_owned() };
    let conflicts = (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> });
    let selector = group.selector.as_ref().map(ToString::to_string).unwrap_or_default();
    let selector = (!selector.is_empty()).then(|| {
        let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
        view! { <div><dt>"Selector"</dt><dd><a class="link mono" href=address>{selector}</a></dd></div> }
    });
    let exclusive = group.exclusive.then(|| view! { <span class="tag">"exclusive"</span> });
    let missing = (missing_total > 0).then(|| {
        let names = join_names(&missing, missing_total, MISSING_SHOWN);
        view! { <p class="text-2">{format!("No cluster has this name yet: {names}. Check the spelling.")}</p> }
    });
    let veto = check_membership_change(&group).err().map(|_| {
        view! {
            <Banner look=StatusStyle { icon: "lock", hue: "hue-paused", emphasis: "state-quiet" }>
                <p>
                    <b>"The members are locked."</b>
                    " The feature membershipLock rejects every change of them until it is disabled."
                </p>
            </Banner>
        }
    });
    view! {
        <div class="stack-sm min-w-0 flex-1">
            <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                <h1 class="title-mono">{group.name}</h1>
                {exclusive}
            </div>
            <dl class="facts">
                <div><dt>"Members"</dt><dd>{describe_members(named, by_label)}</dd></div>
                <div><dt>"Releases"</dt><dd>{releases}</dd></div>
                {selector}
            </dl>
            {(counts.targeted() > 0).then(|| view! { <StateStrip counts=counts /> })}
            {missing}
            {conflicts}
            {veto}
        </div>
    }
    .into_any()
}

/// The workloads whose draft or published revision refers to the group.
fn show_users(view: &GroupPageView) -> impl IntoView + use<> {
    let users = if view.used_by.is_empty() {
        view! { <p class="text-2">"No workload uses this group."</p> }.into_any()
    } else {
        let link = |workload: &String| {
            let address = paths::workload_tab(workload, WorkloadTab::Placement);
            view! { <li><a class="link name" href=address>{workload.clone()}</a></li> }
        };
        view! { <ul class="flex flex-wrap gap-x-4 gap-y-1">{view.used_by.iter().map(link).collect_view()}</ul> }
            .into_any()
    };
    view! {
        <section class="stack-sm" aria-labelledby="used-by">
            <h2 class="section" id="used-by">"Used by workloads"</h2>
            {users}
        </section>
    }
}

/// Settings that are not about its members.
fn show_settings(group: ClusterGroup, save: ServerAction<GroupSave>) -> AnyView {
    view! {
        <section class="stack-sm max-w-180" aria-labelledby="group-settings">
            <h2 class="section" id="group-settings">"Settings"</h2>
            <ActionForm action=save attr:class="stack-md" attr:data-guarded="">
                <Permission action=UserAction::ChangeGroups>
                    {action_error(save.value())}
                    <input type="hidden" name="form[name]" value=group.name />
                    <input type="hidden" name="form[base_revision]" value=group.revision.to_string() />
                    <label class="choice">
                        <input type="checkbox" class="checkbox" name="form[exclusive]" checked=group.exclusive />
                        "Exclusive: no other group may name these clusters"
                    </label>
                    <div class="field">
                        <span class="field-label">"Locked chart values"</span>
                        <TextArea class="textarea input-mono min-h-24" field="form[locked_values]"
                            text=group.locked_values label="Locked chart values" on_text=Callback::new(|_| ()) />
                        <p class="field-help">
                            "YAML, such as tls: {enabled: true}. Every chart has these values on the clusters of the group; a workload or an override that sets others is rejected."
                        </p>
                    </div>
                    <div>
                        <button class="btn" type="submit">"Save settings"</button>
                    </div>
                </Permission>
            </ActionForm>
        </section>
    }
    .into_any()
}

/// The menu of the page. Rendered once, so that an update of the page does not close it.
fn show_menu(name: String, address: Memo<MembersAddress>) -> AnyView {
    let deletion = move || address.read().to_deletion_path(&name);
    view! {
        <div class="head-actions">
            <button class="btn btn-icon" type="button" popovertarget="group-menu" aria-label="More actions">
                {icon("more")}
            </button>
            <div class="popover" id="group-menu" popover="auto">
                <a class="menu-item" href=deletion>"Delete group…"</a>
            </div>
        </div>
    }
    .into_any()
}

/// The question whether the group is deleted, if the address asks it.
#[component]
fn DeleteDialog(
    name: Memo<String>,
    /// The change of the members that is not saved, to which Cancel returns.
    address: Memo<MembersAddress>,
    delete: ServerAction<GroupDelete>,
) -> impl IntoView {
    let query = use_query_map();
    let is_asked = Memo::new(move |_| query.read().get("dialog").is_some_and(|dialog| dialog == "delete"));
    move || {
        is_asked.get().then(|| {
            let data = create_resource(move || name.get(), group_read);
            render_resource_part(data, move |view| {
                let back = address.get_untracked().to_path(&view.group.name);
                deletion_dialog(&view, back, delete)
            })
        })
    }
}

/// The deletion, or the workloads that prevent it.
fn deletion_dialog(view: &GroupPageView, back: String, delete: ServerAction<GroupDelete>) -> AnyView {
    let name = view.group.name.clone();
    let title = format!("Delete {name}?");
    match domain::actions::check_delete_group(&name, &view.used_by) {
        Err(why) => {
            let why = why.to_string();
            view! {
                <ConfirmDialog title=title back=back.clone()>
                    <div class="dialog-body">
                        <p>{why}</p>
                    </div>
                    <div class="dialog-actions">
                        <a class="btn" href=back>"Close"</a>
                    </div>
                </ConfirmDialog>
            }
            .into_any()
        }
        Ok(()) => view! {
            <ConfirmDialog title=title back=back.clone()>
                <ActionForm action=delete>
                    <Permission action=UserAction::ChangeGroups>
                        <input type="hidden" name="name" value=name />
                        <div class="dialog-body">
                            {action_error(delete.value())}
                            <p>"Its clusters do not change. No workload uses this group."</p>
                        </div>
                        {dialog_buttons(back, "Delete", "btn btn-danger-solid")}
                    </Permission>
                </ActionForm>
            </ConfirmDialog>
        }
        .into_any(),
    }
}

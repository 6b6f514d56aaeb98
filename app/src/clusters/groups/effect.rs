//! What a change of the members of a group would do, before it is saved: to its members, and to the workloads that it places.

use domain::authorization::UserAction;
use domain::placement::{
    ClusterGroup, GroupEffect, GroupMembersChange, GroupPreview, NewMembers, REMOVAL_NOTICE_MINUTES,
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::address::MembersAddress;
use crate::components::error::action_error;
use crate::components::{FindingList, join_names, pluralize, render_resource_part};
use crate::errors::AppResult;
use crate::paths::{self, WorkloadTab};
use crate::permission::Permission;
use crate::resource::create_resource;

/// Names of clusters in a sentence; the others are counted.
const NAMES_SHOWN: usize = 6;

/// A change with its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    /// What of the address is a change of the stored group.
    pub change: GroupMembersChange,
    /// Its effect.
    pub preview: GroupPreview,
    /// The revision of the group.
    pub revision: i64,
}

/// What the change of this address would do.
#[server(prefix = "/api/fn", endpoint = "group_change_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_change_read(name: String, address: MembersAddress) -> AppResult<ChangeView> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let group = host::into_app_result(hub.get_group(&name).await)?;
    let change = without_no_ops(address.change(), &group);
    let preview = host::into_app_result(hub.preview_group_members(&name, &change).await)?;
    Ok(ChangeView { change, preview, revision: group.revision })
}

/// Saves the change of the members. If workloads would leave clusters, that has to be `confirmed`.
#[server(prefix = "/api/fn", endpoint = "group_members_save")]
pub async fn group_members_save(
    name: String,
    base_revision: i64,
    #[server(default)] address: MembersAddress,
    #[server(default)] confirmed: bool,
) -> AppResult<()> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let change = address.change();
    if !confirmed {
        let preview = host::into_app_result(hub.preview_group_members(&name, &change).await)?;
        if preview.workloads.iter().any(|one| !one.losing.is_empty()) {
            let message = "Workloads would leave clusters by this change. Confirm it, or discard the change.";
            return Err(host::with_status(AppError::FailedPrecondition(message.to_owned())));
        }
    }
    host::into_app_result(hub.change_group_members(&actor, &name, &change, base_revision).await)?;
    leptos_axum::redirect(&paths::group(&name));
    Ok(())
}

/// The change without what the group is already.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the change"))]
fn without_no_ops(change: GroupMembersChange, group: &ClusterGroup) -> GroupMembersChange {
    let GroupMembersChange { mut add, mut remove, selector } = change;
    add.retain(|name| !group.members.contains(name));
    remove.retain(|name| group.members.contains(name));
    let stored = group.selector.as_ref().map(ToString::to_string).unwrap_or_default();
    GroupMembersChange { add, remove, selector: selector.filter(|text| text.trim() != stored) }
}

/// The effect of the change in the address, and the button that saves it.
#[component]
pub fn ChangeEffect(
    name: Memo<String>,
    address: Memo<MembersAddress>,
    save: ServerAction<GroupMembersSave>,
    /// Grows when a change was saved.
    saves: RwSignal<u32>,
    /// Grows when the fleet has changed, as long as the page is not left.
    version: Memo<u32>,
) -> impl IntoView {
    let change = Memo::new(move |_| address.read().change_only());
    let data = create_resource(
        move || (name.get(), change.get(), saves.get(), version.get()),
        |(name, address, ..)| group_change_read(name, address),
    );
    view! {
        <aside class="stack-sm" aria-labelledby="effect">
            <h2 class="section" id="effect">"Change of the members"</h2>
            {action_error(save.value())}
            {render_resource_part(data, move |view| show_change(view, name.get_untracked(), change.get_untracked(), save))}
        </aside>
    }
    .into_any()
}

fn show_change(
    view: ChangeView,
    name: String,
    address: MembersAddress,
    save: ServerAction<GroupMembersSave>,
) -> AnyView {
    let ChangeView { change, preview, revision } = view;
    if change.is_empty() {
        return view! {
            <p class="text-2">
                "Nothing is changed yet. Tick clusters, untick them, or change the labels: what follows from it is shown here before anything is saved."
            </p>
        }
        .into_any();
    }
    let losing: usize = preview.workloads.iter().filter(|one| !one.losing.is_empty()).count();
    let back = paths::group(&name);
    view! {
        <div class="stack-md" role="status">
            {show_findings(&preview)}
            {show_members(&preview)}
            {show_unregistered(&change, &preview)}
            {show_effects(&preview)}
        </div>
        <ActionForm action=save attr:class="stack-md">
            <Permission action=UserAction::ChangeGroups>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="base_revision" value=revision.to_string() />
                <input type="hidden" name="address[add]" value=address.add />
                <input type="hidden" name="address[remove]" value=address.remove />
                <input type="hidden" name="address[selector]" value=address.selector />
                {(losing > 0).then(|| confirmation(losing))}
                <div class="flex flex-wrap gap-2">
                    <button class="btn btn-primary" type="submit">"Save members"</button>
                    <a class="btn" href=back>"Discard"</a>
                </div>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

fn confirmation(losing: usize) -> impl IntoView {
    let workloads = pluralize(u32::try_from(losing).unwrap_or(u32::MAX), "workload");
    view! {
        <label class="choice">
            <input type="checkbox" class="checkbox" name="confirmed" value="true" required=true />
            {format!("Let {workloads} leave these clusters")}
        </label>
    }
}

/// Why the change would be rejected.
fn show_findings(preview: &GroupPreview) -> Option<impl IntoView + use<>> {
    let findings = preview.findings.clone();
    (!findings.is_empty()).then(|| {
        view! {
            <p>"The change would be rejected:"</p>
            <FindingList findings=findings />
        }
    })
}

/// The members before and after, and which join and leave.
fn show_members(preview: &GroupPreview) -> impl IntoView + use<> {
    let count = format!("{} → {}", preview.members, pluralize(preview.members_after, "cluster"));
    let line = |word: &'static str, names: &[String]| {
        (!names.is_empty()).then(|| {
            let names = join_names(names, names.len(), NAMES_SHOWN);
            view! { <dt>{word}</dt><dd class="name whitespace-normal">{names}</dd> }
        })
    };
    view! {
        <dl class="pairs">
            <dt>"Members"</dt>
            <dd>{count}</dd>
            {line("Join", &preview.joining)}
            {line("Leave", &preview.leaving)}
        </dl>
    }
}

/// A change of names that changes no member: of clusters that are members by label, too, or that do not exist.
fn show_unregistered(change: &GroupMembersChange, preview: &GroupPreview) -> Option<impl IntoView + use<>> {
    let changes_none = preview.joining.is_empty() && preview.leaving.is_empty();
    (changes_none && change.selector.is_none()).then(|| {
        view! { <p class="text-2">"These clusters are members by their labels, or do not exist yet."</p> }
    })
}

fn show_effects(preview: &GroupPreview) -> impl IntoView + use<> {
    let more = (preview.not_evaluated > 0).then(|| {
        let text = format!(
            "The effect on {} more that refer to the group was not computed.",
            pluralize(preview.not_evaluated, "workload")
        );
        view! { <p class="text-2">{text}</p> }
    });
    let none = (preview.workloads.is_empty() && preview.not_evaluated == 0)
        .then(|| view! { <p class="text-2">"No published workload is placed elsewhere by it."</p> });
    let effects = preview.workloads.iter().map(show_effect).collect_view();
    view! {
        {none}
        <ul class="stack-sm">{effects}</ul>
        {more}
    }
}

fn show_effect(effect: &GroupEffect) -> impl IntoView + use<> {
    let GroupEffect { workload, losing, gaining, new_members } = effect;
    let clusters = |names: &[String]| pluralize(u32::try_from(names.len()).unwrap_or(u32::MAX), "cluster");
    let losing = (!losing.is_empty()).then(|| {
        let text = format!(
            "would leave {} in {REMOVAL_NOTICE_MINUTES} min: {}. Until then the removal can be cancelled.",
            clusters(losing),
            join_names(losing, losing.len(), NAMES_SHOWN)
        );
        view! { <p class="warn-box hue-drifted">{text}</p> }
    });
    let gaining = (!gaining.is_empty()).then(|| {
        let when = match new_members {
            NewMembers::Manual => "with its next publish",
            NewMembers::Auto => "at once",
        };
        let names = join_names(gaining, gaining.len(), NAMES_SHOWN);
        view! { <p>{format!("would come to {} {when}: {names}.", clusters(gaining))}</p> }
    });
    view! {
        <li class="stack-sm">
            <a class="link name" href=paths::workload_tab(workload, WorkloadTab::Placement)>{workload.clone()}</a>
            {losing}
            {gaining}
        </li>
    }
}

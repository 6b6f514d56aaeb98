//! Confirmation dialogs of sync, unpublish, abort, delete, and of replacing the draft by a revision. Each shows the number of clusters concerned.

use domain::authorization::UserAction;
use domain::dependency::HAS_DEPENDENTS;
use domain::rollout::RolloutAction;
use domain::workload::DeletionPolicy;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

use super::head::{WorkloadPageHead, workload_head_read};
use super::rollout::panel::RolloutControl;
use crate::components::dialog::{confirmed_deletion, dialog_buttons};
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, icon, pluralize, render_resource_part};
use crate::errors::{AppError, AppResult};
use crate::paths::{self, WorkloadTab};
use crate::permission::Permission;
use crate::resource::create_resource;

/// Requests an immediate reconciliation on one cluster, or on all targeted clusters if `cluster` is empty. Never adds a target
/// (S1-9b). Returns the number of clusters.
#[server(prefix = "/api/fn", endpoint = "workload_sync")]
pub async fn workload_sync(name: String, cluster: String) -> AppResult<u32> {
    use crate::host;
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster.clone()] };
    let requested =
        host::into_app_result(host::hub()?.sync_workload(&host::actor()?, &name, &clusters).await)?;
    let back = if cluster.is_empty() { paths::workload(&name) } else { paths::release(&name, &cluster) };
    leptos_axum::redirect(&back);
    Ok(requested)
}

/// Removes the workload from every cluster. The draft is retained.
#[server(prefix = "/api/fn", endpoint = "workload_unpublish")]
pub async fn workload_unpublish(
    name: String,
    objects: String,
    #[server(default)] force: bool,
    #[server(default)] ignore_dependents: bool,
) -> AppResult<()> {
    use crate::host;
    let removal = removal_options(&objects, (force, ignore_dependents));
    host::into_app_result(host::hub()?.unpublish_workload(&host::actor()?, &name, removal).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// Removes the workload from every cluster and deletes it once it runs nowhere.
#[server(prefix = "/api/fn", endpoint = "workload_delete")]
pub async fn workload_delete(
    name: String,
    confirmed_name: String,
    objects: String,
    #[server(default)] force: bool,
    #[server(default)] ignore_dependents: bool,
) -> AppResult<()> {
    use crate::host;
    let actor = host::actor()?;
    if confirmed_name != name {
        let why = domain::Finding::error(
            "G505",
            "The typed name is not the name of the workload.",
            format!("Type {name} to delete it."),
        );
        return Err(host::with_status(AppError::from_finding(why)));
    }
    let removal = removal_options(&objects, (force, ignore_dependents));
    host::into_app_result(host::hub()?.delete_workload(&actor, &name, removal).await)?;
    leptos_axum::redirect(paths::WORKLOADS);
    Ok(())
}

/// Replaces the draft by the content of a revision, if it still has the revision `base_revision`, and redirects to its review.
#[server(prefix = "/api/fn", endpoint = "workload_restore")]
pub async fn workload_restore(name: String, revision: u32, base_revision: i64) -> AppResult<()> {
    use crate::host;
    let hub = host::hub()?;
    let restored = hub.restore_revision(&host::actor()?, &name, revision, Some(base_revision)).await;
    host::into_app_result(restored)?;
    leptos_axum::redirect(&paths::publish(&name));
    Ok(())
}

/// The options of a removal: what happens to the objects, whether clusters that are not reachable are abandoned, and whether it is removed
/// although other workloads depend on it.
#[cfg(feature = "ssr")]
pub fn removal_options(
    objects: &str,
    (force, ignore_dependents): (bool, bool),
) -> domain::request::RemovalOptions {
    let deletion = match objects {
        "delete" => Some(DeletionPolicy::Foreground),
        "leave" => Some(DeletionPolicy::Orphan),
        _ => None,
    };
    domain::request::RemovalOptions { deletion, force, ignore_dependents }
}

/// A dialog of the page of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WorkloadDialog {
    /// Syncs on this cluster; on all if it is empty.
    Sync(String),
    Unpublish,
    Delete,
    Abort,
    /// Replaces the draft by this revision.
    Copy(u32),
}

impl WorkloadDialog {
    /// The dialog that the query of the address names, if any.
    fn from_query(query: &ParamsMap) -> Option<Self> {
        match &*query.get("dialog")? {
            "sync" => Some(Self::Sync(query.get("cluster").unwrap_or_default())),
            "unpublish" => Some(Self::Unpublish),
            "delete" => Some(Self::Delete),
            "abort" => Some(Self::Abort),
            "copy" => Some(Self::Copy(query.get("revision")?.parse().ok()?)),
            _ => None,
        }
    }
}

/// The dialog that the query of the address names, if any. Not part of the live page: its facts are read when it opens, so an
/// update does not discard what was typed or chosen in it.
#[component]
pub fn WorkloadDialogs(name: Memo<String>) -> impl IntoView {
    let query = use_query_map();
    let dialog = Memo::new(move |_| WorkloadDialog::from_query(&query.read()));
    move || {
        dialog.get().map(|dialog| {
            let name = name.get();
            let data = create_resource(|| (), move |()| workload_head_read(name.clone()));
            render_resource_part(data, move |head| show_dialog(dialog.clone(), head))
        })
    }
}

fn show_dialog(dialog: WorkloadDialog, head: WorkloadPageHead) -> AnyView {
    match dialog {
        WorkloadDialog::Sync(cluster) => view! { <SyncDialog head=head cluster=cluster /> }.into_any(),
        WorkloadDialog::Unpublish => view! { <UnpublishDialog head=head /> }.into_any(),
        WorkloadDialog::Delete => view! { <DeleteDialog head=head /> }.into_any(),
        WorkloadDialog::Abort => view! { <AbortDialog head=head /> }.into_any(),
        WorkloadDialog::Copy(revision) => view! { <CopyDialog head=head revision=revision /> }.into_any(),
    }
}

/// States in one sentence what is removed and what remains.
fn describe_removal(head: &WorkloadPageHead) -> String {
    let there = head.counts.targeted().saturating_sub(head.unreachable);
    let later = match head.unreachable {
        0 => String::new(),
        n => format!(
            " {} can't be reached now; it is removed there when they reconnect.",
            pluralize(n, "cluster")
        ),
    };
    format!(
        "It is removed from {} now.{later} Namespaces that Flotilla created and volume claims of StatefulSets remain.",
        pluralize(there, "cluster")
    )
}

fn deletion_policy_options(policy: DeletionPolicy) -> impl IntoView {
    view! {
        <div class="stack-sm">
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="delete" checked=policy == DeletionPolicy::Foreground />
                "Delete the objects"
            </label>
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="leave" checked=policy == DeletionPolicy::Orphan />
                "Orphan: leave the objects running and stop managing them"
            </label>
            {(policy == DeletionPolicy::SelectivelyOrphan).then(|| view! {
                <label class="choice">
                    <input type="radio" name="objects" class="radio" value="policy" checked=true />
                    "Orphan the objects that the policy names, delete the others"
                </label>
            })}
        </div>
    }
}

fn force_option(unreachable: u32) -> impl IntoView {
    (unreachable > 0).then(|| {
        view! {
            <label class="choice">
                <input type="checkbox" name="force" class="checkbox" value="true" />
                {format!("Abandon {} that can't be reached, and complete the removal there later", pluralize(unreachable, "cluster"))}
            </label>
        }
    })
}

/// Asks once the server has refused the removal because other workloads depend on this one.
fn dependents_option(result: impl Fn() -> Option<AppResult<()>> + Send + Sync + 'static) -> impl IntoView {
    let is_refused = move || match result() {
        Some(Err(AppError::Invalid(findings))) => {
            findings.iter().any(|finding| finding.code == HAS_DEPENDENTS)
        }
        _ => false,
    };
    move || {
        is_refused().then(|| {
            view! {
                <label class="choice">
                    <input type="checkbox" name="ignore_dependents" class="checkbox" value="true" />
                    "Remove it although these workloads depend on it"
                </label>
            }
        })
    }
}

#[component]
fn SyncDialog(head: WorkloadPageHead, cluster: String) -> impl IntoView {
    let action = ServerAction::<WorkloadSync>::new();
    let name = head.name.clone();
    let (back, on, agents) = if cluster.is_empty() {
        (paths::workload(&name), pluralize(head.counts.targeted(), "cluster"), "Every agent")
    } else {
        (paths::release(&name, &cluster), cluster.clone(), "Its agent")
    };
    let title = format!("Sync {name} on {on} now?");
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::Sync>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="cluster" value=cluster />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>{agents}" resets its retry delay, compares the live objects with the published revision and reverts differences. No cluster is added."</p>
                    </div>
                    {dialog_buttons(back, "Sync", "btn btn-primary")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// Asks before a rollout ends: the clusters that it has not reached keep what they have.
#[component]
fn AbortDialog(head: WorkloadPageHead) -> AnyView {
    let action = ServerAction::<RolloutControl>::new();
    let abort = RolloutAction::Abort;
    let Some(rollout) = head.rollout.filter(|rollout| rollout.check_action(abort).is_ok()) else {
        return ().into_any();
    };
    let back = paths::workload(&head.name);
    let revision = rollout.revision;
    let gated: u32 = rollout.waves.iter().map(|wave| wave.gated).sum();
    let body = match gated {
        0 => format!("Every cluster has r{revision} and stays at it."),
        1 => format!("1 cluster does not get r{revision}; those that have it stay at it."),
        n => format!("{n} clusters do not get r{revision}; those that have it stay at it."),
    };
    view! {
        <ConfirmDialog title=format!("Abort the rollout of {} r{revision}?", head.name) back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::ControlRollout>
                    <input type="hidden" name="name" value=head.name />
                    <input type="hidden" name="action" value=abort.as_str() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>{body}" It can't be resumed, but the revision can be published again."</p>
                    </div>
                    {dialog_buttons(back, "Abort rollout", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

#[component]
fn UnpublishDialog(head: WorkloadPageHead) -> impl IntoView {
    let action = ServerAction::<WorkloadUnpublish>::new();
    let name = head.name.clone();
    let back = paths::workload(&name);
    let title = format!("Unpublish {name} from {}?", pluralize(head.counts.targeted(), "cluster"));
    let unreachable = head.unreachable;
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::Unpublish>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>{describe_removal(&head)}" The draft and its history remain; publishing again deploys it again."</p>
                        {deletion_policy_options(head.deletion)}
                        {force_option(unreachable)}
                        {dependents_option(move || action.value().get())}
                    </div>
                    {dialog_buttons(back, "Unpublish", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

#[component]
fn DeleteDialog(head: WorkloadPageHead) -> impl IntoView {
    let action = ServerAction::<WorkloadDelete>::new();
    let name = head.name.clone();
    let back = paths::workload(&name);
    let title = match head.counts.targeted() {
        0 => format!("Delete {name}?"),
        n => format!("Delete {name} from {}?", pluralize(n, "cluster")),
    };
    let unreachable = head.unreachable;
    let words = if head.counts.targeted() == 0 {
        "It runs on no cluster. Its draft and its revisions are deleted.".to_owned()
    } else {
        format!("{} Then its draft and its revisions are deleted.", describe_removal(&head))
    };
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::DeleteWorkload>
                    <input type="hidden" name="name" value=name.clone() />
                    {confirmed_deletion(&name, back, action, view! {
                        {action_error(action.value())}
                        <p>{words}</p>
                        {deletion_policy_options(head.deletion)}
                        {force_option(unreachable)}
                        {dependents_option(move || action.value().get())}
                    })}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// Asks before the draft is replaced by a revision: changes of it that are not published would be lost.
#[component]
fn CopyDialog(head: WorkloadPageHead, revision: u32) -> impl IntoView {
    let action = ServerAction::<WorkloadRestore>::new();
    let name = head.name.clone();
    let back = paths::workload_tab(&name, WorkloadTab::History);
    let (title, body, verb, class) = match head.is_draft_changed {
        true => (
            format!("Discard the changes of the draft of {name}?"),
            format!(
                "The draft has changes that are not published. They are lost when r{revision} is copied to it."
            ),
            "Discard and copy",
            "btn btn-danger-solid",
        ),
        false => (
            format!("Copy r{revision} to the draft of {name}?"),
            "The draft has no changes that are not published, so nothing is lost.".to_owned(),
            "Copy to draft",
            "btn btn-primary",
        ),
    };
    let other = paths::roll_back(&name, revision);
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::Edit>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="revision" value=revision.to_string() />
                    <input type="hidden" name="base_revision" value=head.draft_revision.to_string() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>{body}" No cluster changes before the next publish."</p>
                        <p class="text-2">
                            "To run it again and leave the draft as it is: "
                            <a class="link" href=other>
                                {format!("Roll back to r{revision}")}
                            </a>
                        </p>
                    </div>
                    {dialog_buttons(back, verb, class)}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// The button that requests an immediate reconciliation on one cluster.
#[component]
pub fn SyncButton(
    /// Name of the workload.
    name: String,
    /// Name of the cluster.
    cluster: String,
    /// What the sync does there.
    label: String,
) -> impl IntoView {
    let action = ServerAction::<WorkloadSync>::new();
    view! {
        <ActionForm action=action>
            <Permission action=UserAction::Sync>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="cluster" value=cluster />
                <button class="btn btn-sm" type="submit">
                    {icon("retry")}
                    {label}
                </button>
            </Permission>
        </ActionForm>
        {action_error(action.value())}
    }
    .into_any()
}

//! Confirmation dialogs of sync, unpublish and delete. Each shows the number of clusters concerned.

use domain::workload::DeletionPolicy;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::head::WorkloadHead;
use crate::components::{ConfirmDialog, ErrorBanner, icon, pluralize};
use crate::errors::AppResult;
use crate::paths;

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
) -> AppResult<()> {
    use crate::host;
    let removal = removal_options(&objects, force);
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
) -> AppResult<()> {
    use crate::{errors::AppError, host};
    let actor = host::actor()?;
    if confirmed_name != name {
        let why = domain::Finding::error(
            "G505",
            "The typed name is not the name of the workload.",
            format!("Type {name} to delete it."),
        );
        return Err(host::with_status(AppError::from_finding(why)));
    }
    host::into_app_result(
        host::hub()?.delete_workload(&actor, &name, removal_options(&objects, force)).await,
    )?;
    leptos_axum::redirect(paths::WORKLOADS);
    Ok(())
}

#[cfg(feature = "ssr")]
fn removal_options(objects: &str, force: bool) -> domain::request::RemovalOptions {
    let deletion = match objects {
        "delete" => Some(DeletionPolicy::Foreground),
        "leave" => Some(DeletionPolicy::Orphan),
        _ => None,
    };
    domain::request::RemovalOptions { deletion, force }
}

/// The dialog that the query parameter `dialog` names, if any.
#[component]
pub fn WorkloadDialogs(head: WorkloadHead) -> impl IntoView {
    let query = use_query_map();
    let ask = Memo::new(move |_| query.read().get("dialog").unwrap_or_default());
    move || match ask.get().as_str() {
        "sync" => view! { <SyncDialog head=head.clone() /> }.into_any(),
        "unpublish" => view! { <UnpublishDialog head=head.clone() /> }.into_any(),
        "delete" => view! { <DeleteDialog head=head.clone() /> }.into_any(),
        _ => ().into_any(),
    }
}

/// States in one sentence what is removed and what remains.
fn describe_removal(head: &WorkloadHead) -> String {
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
                {format!("Abandon {} that can't be reached; their objects are removed when they return", pluralize(unreachable, "cluster"))}
            </label>
        }
    })
}

#[component]
fn SyncDialog(head: WorkloadHead) -> impl IntoView {
    let action = ServerAction::<WorkloadSync>::new();
    let name = head.name.clone();
    let back = paths::workload(&name);
    let title = format!("Compare {name} with {} now?", pluralize(head.counts.targeted(), "cluster"));
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="cluster" value="" />
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>"Every agent resets its retry delay, compares the live objects with the published revision and reverts differences. No cluster is added."</p>
                </div>
                {dialog_buttons(back, "Sync", "btn btn-primary")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

#[component]
fn UnpublishDialog(head: WorkloadHead) -> impl IntoView {
    let action = ServerAction::<WorkloadUnpublish>::new();
    let name = head.name.clone();
    let back = paths::workload(&name);
    let title = format!("Unpublish {name} from {}?", pluralize(head.counts.targeted(), "cluster"));
    let unreachable = head.unreachable;
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>{describe_removal(&head)}" The draft and its history remain; publishing again deploys it again."</p>
                    {deletion_policy_options(head.deletion)}
                    {force_option(unreachable)}
                </div>
                {dialog_buttons(back, "Unpublish", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

#[component]
fn DeleteDialog(head: WorkloadHead) -> impl IntoView {
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
                <input type="hidden" name="name" value=name.clone() />
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>{words}</p>
                    {deletion_policy_options(head.deletion)}
                    {force_option(unreachable)}
                    <div class="field">
                        <label class="field-label" for="confirmed_name">
                            "Type "
                            <b class="name">{name.clone()}</b>
                            " to confirm"
                        </label>
                        <input class="input input-mono" id="confirmed_name" name="confirmed_name" pattern=name required=true autocomplete="off" />
                    </div>
                </div>
                {dialog_buttons(back, "Delete", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn action_error<T: Clone + Send + Sync + 'static>(value: ActionValue<T>) -> impl IntoView {
    move || value.get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })
}

type ActionValue<T> = MappedSignal<Option<AppResult<T>>>;

fn dialog_buttons(back: String, verb: &'static str, class: &'static str) -> impl IntoView {
    view! {
        <div class="dialog-actions">
            <a class="btn" href=back>
                "Cancel"
            </a>
            <button class=class type="submit">
                {verb}
            </button>
        </div>
    }
}

/// The button that requests an immediate reconciliation on one cluster.
#[component]
pub fn SyncButton(name: String, cluster: String) -> impl IntoView {
    let action = ServerAction::<WorkloadSync>::new();
    view! {
        <ActionForm action=action>
            <input type="hidden" name="name" value=name />
            <input type="hidden" name="cluster" value=cluster />
            <button class="btn btn-sm" type="submit">
                {icon("retry")}
                "Sync now"
            </button>
        </ActionForm>
        {action_error(action.value())}
    }
    .into_any()
}

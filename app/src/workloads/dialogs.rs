//! Sync, unpublish, delete: each says in counts what will happen before it does.

use domain::workload::{DeletionPolicy, WorkloadView};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::{Question, Said, count_of, icon};
use crate::errors::Answer;
use crate::paths;

/// Asks the given clusters to compare now; all of them without a name. Never adds a target (S1-9b).
#[server(prefix = "/api/fn", endpoint = "workload_sync")]
pub async fn workload_sync(name: String, cluster: String) -> Answer<u32> {
    use crate::host;
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster.clone()] };
    let asked = host::answer(host::hub()?.workload_sync(&host::actor()?, &name, &clusters).await)?;
    let back = if cluster.is_empty() { paths::workload(&name) } else { paths::release(&name, &cluster) };
    leptos_axum::redirect(&back);
    Ok(asked)
}

/// Takes it back from every cluster; the draft stays.
#[server(prefix = "/api/fn", endpoint = "workload_unpublish")]
pub async fn workload_unpublish(name: String, objects: String, #[server(default)] force: bool) -> Answer<()> {
    use crate::host;
    let removal = removal(&objects, force);
    host::answer(host::hub()?.workload_unpublish(&host::actor()?, &name, removal).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// Takes it back and forgets it once it runs nowhere.
#[server(prefix = "/api/fn", endpoint = "workload_delete")]
pub async fn workload_delete(
    name: String,
    typed: String,
    objects: String,
    #[server(default)] force: bool,
) -> Answer<()> {
    use crate::{errors::AppError, host};
    let actor = host::actor()?;
    if typed != name {
        let why = domain::Finding::error(
            "G505",
            "The name typed is not the workload's.",
            format!("Type {name} to delete it."),
        );
        return Err(host::refused(AppError::finding(why)));
    }
    host::answer(host::hub()?.workload_delete(&actor, &name, removal(&objects, force)).await)?;
    leptos_axum::redirect(paths::WORKLOADS);
    Ok(())
}

#[cfg(feature = "ssr")]
fn removal(objects: &str, force: bool) -> hub::Removal {
    let deletion = match objects {
        "delete" => Some(DeletionPolicy::Foreground),
        "leave" => Some(DeletionPolicy::Orphan),
        _ => None,
    };
    hub::Removal { deletion, force }
}

/// The question that stands in the address, if one does.
#[component]
pub fn Dialogs(view: WorkloadView) -> impl IntoView {
    let query = use_query_map();
    let ask = Memo::new(move |_| query.read().get("ask").unwrap_or_default());
    move || match ask.get().as_str() {
        "sync" => view! { <AskSync view=view.clone() /> }.into_any(),
        "unpublish" => view! { <AskUnpublish view=view.clone() /> }.into_any(),
        "delete" => view! { <AskDelete view=view.clone() /> }.into_any(),
        _ => ().into_any(),
    }
}

/// What goes and what stays, in one sentence.
fn consequence(view: &WorkloadView) -> String {
    let counts = &view.counts;
    let unknown = counts.of(domain::release::State::Unknown);
    let there = counts.targeted() - unknown;
    let later = match unknown {
        0 => String::new(),
        n => format!(" {} can't be reached now and follow when they return.", count_of(n, "cluster")),
    };
    format!("It leaves {} now.{later} Namespaces and volumes stay.", count_of(there, "cluster"))
}

fn objects_choice(policy: DeletionPolicy) -> impl IntoView {
    view! {
        <div class="stack-sm">
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="delete" checked=policy == DeletionPolicy::Foreground />
                "Delete the objects"
            </label>
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="leave" checked=policy == DeletionPolicy::Orphan />
                "Leave them running, stop managing them"
            </label>
            {(policy == DeletionPolicy::SelectivelyOrphan).then(|| view! {
                <label class="choice">
                    <input type="radio" name="objects" class="radio" value="policy" checked=true />
                    "Leave those that its policy names, delete the others"
                </label>
            })}
        </div>
    }
}

fn force_choice(unreachable: u32) -> impl IntoView {
    (unreachable > 0).then(|| {
        view! {
            <label class="choice">
                <input type="checkbox" name="force" class="checkbox" value="true" />
                {format!("Give up {} that can't be reached; what runs there is no longer known", count_of(unreachable, "cluster"))}
            </label>
        }
    })
}

#[component]
fn AskSync(view: WorkloadView) -> impl IntoView {
    let action = ServerAction::<WorkloadSync>::new();
    let name = view.workload.name.clone();
    let back = paths::workload(&name);
    let title = format!("Compare {name} with {} now?", count_of(view.counts.targeted(), "cluster"));
    view! {
        <Question title=title back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="cluster" value="" />
                <div class="dialog-body">
                    {refusal(action.value())}
                    <p>"Every agent forgets its waiting time, compares what runs with what is published and puts differences right. No cluster is added."</p>
                </div>
                {buttons(back, "Sync", "btn btn-primary")}
            </ActionForm>
        </Question>
    }
    .into_any()
}

#[component]
fn AskUnpublish(view: WorkloadView) -> impl IntoView {
    let action = ServerAction::<WorkloadUnpublish>::new();
    let name = view.workload.name.clone();
    let back = paths::workload(&name);
    let title = format!("Unpublish {name} from {}?", count_of(view.counts.targeted(), "cluster"));
    let unreachable = view.counts.of(domain::release::State::Unknown);
    view! {
        <Question title=title back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <div class="dialog-body">
                    {refusal(action.value())}
                    <p>{consequence(&view)}" The draft and its history are kept; publishing again brings it back."</p>
                    {objects_choice(view.workload.draft.policies.deletion)}
                    {force_choice(unreachable)}
                </div>
                {buttons(back, "Unpublish", "btn btn-danger-solid")}
            </ActionForm>
        </Question>
    }
    .into_any()
}

#[component]
fn AskDelete(view: WorkloadView) -> impl IntoView {
    let action = ServerAction::<WorkloadDelete>::new();
    let name = view.workload.name.clone();
    let back = paths::workload(&name);
    let title = match view.counts.targeted() {
        0 => format!("Delete {name}?"),
        n => format!("Delete {name} from {}?", count_of(n, "cluster")),
    };
    let unreachable = view.counts.of(domain::release::State::Unknown);
    let words = if view.counts.targeted() == 0 {
        "It runs nowhere. Its draft and its revisions go.".to_owned()
    } else {
        format!("{} Then its draft and its revisions go too.", consequence(&view))
    };
    view! {
        <Question title=title back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name.clone() />
                <div class="dialog-body">
                    {refusal(action.value())}
                    <p>{words}</p>
                    {objects_choice(view.workload.draft.policies.deletion)}
                    {force_choice(unreachable)}
                    <div class="field">
                        <label class="field-label" for="typed">
                            "Type "
                            <b class="name">{name.clone()}</b>
                            " to confirm"
                        </label>
                        <input class="input input-mono" id="typed" name="typed" pattern=name required=true autocomplete="off" />
                    </div>
                </div>
                {buttons(back, "Delete", "btn btn-danger-solid")}
            </ActionForm>
        </Question>
    }
    .into_any()
}

fn refusal<T: Clone + Send + Sync + 'static>(value: ArcMappedSignalOf<T>) -> impl IntoView {
    move || value.get().and_then(Result::err).map(|error| view! { <Said error=error /> })
}

type ArcMappedSignalOf<T> = MappedSignal<Option<Answer<T>>>;

fn buttons(back: String, verb: &'static str, class: &'static str) -> impl IntoView {
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

/// Asks one cluster to compare now.
#[component]
pub fn SyncNow(name: String, cluster: String) -> impl IntoView {
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
        {refusal(action.value())}
    }
    .into_any()
}

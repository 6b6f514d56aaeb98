//! The head of a workload's page: name, revision, author, actions and facts. The server sends what is shown, not the workload:
//! a draft can have a megabyte, and the head is read again on every live notice.

use domain::actions::ActionUnavailable;
use domain::placement::PendingRemoval;
#[cfg(feature = "ssr")]
use domain::placement::Placement;
use domain::rollout::Rollout;
use domain::rollup::ReleaseCounts;
use domain::workload::{DeletionPolicy, Intent, WorkloadFailure, WorkloadPhase};
#[cfg(feature = "ssr")]
use domain::workload::{Revision, Workload, WorkloadView};
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::wizard::WizardStep;
#[cfg(feature = "ssr")]
use crate::components::pluralize;
use crate::components::{Age, DisabledButton};
use crate::errors::AppResult;
use crate::paths;

/// What the head shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadHead {
    /// The workload.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: WorkloadPhase,
    /// The intent for it.
    pub intent: Intent,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// The published revision.
    pub published: Option<PublishedRevision>,
    /// Whether the draft differs from the published revision.
    pub is_draft_changed: bool,
    /// Whether it is an addon.
    pub is_addon: bool,
    /// The namespace of the draft.
    pub namespace: String,
    /// The source of the draft, in a few words.
    pub source: String,
    /// The placement of the draft in words.
    pub placement: String,
    /// What happens to the objects on a cluster that it leaves.
    pub deletion: DeletionPolicy,
    /// Its rollout, if it has waves.
    pub rollout: Option<Rollout>,
    /// What the hub failed to do for it.
    pub failures: Vec<WorkloadFailure>,
    /// Which actions are unavailable.
    pub actions: UnavailableActions,
    /// Clusters that no longer match and lose the workload after the removal notice.
    pub pending_removals: Vec<PendingRemoval>,
    /// Number of its clusters that are not online.
    pub unreachable: u32,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// A published revision, without its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedRevision {
    /// 1, 2, 3 …
    pub number: u32,
    /// Who published it.
    pub author: String,
    /// What the author wrote about it; may be empty.
    pub message: String,
    /// When it was published.
    pub created_at: Timestamp,
}

#[cfg(feature = "ssr")]
impl From<Revision> for PublishedRevision {
    fn from(Revision { number, author, message, created_at, .. }: Revision) -> Self {
        Self { number, author, message, created_at }
    }
}

/// Why each action is unavailable; `None` if it is available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnavailableActions {
    /// Publish.
    pub publish: Option<ActionUnavailable>,
    /// Edit the draft.
    pub edit: Option<ActionUnavailable>,
    /// Sync now.
    pub sync: Option<ActionUnavailable>,
    /// Unpublish.
    pub unpublish: Option<ActionUnavailable>,
    /// Delete.
    pub delete: Option<ActionUnavailable>,
}

#[cfg(feature = "ssr")]
impl UnavailableActions {
    fn from_workload(workload: &Workload) -> Self {
        use domain::actions;
        Self {
            publish: actions::check_publish(workload).err(),
            edit: actions::check_edit(workload).err(),
            sync: actions::check_sync(&workload.head()).err(),
            unpublish: actions::check_unpublish(&workload.head()).err(),
            delete: actions::check_delete(&workload.head()).err(),
        }
    }
}

#[cfg(feature = "ssr")]
impl WorkloadHead {
    fn from_details(details: hub::WorkloadDetails, read_at: Timestamp) -> Self {
        let hub::WorkloadDetails { view, pending_removals, unreachable } = details;
        let WorkloadView { workload, phase, counts, published_revision, rollout, failures } = view;
        let actions = UnavailableActions::from_workload(&workload);
        let draft = workload.draft;
        Self {
            id: workload.id,
            name: workload.name,
            phase,
            intent: workload.intent,
            counts,
            published: published_revision.map(PublishedRevision::from),
            is_draft_changed: workload.draft_changed,
            is_addon: draft.addon,
            source: draft.source.summary(),
            placement: describe_placement(&draft.placement),
            namespace: draft.namespace,
            deletion: draft.policies.deletion,
            rollout,
            failures,
            actions,
            pending_removals,
            unreachable,
            read_at,
        }
    }
}

/// Reads the head of a workload's page.
#[server(prefix = "/api/fn", endpoint = "workload_head_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workload_head_read(name: String) -> AppResult<WorkloadHead> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let details = host::into_app_result(hub.get_workload_details(&name).await)?;
    Ok(WorkloadHead::from_details(details, hub.clock().now()))
}

/// Name, revision, author and time, then the actions. An unavailable action shows its reason.
#[component]
pub fn WorkloadHeader(head: WorkloadHead) -> impl IntoView {
    let WorkloadHead { name, published, actions, read_at, is_addon, .. } = head;
    let review = review_button(&name, head.intent, published.as_ref(), actions.publish);
    let story = published.map(|revision| {
        let PublishedRevision { number, author, message, created_at } = revision;
        let message = if message.is_empty() { String::new() } else { format!(", “{message}”") };
        view! {
            <a class="tag" href=paths::revision(&name, number)>
                {format!("r{number}")}
            </a>
            <span class="text-2">
                "published "
                <Age since=created_at at=read_at suffix=" ago" />
                {format!(" by {author}{message}")}
            </span>
        }
    });
    view! {
        <div class="head">
            <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                <h1 class="title-mono">{name.clone()}</h1>
                {is_addon.then(|| view! { <span class="tag">"addon"</span> })}
                {story}
            </div>
            <div class="head-actions">
                {dialog_link(&name, "delete", "Delete…", actions.delete)}
                {dialog_link(&name, "unpublish", "Unpublish…", actions.unpublish)}
                {dialog_link(&name, "sync", "Sync…", actions.sync)}
                {actions.edit.is_none().then(|| view! { <a class="btn" href=WizardStep::Source.path(&name)>"Edit"</a> })}
                {review}
            </div>
        </div>
    }
    .into_any()
}

/// The link to the review; disabled with the reason if the draft cannot be published.
fn review_button(
    name: &str,
    intent: Intent,
    published: Option<&PublishedRevision>,
    unavailable: Option<ActionUnavailable>,
) -> AnyView {
    if let Some(why) = unavailable {
        return view! { <DisabledButton verb="Publish".to_owned() why=why.to_string() id="why-publish" /> }
            .into_any();
    }
    let next = published.map_or(1, |revision| revision.number + 1);
    let verb = if intent == Intent::Unpublished { "Review".to_owned() } else { format!("Review r{next}") };
    view! {
        <a class="btn btn-primary" href=paths::publish(name)>
            {verb}
        </a>
    }
    .into_any()
}

/// The link to the dialog of an action; disabled with the reason if the action is unavailable.
fn dialog_link(
    name: &str,
    dialog: &'static str,
    label: &'static str,
    unavailable: Option<ActionUnavailable>,
) -> AnyView {
    match unavailable {
        None => view! { <a class="btn" href=paths::workload_dialog(name, dialog)>{label}</a> }.into_any(),
        Some(why) => view! { <button class="btn" type="button" aria-disabled="true" title=why.to_string()>{label}</button> }.into_any(),
    }
}

/// Phase, namespace, source, placement, and how the draft differs.
#[component]
pub fn WorkloadFacts(head: WorkloadHead) -> impl IntoView {
    let state = match (head.intent, head.is_draft_changed) {
        (Intent::Draft, _) => "not published yet",
        (_, true) => "differs from what is published",
        (_, false) => "as published",
    };
    view! {
        <dl class="facts">
            <div>
                <dt>"Phase"</dt>
                <dd>{head.phase.label()}</dd>
            </div>
            <div>
                <dt>"Namespace"</dt>
                <dd class="mono">{head.namespace}</dd>
            </div>
            <div>
                <dt>"Source"</dt>
                <dd>{head.source.clone()}</dd>
            </div>
            <div>
                <dt>"Placement"</dt>
                <dd>{head.placement}</dd>
            </div>
            <div>
                <dt>"Draft"</dt>
                <dd>{state}</dd>
            </div>
        </dl>
    }
    .into_any()
}

/// Summarises a placement.
#[cfg(feature = "ssr")]
fn describe_placement(placement: &Placement) -> String {
    let one = |predicate: &domain::placement::Predicate| {
        let names = u32::try_from(predicate.names.len()).unwrap_or(u32::MAX);
        let groups = predicate.groups.join(" or ");
        let (labels, facts) = (predicate.label_selector.to_string(), predicate.field_selector.to_string());
        let parts = [
            if names > 0 { pluralize(names, "named cluster") } else { String::new() },
            if groups.is_empty() { String::new() } else { format!("group {groups}") },
            labels,
            facts,
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "every cluster".to_owned() } else { parts.join(" with ") }
    };
    let any: Vec<String> = placement.predicates.iter().map(one).collect();
    let base = if any.is_empty() { "no selection yet".to_owned() } else { any.join(" or ") };
    match (placement.number_of_clusters, placement.exclude.len()) {
        (Some(n), _) => format!("{base}, at most {n}"),
        (None, 0) => base,
        (None, n) => format!("{base}, except {n}"),
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use domain::placement::{Placement, Predicate};

    #[test]
    fn a_placement_is_summarised() {
        let names = |n: usize| Predicate { names: vec![String::from("a"); n], ..Predicate::default() };
        let of = |predicates, number_of_clusters| {
            describe_placement(&Placement { predicates, number_of_clusters, ..Placement::default() })
        };
        assert_eq!(of(vec![], None), "no selection yet");
        assert_eq!(of(vec![names(2)], None), "2 named clusters");
        assert_eq!(of(vec![Predicate::default()], Some(3)), "every cluster, at most 3");
    }
}

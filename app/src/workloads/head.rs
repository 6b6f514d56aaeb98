//! The head of a workload's page: name, revision, author, actions and facts. The server sends what is shown, not the workload:
//! a draft can have a megabyte, and the head is read again on every live notice.

use domain::actions::ActionUnavailable;
#[cfg(feature = "ssr")]
use domain::authorization::UserAction;
use domain::placement::PendingRemoval;
#[cfg(feature = "ssr")]
use domain::placement::Placement;
use domain::rollout::Rollout;
use domain::rollup::ReleaseCounts;
use domain::suspension::SuspensionDetails;
use domain::workload::{DeletionPolicy, Intent, WorkloadFailure, WorkloadPhase};
#[cfg(feature = "ssr")]
use domain::workload::{Revision, Workload, WorkloadView};
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

#[cfg(feature = "ssr")]
use crate::components::pluralize;
use crate::components::{Age, render_selected};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::PageResource;
use crate::search::WorkloadSwitch;

mod actions;

use actions::show_actions;

/// What the head of a workload's page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadPageHead {
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
    /// The draft's counter of changes.
    pub draft_revision: i64,
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
    /// What is suspended of it.
    pub suspension: SuspensionDetails,
    /// Number of its clusters that are not online.
    pub unreachable: u32,
    /// The newest earlier revision that was healthy on every cluster.
    pub healthy_revision: Option<u32>,
    /// The latest drift that was reverted, while that is recent.
    pub latest_heal: Option<ReportedHeal>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// A drift that was reverted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedHeal {
    /// When.
    pub at: Timestamp,
    /// The cluster, the fields with their values, and who changed them, in a few words.
    pub message: String,
}

#[cfg(feature = "ssr")]
impl ReportedHeal {
    fn from_event(event: &domain::event::Event) -> Self {
        let entries = crate::events::fold_events(std::slice::from_ref(event));
        let message = entries.first().map(crate::events::FeedEntry::whole_detail).unwrap_or_default();
        Self { at: event.at, message }
    }
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
    fn from_workload(workload: &Workload, actor: &hub::Actor) -> Self {
        use domain::actions;
        let check = |action: UserAction, state: Result<(), ActionUnavailable>| {
            let allowed = actor.check_role(action).map_err(|why| ActionUnavailable(why.to_string()));
            allowed.and(state).err()
        };
        let head = workload.head();
        Self {
            publish: check(UserAction::Publish, actions::check_publish(workload)),
            edit: check(UserAction::Edit, actions::check_edit(workload)),
            sync: check(UserAction::Sync, actions::check_sync(&head)),
            unpublish: check(UserAction::Unpublish, actions::check_unpublish(&head)),
            delete: check(UserAction::DeleteWorkload, actions::check_delete(&head)),
        }
    }
}

impl WorkloadPageHead {
    /// Whether a publish would change what runs.
    fn has_changes(&self) -> bool {
        self.is_draft_changed || self.intent != Intent::Published
    }

    /// The revision to roll back to, while releases of the published one fail and an earlier one was healthy everywhere.
    fn roll_back_revision(&self) -> Option<u32> {
        let is_failing = self.phase == WorkloadPhase::PartiallyPublished && self.intent == Intent::Published;
        self.healthy_revision.filter(|_| is_failing)
    }

    /// The phase, unless the states of the releases show it.
    fn phase_label(&self) -> Option<&'static str> {
        let is_shown = matches!(
            self.phase,
            WorkloadPhase::Unpublishing | WorkloadPhase::Unpublished | WorkloadPhase::Deleting
        );
        is_shown.then(|| self.phase.label())
    }

    /// How the draft differs from what runs.
    const fn draft_label(&self) -> &'static str {
        match (self.intent, self.is_draft_changed) {
            (Intent::Draft, _) => "not published yet",
            (_, true) => "differs from what is published",
            (Intent::Published, false) => "as published",
            (Intent::Unpublished | Intent::Deleting, false) => "as last published",
        }
    }
}

#[cfg(feature = "ssr")]
impl WorkloadPageHead {
    fn from_details(
        details: hub::WorkloadDetails,
        suspension: SuspensionDetails,
        actor: &hub::Actor,
        read_at: Timestamp,
    ) -> Self {
        let hub::WorkloadDetails { view, pending_removals, unreachable, healthy_revision, latest_heal } =
            details;
        let WorkloadView { workload, phase, counts, published_revision, rollout, failures, .. } = view;
        let actions = UnavailableActions::from_workload(&workload, actor);
        let draft = workload.draft;
        Self {
            id: workload.id,
            name: workload.name,
            phase,
            intent: workload.intent,
            counts,
            published: published_revision.map(PublishedRevision::from),
            draft_revision: workload.revision,
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
            suspension,
            unreachable,
            healthy_revision,
            latest_heal: latest_heal.map(|event| ReportedHeal::from_event(&event)),
            read_at,
        }
    }
}

/// Reads the head of a workload's page.
#[server(prefix = "/api/fn", endpoint = "workload_head_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workload_head_read(name: String) -> AppResult<WorkloadPageHead> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let details = host::into_app_result(hub.get_workload_details(&name).await)?;
    let suspension = host::into_app_result(hub.get_workload_suspension(&name).await)?;
    Ok(WorkloadPageHead::from_details(details, suspension, &actor, hub.clock().now()))
}

/// Name, revision, author and time, then the actions. An unavailable action shows its reason. The menu is rendered once, so that an
/// update of the page does not close it.
#[component]
pub fn WorkloadHeader(data: PageResource<WorkloadPageHead>) -> impl IntoView {
    let query = use_query_map();
    let tab = Signal::derive(move || query.read().get("tab").unwrap_or_default());
    view! {
        <Transition>
            <div class="head workload-head">
                <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    {render_selected(data, |head| head.name, move |name| show_name(name, tab))}
                    <div class="workload-revision">{render_selected(data, |head| head, show_revision)}</div>
                </div>
                {render_selected(data, |head| head.name, move |_| show_actions(data))}
            </div>
        </Transition>
    }
    .into_any()
}

fn show_name(name: String, tab: Signal<String>) -> AnyView {
    view! {
        <h1 class="title-mono">{name}</h1>
        <WorkloadSwitch tab=tab />
    }
    .into_any()
}

fn show_revision(head: WorkloadPageHead) -> AnyView {
    let WorkloadPageHead { name, published, is_addon, read_at, .. } = head;
    let published = published.map(|revision| {
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
        {is_addon.then(|| view! { <span class="tag">"addon"</span> })}
        {published}
    }
    .into_any()
}

/// Namespace, source, placement, how the draft differs, and the phase where the releases do not show it. On a phone one line until it
/// is opened.
#[component]
pub fn WorkloadFacts(head: WorkloadPageHead) -> impl IntoView {
    let phase = head.phase_label();
    let draft = head.draft_label();
    let summary =
        [phase.unwrap_or_default(), head.namespace.as_str(), head.source.as_str(), head.placement.as_str()];
    let summary = summary.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    let phase = phase.map(|label| {
        view! {
            <div>
                <dt>"Phase"</dt>
                <dd>{label}</dd>
            </div>
        }
    });
    view! {
        <details class="fold facts-fold">
            <summary>{summary}</summary>
        </details>
        <dl class="facts">
            {phase}
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
                <dd>{draft}</dd>
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
    use crate::render_tests::render_html;
    use domain::placement::{Placement, Predicate};

    /// A workload in this phase with two revisions.
    pub(super) fn head(phase: WorkloadPhase, is_draft_changed: bool) -> WorkloadPageHead {
        let published = PublishedRevision {
            number: 2,
            author: "ann".to_owned(),
            message: String::new(),
            created_at: Timestamp::default(),
        };
        WorkloadPageHead {
            id: WorkloadId::from_parts(1, 1),
            name: "shop".to_owned(),
            phase,
            intent: Intent::Published,
            counts: ReleaseCounts::default(),
            published: Some(published),
            draft_revision: 1,
            is_draft_changed,
            is_addon: false,
            namespace: "shop".to_owned(),
            source: "1 YAML file".to_owned(),
            placement: "every cluster".to_owned(),
            deletion: DeletionPolicy::default(),
            rollout: None,
            failures: Vec::new(),
            actions: available(),
            pending_removals: Vec::new(),
            suspension: SuspensionDetails::default(),
            unreachable: 0,
            healthy_revision: Some(1),
            latest_heal: None,
            read_at: Timestamp::default(),
        }
    }

    pub(super) const fn available() -> UnavailableActions {
        UnavailableActions { publish: None, edit: None, sync: None, unpublish: None, delete: None }
    }

    #[test]
    fn the_facts_have_no_phase_that_the_releases_show() {
        let facts = |phase| {
            let head = head(phase, false);
            render_html(move || view! { <WorkloadFacts head=head /> })
        };
        assert!(!facts(WorkloadPhase::PartiallyPublished).contains("Phase"));
        assert!(facts(WorkloadPhase::Unpublishing).contains("Unpublishing"));
        assert!(facts(WorkloadPhase::Published).contains("shop · 1 YAML file · every cluster"));
    }

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

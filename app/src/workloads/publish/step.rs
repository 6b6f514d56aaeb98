//! The review before a publish: findings, planned changes per cluster, removals, and a button that publishes exactly this plan
//! (E-2).

use domain::workload::{Intent, WorkloadView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

use super::actions::{PlanCreate, WorkloadPublish};
use super::changes::PlannedChanges;
use super::review::{Review, review_read};
use super::sidebar::ReviewSidebar;
use crate::components::findings::summarize_findings;
use crate::components::{Banner, ErrorBanner, FindingList, StatusStyle, icon, render_resource};
use crate::paths::{self, WorkloadTab};
use crate::resource::{PageResource, create_resource};
use crate::workloads::placement::evaluations::DecisionTables;

/// The page of the review. The query parameter `plan` selects the plan, so the URL can be shared.
#[component]
pub fn PublishPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let plan = Memo::new(move |_| query.read().get("plan"));
    let override_name = Memo::new(move |_| query.read().get("override").unwrap_or_default());
    let (plan_action, publish) = (ServerAction::<PlanCreate>::new(), ServerAction::<WorkloadPublish>::new());
    let reloads = RwSignal::new(0_u32);
    let data = create_resource(
        move || (name.get(), plan.get(), override_name.get(), reloads.get()),
        |(name, plan, override_name, _)| review_read(name, plan, override_name),
    );
    refresh_plan(ReviewAddress { name, override_name, plan }, plan_action, reloads, data);
    view! {
        {move || view! { <Title text=format!("Review {}", name.get()) /> }}
        {render_resource(data, move |review| show_review(review, plan_action, publish))}
    }
    .into_any()
}

/// What the URL of the page selects.
#[derive(Clone, Copy)]
struct ReviewAddress {
    /// The workload.
    name: Memo<String>,
    /// The override that is published alone; empty for the draft.
    override_name: Memo<String>,
    /// The id of the plan.
    plan: Memo<Option<String>>,
}

/// In the browser: creates a plan if the page has none, and reloads it while dry runs are pending.
fn refresh_plan(
    ReviewAddress { name, override_name, plan }: ReviewAddress,
    plan_action: ServerAction<PlanCreate>,
    reloads: RwSignal<u32>,
    data: PageResource<Review>,
) {
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(id)) = plan_action.value().get() {
            let there = paths::review_of_plan(&name.get_untracked(), &id, &override_name.get_untracked());
            navigate(&there, NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() });
        }
    });
    let not_attempted =
        move || plan.get_untracked().is_none() && plan_action.value().with_untracked(Option::is_none);
    Effect::new(move |_| match data.get() {
        Some(Ok(review))
            if review.is_unplanned() && not_attempted() && !plan_action.pending().get_untracked() =>
        {
            let (name, override_name) = (name.get_untracked(), override_name.get_untracked());
            plan_action.dispatch(PlanCreate { name, override_name });
        }
        // The server holds the request until results arrive, so this is not a busy loop.
        Some(Ok(review)) if review.plan.as_ref().is_some_and(|plan| plan.dry_runs.pending > 0) => {
            reloads.update(|count| *count += 1);
        }
        _ => {}
    });
}

fn show_review(
    review: Review,
    plan_action: ServerAction<PlanCreate>,
    publish: ServerAction<WorkloadPublish>,
) -> AnyView {
    let name = review.view.workload.name.clone();
    let connectivity = StoredValue::new(review.connectivity.clone());
    let step = describe_revision_change(&review.view, &review.override_name);
    let editor = match review.override_name.is_empty() {
        true => WorkloadTab::Config,
        false => WorkloadTab::Overrides,
    };
    let findings = review.findings().to_vec();
    let selected = review.decision.selected().count();
    let total = review.decision.evaluations.len();
    view! {
        <div class="split split-344">
            <div class="stack">
                <h1 class="title">
                    "Review " <span class="title-rest"><span class="title-mono">{name.clone()}</span> {format!(" {step}")}</span>
                </h1>
                <section class="stack-sm" aria-labelledby="findings">
                    <h2 class="section" id="findings">
                        "Findings " <span class="meta font-normal">{summarize_findings(&findings)}</span>
                    </h2>
                    {findings.is_empty().then(|| view! { <p class="text-2">"No findings."</p> })}
                    <FindingList findings=findings editors=paths::workload_tab(&name, editor) />
                </section>
                {changes_or_plan_button(&review, plan_action)}
                <details class="fold" open=review.plan.is_none()>
                    <summary>
                        "Why these clusters" <span class="text-3">{format!("{selected} of {total} selected")}</span>
                    </summary>
                    <div class="py-3">
                        <DecisionTables decision=review.decision.clone() connectivity=connectivity />
                    </div>
                </details>
            </div>
            <ReviewSidebar review=review plan_action=plan_action publish=publish />
        </div>
    }
    .into_any()
}

/// The planned changes, or the button that creates a plan.
fn changes_or_plan_button(review: &Review, plan_action: ServerAction<PlanCreate>) -> AnyView {
    if let Some(plan) = review.plan.clone() {
        return view! { <PlannedChanges plan=plan /> }.into_any();
    }
    if review.blocked_reason.is_some() {
        return ().into_any();
    }
    let (name, override_name) = (review.view.workload.name.clone(), review.override_name.clone());
    let error = move || match plan_action.value().get() {
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        _ => ().into_any(),
    };
    let again = if review.plan_expired { "The plan of this link has expired. " } else { "" };
    view! {
        <section class="stack-sm" aria-labelledby="changes" aria-busy=move || plan_action.pending().get().to_string()>
            <h2 class="section" id="changes">
                "Changes"
            </h2>
            {error}
            <Banner look=StatusStyle { icon: "note", hue: "hue-unknown", emphasis: "state-quiet" }>
                <p>{again} "Planning runs a dry run on every cluster. Nothing is written."</p>
                <div class="banner-actions">
                    <ActionForm action=plan_action>
                        <input type="hidden" name="name" value=name />
                        <input type="hidden" name="override_name" value=override_name />
                        <button class="btn" type="submit" aria-busy=move || plan_action.pending().get().to_string()>
                            {icon("refresh")}
                            {move || if plan_action.pending().get() { "Planning…" } else { "Plan now" }}
                        </button>
                    </ActionForm>
                </div>
            </Banner>
        </section>
    }
    .into_any()
}

/// Summarises the revisions, such as `r47 → r48`, and the override that is published alone.
fn describe_revision_change(view: &WorkloadView, override_name: &str) -> String {
    match (view.workload.intent, view.workload.published) {
        (Intent::Published, Some(n)) if !override_name.is_empty() => {
            format!("r{n} → r{}, only override {override_name}", n + 1)
        }
        (Intent::Published, Some(n)) if view.workload.draft_changed => format!("r{n} → r{}", n + 1),
        (Intent::Published, Some(n)) => format!("r{n} again, as r{}", n + 1),
        (Intent::Draft, _) => "first revision".to_owned(),
        _ => "new revision".to_owned(),
    }
}

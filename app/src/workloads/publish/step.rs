//! The review before a publish: findings, planned changes per cluster, removals, and a button that publishes exactly this plan
//! (E-2).

use domain::Finding;
use domain::authorization::UserAction;
use domain::plan::FieldChange;
use domain::workload::{Intent, WorkloadView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};
use leptos_router::params::ParamsMap;

use super::actions::{PlanCreate, WorkloadPublish};
use super::changes::{PlannedChanges, ToggledParts, field_diff};
use super::content::ReviewContent;
use super::review::{Review, review_read};
use super::sidebar::ReviewSidebar;
use crate::components::findings::{summarize_findings, worst_style};
use crate::components::{Banner, ErrorBanner, FindingList, StatusStyle, icon, pluralize, render_resource};
use crate::permission::Permission;
use crate::resource::{PageResource, create_resource};
use crate::workloads::placement::evaluations::DecisionTables;

/// The page of the review. The query parameter `plan` selects the plan, so the URL can be shared.
#[component]
pub fn PublishPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let plan = Memo::new(move |_| query.read().get("plan"));
    let content = Memo::new(move |_| query.with(read_content));
    let (plan_action, publish) = (ServerAction::<PlanCreate>::new(), ServerAction::<WorkloadPublish>::new());
    let reloads = RwSignal::new(0_u32);
    let toggled = ToggledParts::default();
    let data = create_resource(
        move || (name.get(), plan.get(), content.get(), reloads.get()),
        |(name, plan, content, _)| review_read(name, plan, content),
    );
    refresh_plan(ReviewAddress { name, content, plan }, plan_action, reloads, data);
    view! {
        {move || view! { <Title text=format!("Review {}", name.get()) /> }}
        {render_resource(data, move |review| show_review(review, plan_action, publish, toggled))}
    }
    .into_any()
}

/// The part of the page that says why the clusters are selected, for [`ToggledParts`].
const WHY: &str = "why";

/// What the URL of the page selects.
#[derive(Clone, Copy)]
struct ReviewAddress {
    /// The workload.
    name: Memo<String>,
    /// What is published.
    content: Memo<ReviewContent>,
    /// The id of the plan.
    plan: Memo<Option<String>>,
}

/// In the browser: creates a plan if the page has none, and reloads it while dry runs are pending.
fn refresh_plan(
    ReviewAddress { name, content, plan }: ReviewAddress,
    plan_action: ServerAction<PlanCreate>,
    reloads: RwSignal<u32>,
    data: PageResource<Review>,
) {
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(id)) = plan_action.value().get() {
            let there = content.get_untracked().review_path(&name.get_untracked(), &id);
            navigate(&there, NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() });
        }
    });
    let not_attempted =
        move || plan.get_untracked().is_none() && plan_action.value().with_untracked(Option::is_none);
    Effect::new(move |_| match data.get() {
        Some(Ok(review))
            if review.is_unplanned() && not_attempted() && !plan_action.pending().get_untracked() =>
        {
            let (name, content) = (name.get_untracked(), content.get_untracked());
            plan_action.dispatch(PlanCreate { name, content });
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
    toggled: ToggledParts,
) -> AnyView {
    let name = review.view.workload.name.clone();
    let connectivity = StoredValue::new(review.connectivity.clone());
    let (title, step) = match review.nothing_to_publish() {
        Some(why) => ("Nothing to publish ", why),
        None => ("Review ", describe_revision_change(&review.view, &review.content)),
    };
    let findings = review.findings().to_vec();
    let reviewed = review.clone();
    let correct = Callback::new(move |finding: Finding| reviewed.correction_path(&finding));
    let foot = review_foot(&findings);
    let selected = review.decision.selected().count();
    let total = review.decision.evaluations.len();
    let is_unplanned = review.plan.is_none();
    let why_open = toggled.is_open(WHY, is_unplanned);
    view! {
        <div class="split split-344">
            <div class="stack">
                <h1 class="title">
                    {title} <span class="title-rest"><span class="title-mono">{name.clone()}</span> {format!(" {step}")}</span>
                </h1>
                {draft_note(&review)}
                <section class="stack-sm" aria-labelledby="findings">
                    <h2 class="section" id="findings">
                        "Findings " <span class="meta font-normal">{summarize_findings(&findings)}</span>
                    </h2>
                    {findings.is_empty().then(|| view! { <p class="text-2">"No findings."</p> })}
                    <FindingList findings=findings editors=review.editor_path() open=correct />
                </section>
                {changed_settings(&review.settings)}
                {changes_or_plan_button(&review, plan_action, toggled)}
                <details class="fold" open=why_open on:toggle=move |event| toggled.record(WHY, is_unplanned, &event)>
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
        {foot}
    }
    .into_any()
}

/// The settings that differ from the published revision: they may change no object.
fn changed_settings(settings: &[FieldChange]) -> Option<AnyView> {
    if settings.is_empty() {
        return None;
    }
    let count = pluralize(u32::try_from(settings.len()).unwrap_or(u32::MAX), "field");
    let rows = settings.iter().map(field_diff).collect_view();
    let section = view! {
        <section class="stack-sm" aria-labelledby="settings">
            <h2 class="section" id="settings">
                "Changed settings " <span class="meta font-normal">{count}</span>
            </h2>
            <div class="diff" tabindex="0" role="region" aria-label="Changed settings">{rows}</div>
        </section>
    };
    Some(section.into_any())
}

/// The foot of a narrow screen, where the button to publish is below everything else.
fn review_foot(findings: &[Finding]) -> impl IntoView + use<> {
    let look = worst_style(findings);
    let summary = summarize_findings(findings);
    view! {
        <div class="footbar footbar-edge xl:hidden">
            <span class="reason">{look.icon_view()} {summary}</span>
            <a class="btn" href="#publish" rel="external">"Go to publish"</a>
        </div>
    }
}

/// The planned changes, or the button that creates a plan.
fn changes_or_plan_button(
    review: &Review,
    plan_action: ServerAction<PlanCreate>,
    toggled: ToggledParts,
) -> AnyView {
    if let Some(mut plan) = review.plan.clone() {
        if review.nothing_to_publish().is_some() {
            // The title says it.
            plan.no_op_message = None;
        }
        return view! { <PlannedChanges plan=plan toggled=toggled /> }.into_any();
    }
    if review.blocked_reason.is_some() {
        return ().into_any();
    }
    let (name, content) = (review.view.workload.name.clone(), review.content.hidden_fields("content"));
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
                        <Permission action=UserAction::Plan>
                            <input type="hidden" name="name" value=name />
                            {content}
                            <button class="btn" type="submit" aria-busy=move || plan_action.pending().get().to_string()>
                                {icon("refresh")}
                                {move || if plan_action.pending().get() { "Planning…" } else { "Plan now" }}
                            </button>
                        </Permission>
                    </ActionForm>
                </div>
            </Banner>
        </section>
    }
    .into_any()
}

/// What happens to the draft in a rollback.
fn draft_note(review: &Review) -> Option<AnyView> {
    let number = review.content.revision?;
    let workload = &review.view.workload;
    let changed = match workload.draft_changed {
        true => " It has changes that are not published; they stay in it.",
        false => "",
    };
    let note = view! {
        <p class="text-2">
            {format!("Publishes the source, placement, overrides and policies of r{number} again. The draft stays as it is and then differs from what runs.{changed}")}
        </p>
    };
    Some(note.into_any())
}

/// Parses what is published from the query of the page. A number that no revision can have is reported as not found.
fn read_content(query: &ParamsMap) -> ReviewContent {
    let revision = query.get("revision").map(|number| number.parse().unwrap_or_default());
    ReviewContent { override_name: query.get("override").unwrap_or_default(), revision }
}

/// Summarises the revisions, such as `r47 → r48`, and what is published other than the draft.
fn describe_revision_change(view: &WorkloadView, content: &ReviewContent) -> String {
    let override_name = &content.override_name;
    if let Some(number) = content.revision {
        return match (view.workload.intent, view.workload.published) {
            (Intent::Published, Some(n)) => format!("r{n} → r{}, back to r{number}", n + 1),
            _ => format!("back to r{number}"),
        };
    }
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

//! The review before a publish: what the guard rails and the clusters say, what would change where, what leaves, and one
//! button that is bound to exactly that (E-2).

use domain::workload::{Intent, WorkloadView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

use super::form::Verdicts;
use crate::components::findings::tally;
use crate::components::{Banner, FindingList, Look, Said, icon, loaded};
use crate::paths::{self, Tab};

mod changes;
mod read;
mod send;
mod side;

use changes::Changes;
pub(super) use changes::objects;
use read::{Review, review_read};
use send::{PlanMake, WorkloadPublish};
use side::Side;

/// The page. Which plan is shown stands in the address, so it can be sent to somebody else.
#[component]
pub fn PublishPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let plan = Memo::new(move |_| query.read().get("plan"));
    let (make, publish) = (ServerAction::<PlanMake>::new(), ServerAction::<WorkloadPublish>::new());
    let looked = RwSignal::new(0_u32);
    let data = Resource::new(
        move || (name.get(), plan.get(), looked.get()),
        |(name, plan, _)| review_read(name, plan),
    );
    keep_planned(name, plan, make, looked, data);
    view! {
        {move || view! { <Title text=format!("Review {}", name.get()) /> }}
        {loaded(data, move |review| show(review, make, publish))}
    }
    .into_any()
}

/// In the browser: plans when the page shows no plan, and looks again while clusters are still asked.
fn keep_planned(
    name: Memo<String>,
    plan: Memo<Option<String>>,
    make: ServerAction<PlanMake>,
    looked: RwSignal<u32>,
    data: Resource<crate::errors::Answer<Review>>,
) {
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(id)) = make.value().get() {
            let there = paths::planned(&name.get_untracked(), &id);
            navigate(&there, NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() });
        }
    });
    let untried = move || plan.get_untracked().is_none() && make.value().with_untracked(Option::is_none);
    Effect::new(move |_| match data.get() {
        Some(Ok(review)) if review.is_unplanned() && untried() && !make.pending().get_untracked() => {
            make.dispatch(PlanMake { name: name.get_untracked() });
        }
        // The answer waits on the server, so this is no busy loop.
        Some(Ok(review)) if review.plan.as_ref().is_some_and(|plan| plan.heard.open > 0) => {
            looked.update(|count| *count += 1);
        }
        _ => {}
    });
}

fn show(review: Review, make: ServerAction<PlanMake>, publish: ServerAction<WorkloadPublish>) -> AnyView {
    let name = review.view.workload.name.clone();
    let away = StoredValue::new(review.away.clone());
    let step = step(&review.view);
    let findings = review.findings().to_vec();
    let chosen = review.decision.chosen().count();
    let total = review.decision.verdicts.len();
    view! {
        <div class="split split-344">
            <div class="stack">
                <h1 class="title">
                    "Review " <span class="title-rest"><span class="title-mono">{name.clone()}</span> {format!(" {step}")}</span>
                </h1>
                <section class="stack-sm" aria-labelledby="findings">
                    <h2 class="section" id="findings">
                        "Findings " <span class="meta font-normal">{tally(&findings)}</span>
                    </h2>
                    {findings.is_empty().then(|| view! { <p class="text-2">"Nobody has anything to say against it."</p> })}
                    <FindingList findings=findings editors=paths::workload_tab(&name, Tab::Config) />
                </section>
                {planned(&review, make)}
                <details class="fold" open=review.plan.is_none()>
                    <summary>
                        "Why these clusters" <span class="text-3">{format!("{chosen} of {total} chosen")}</span>
                    </summary>
                    <div class="py-3">
                        <Verdicts decision=review.decision.clone() away=away />
                    </div>
                </details>
            </div>
            <Side review=review make=make publish=publish />
        </div>
    }
    .into_any()
}

/// The changes, or how to get them.
fn planned(review: &Review, make: ServerAction<PlanMake>) -> AnyView {
    if let Some(plan) = review.plan.clone() {
        return view! { <Changes plan=plan /> }.into_any();
    }
    if review.refusal.is_some() {
        return ().into_any();
    }
    let name = review.view.workload.name.clone();
    let said = move || match make.value().get() {
        Some(Err(error)) => view! { <Said error=error /> }.into_any(),
        _ => ().into_any(),
    };
    let again = if review.gone { "The plan in the address is over. " } else { "" };
    view! {
        <section class="stack-sm" aria-labelledby="changes" aria-busy=move || make.pending().get().to_string()>
            <h2 class="section" id="changes">
                "Changes"
            </h2>
            {said}
            <Banner look=Look { icon: "note", hue: "hue-unknown", loud: "state-quiet" }>
                <p>{again} "The clusters are asked what this would change on them. Nothing is written."</p>
                <div class="banner-actions">
                    <ActionForm action=make>
                        <input type="hidden" name="name" value=name />
                        <button class="btn" type="submit" aria-busy=move || make.pending().get().to_string()>
                            {icon("refresh")}
                            {move || if make.pending().get() { "Asking…" } else { "Plan now" }}
                        </button>
                    </ActionForm>
                </div>
            </Banner>
        </section>
    }
    .into_any()
}

/// `r47 → r48`, or the first revision.
fn step(view: &WorkloadView) -> String {
    match (view.workload.intent, view.workload.published) {
        (Intent::Published, Some(n)) if view.workload.draft_changed => format!("r{n} → r{}", n + 1),
        (Intent::Published, Some(n)) => format!("r{n} again, as r{}", n + 1),
        (Intent::Draft, _) => "first revision".to_owned(),
        _ => "new revision".to_owned(),
    }
}

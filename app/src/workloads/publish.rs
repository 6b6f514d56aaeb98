//! The review before a publish: what the guard rails say, where it goes and why, what leaves, and one button.

use domain::cluster::Cluster;
use domain::workload::{Intent, WorkloadView};
use domain::{Finding, can};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;
use serde::{Deserialize, Serialize};

use super::form::Verdicts;
use crate::components::findings::{tally, worst};
use crate::components::{CopyLine, FindingList, Look, Reason, Said, count_of, icon, joined, loaded};
use crate::errors::Answer;
use crate::paths::{self, Tab};

/// What a publish would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The workload; without the texts of its files.
    pub view: WorkloadView,
    /// What the guard rails say.
    pub findings: Vec<Finding>,
    /// Where it would go.
    pub decision: domain::placement::Decision,
    /// Every cluster, for the reach of the chosen.
    pub clusters: Vec<Cluster>,
    /// Clusters that have it now and would lose it.
    pub leaving: Vec<String>,
    /// Objects per cluster, before overrides.
    pub objects: u32,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "review_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn review_read(name: String) -> Answer<Review> {
    use super::calls::candidates_read;
    use super::source::without_texts;
    use crate::host;
    use domain::manifest;
    use domain::page::{ListQuery, MAX_LIMIT};
    use domain::release::ReleaseGoal;
    let hub = host::hub_for_reader()?;
    let mut view = host::answer(hub.workload_view(&name).await)?;
    let checked = host::answer(hub.workload_check(&name, &view.workload.draft).await)?;
    let objects = manifest::parse(view.workload.draft.source.files()).manifests.len();
    without_texts(&mut view.workload.draft.source);
    if let Some(revision) = &mut view.published_revision {
        without_texts(&mut revision.spec.source);
    }
    let all = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let releases = host::answer(hub.release_list(&name, &all).await)?.items;
    let chosen: Vec<_> = checked.decision.chosen().map(|verdict| verdict.cluster).collect();
    let leaving = releases
        .into_iter()
        .filter(|one| one.release.goal == ReleaseGoal::Present && !chosen.contains(&one.release.cluster))
        .map(|one| one.cluster_name)
        .collect();
    Ok(Review {
        view,
        findings: checked.findings,
        decision: checked.decision,
        clusters: candidates_read().await?,
        leaving,
        objects: u32::try_from(objects).unwrap_or(u32::MAX),
    })
}

/// Freezes the draft as a revision and lets it go out. `seen` is the draft that the person reviewed.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(name: String, message: String, seen: i64) -> Answer<()> {
    use crate::host;
    let message: String = message.trim().chars().take(500).collect();
    host::answer(host::hub()?.workload_publish(&host::actor()?, &name, &message, Some(seen)).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// The page.
#[component]
pub fn PublishPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let action = ServerAction::<WorkloadPublish>::new();
    let data = Resource::new(move || name.get(), review_read);
    view! {
        {move || view! { <Title text=format!("Review {}", name.get()) /> }}
        {loaded(data, move |review| show(review, action))}
    }
    .into_any()
}

fn show(review: Review, action: ServerAction<WorkloadPublish>) -> AnyView {
    let name = review.view.workload.name.clone();
    let clusters = StoredValue::new(review.clusters.clone());
    let step = step(&review.view);
    view! {
        <div class="split split-344">
            <div class="stack">
                <h1 class="title">
                    "Review " <span class="title-rest"><span class="title-mono">{name.clone()}</span> {format!(" {step}")}</span>
                </h1>
                <section class="stack-sm" aria-labelledby="findings">
                    <h2 class="section" id="findings">
                        "Findings " <span class="meta font-normal">{tally(&review.findings)}</span>
                    </h2>
                    {review.findings.is_empty().then(|| view! { <p class="text-2">"The guard rails have nothing to say."</p> })}
                    <FindingList findings=review.findings.clone() editors=paths::workload_tab(&name, Tab::Config) />
                </section>
                <Verdicts decision=review.decision.clone() clusters=clusters />
            </div>
            <aside class="stack-md" aria-label="Publish">
                <Consequences review=review.clone() />
                <PublishForm review=review action=action />
            </aside>
        </div>
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

/// What publishing does, in counts.
#[component]
fn Consequences(review: Review) -> impl IntoView {
    let chosen = u32::try_from(review.decision.chosen().count()).unwrap_or(u32::MAX);
    let away = review
        .decision
        .chosen()
        .filter(|verdict| {
            let reach = review.clusters.iter().find(|one| one.id == verdict.cluster).map(|one| one.reach);
            reach == Some(domain::cluster::Reach::Offline)
        })
        .count();
    let away = (away > 0).then(|| {
        view! {
            <li class="text-2">
                {format!("{} offline; they get it when they return and hold nobody up.", count_of(u32::try_from(away).unwrap_or(0), "cluster"))}
            </li>
        }
    });
    let lost = u32::try_from(review.leaving.len()).unwrap_or(u32::MAX);
    let names = joined(&review.leaving, review.leaving.len(), 6);
    let workload = review.view.workload.name.clone();
    view! {
        <section class="stack-sm">
            <h2 class="section">"What publishing does"</h2>
            <ul class="grid gap-1">
                <li>
                    <b class="strong">{count_of(chosen, "cluster")}</b>
                    {format!(" get {} each.", count_of(review.objects, "object"))}
                </li>
                {away}
                <li class="text-2">"Each cluster is told, pulls, applies in order, and confirms. Nothing is cut short by a time limit."</li>
            </ul>
        </section>
        {(lost > 0)
            .then(|| {
                view! {
                    <div class="warn-box hue-drifted">
                        <p class="strong">{icon("warning")} {format!(" {} would lose {workload}", count_of(lost, "cluster"))}</p>
                        <p class="text-2">{format!("{names}. The new placement no longer chooses them; their objects are removed.")}</p>
                    </div>
                }
            })}
    }
    .into_any()
}

/// Message and button. A button that can't be pressed says why.
#[component]
fn PublishForm(review: Review, action: ServerAction<WorkloadPublish>) -> impl IntoView {
    let workload = review.view.workload.clone();
    let chosen = u32::try_from(review.decision.chosen().count()).unwrap_or(u32::MAX);
    let verb = format!("Publish to {}", count_of(chosen, "cluster"));
    let why = refusal(&review);
    let pending = action.pending();
    let line = format!("flotilla publish {} --wait", workload.name);
    let button = match why {
        None => {
            let verb = verb.clone();
            view! {
                <button class="btn btn-primary w-full" type="submit" aria-busy=move || pending.get().to_string()>
                    {move || if action.pending().get() { "Storing…".to_owned() } else { verb.clone() }}
                </button>
            }
            .into_any()
        }
        Some((look, why)) => view! {
            <button class="btn w-full" type="button" aria-disabled="true" aria-describedby="why-publish">
                {verb.clone()}
            </button>
            <Reason id="why-publish" look=look>
                {why}
            </Reason>
        }
        .into_any(),
    };
    view! {
        <ActionForm action=action attr:class="stack-md">
            <input type="hidden" name="name" value=workload.name.clone() />
            <input type="hidden" name="seen" value=workload.revision.to_string() />
            <div class="field">
                <label class="field-label" for="message">
                    "Message " <span class="field-note">"optional"</span>
                </label>
                <input class="input" id="message" name="message" maxlength="500" placeholder="What changes, for those who read the history" />
            </div>
            {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            {button}
            <p class="meta">"Nothing is shown as done until the server stored it."</p>
        </ActionForm>
        <CopyLine line=line />
    }
    .into_any()
}

/// Why it can't be published now.
fn refusal(review: &Review) -> Option<(Look, AnyView)> {
    let errors: Vec<Finding> = review.findings.iter().filter(|finding| finding.blocks()).cloned().collect();
    if let Some(first) = errors.first() {
        let place = first
            .place
            .as_ref()
            .map(|place| format!(", {} line {}", place.file, place.line))
            .unwrap_or_default();
        let href = paths::workload_tab(&review.view.workload.name, Tab::Config);
        let n = u32::try_from(errors.len()).unwrap_or(u32::MAX);
        let link = format!("{}{place}", first.code);
        let why = view! { {format!("{} to fix first: ", count_of(n, "error"))} <a class="link" href=href>{link}</a> };
        return Some((worst(&errors), why.into_any()));
    }
    let lock = Look { icon: "lock", hue: "hue-unknown", loud: "state-quiet" };
    can::publish(&review.view.workload).err().map(|why| (lock, why.to_string().into_any()))
}

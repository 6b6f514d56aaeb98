//! A revision: what was published, by whom and why, what it changed, and how it fares. It never changes, so its address can be
//! passed on.

use domain::Timestamp;
use domain::plan::RevisionView;
use domain::rollout::Rollout;
use domain::workload::{Intent, WorkloadView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;
use serde::{Deserialize, Serialize};

use super::history_tab::{WorkloadRestore, take_back};
use super::publish::objects;
use crate::components::{Age, CopyBlock, CountLine, Said, Strip, count_of, loaded};
use crate::errors::Answer;
use crate::live::{self, Topic};
use crate::paths::{self, Tab};

/// What the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionData {
    /// The revision, with the texts of its files.
    pub view: RevisionView,
    /// The workload as it is now, without texts.
    pub workload: WorkloadView,
    /// How it went through its waves, if it did.
    pub rollout: Option<Rollout>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "revision_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn revision_read(name: String, number: u32) -> Answer<RevisionData> {
    use super::source::without_texts;
    use crate::host;
    let hub = host::hub_for_reader()?;
    let view = host::answer(hub.workload_revision(&name, number).await)?;
    let mut workload = host::answer(hub.workload_view(&name).await)?;
    without_texts(&mut workload.workload.draft.source);
    workload.published_revision = None;
    let rollout = host::answer(hub.rollout_view(&name, Some(number)).await)?;
    Ok(RevisionData { view, workload, rollout, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn RevisionPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    // No revision has the number 0, so what is no number is not found either.
    let number = Memo::new(move |_| {
        params.read().get("number").and_then(|number| number.parse::<u32>().ok()).unwrap_or_default()
    });
    let id = RwSignal::new(None);
    let version = live::version(move || id.get().map(Topic::Workload));
    let data = Resource::new(
        move || (name.get(), number.get(), version.get()),
        |(name, number, _)| revision_read(name, number),
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|data| data.workload.workload.id)));
    let restore = ServerAction::<WorkloadRestore>::new();
    view! {
        {move || view! { <Title text=format!("{} r{}", name.get(), number.get()) /> }}
        {move || restore.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
        {loaded(data, move |data| show(data, restore))}
    }
    .into_any()
}

fn show(data: RevisionData, restore: ServerAction<WorkloadRestore>) -> AnyView {
    let RevisionData { view, workload, rollout, at } = data;
    let name = workload.workload.name.clone();
    let RevisionView { revision, before, effect, also } = view;
    let against = match before {
        Some(before) => format!("Changed against r{before}"),
        None => "The first revision".to_owned(),
    };
    let nothing = effect.is_nothing();
    let also = (!also.is_empty()).then(|| {
        view! { <p class="text-2">{format!("Changed as well: {}.", also.join(", "))}</p> }
    });
    let files = revision.spec.source.files().iter().map(|file| {
        view! {
            <details class="fold">
                <summary class="name">{file.name.clone()}</summary>
                <CopyBlock text=file.text.clone() label=file.name.clone() />
            </details>
        }
    });
    view! {
        <div class="stack-md">
            <div class="head">
                <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    <h1 class="title-mono">{format!("{name} r{}", revision.number)}</h1>
                    <span class="text-2">
                        "published "
                        <Age since=revision.created_at at=at suffix=" ago" />
                        {format!(" by {}", revision.author)}
                    </span>
                </div>
                <div class="head-actions">
                    <a class="btn" href=paths::workload_tab(&name, Tab::History)>
                        "All revisions"
                    </a>
                    {way_back(&workload, revision.number, restore)}
                </div>
            </div>
            {(!revision.message.is_empty()).then(|| view! { <p>{format!("“{}”", revision.message)}</p> })}
            {standing(&workload, revision.number)}
            {rollout.map(|rollout| waves(&rollout, at))}
            <section class="stack-sm" aria-labelledby="changed">
                <h2 class="section" id="changed">
                    {against}
                </h2>
                {nothing.then(|| view! { <p class="text-2">"The manifests are the same."</p> })}
                {objects(&effect)}
                {also}
            </section>
            <section class="stack-sm" aria-labelledby="files">
                <h2 class="section" id="files">
                    "Files"
                </h2>
                {files.collect_view()}
            </section>
        </div>
    }
    .into_any()
}

/// What has become of it.
fn standing(view: &WorkloadView, number: u32) -> AnyView {
    let workload = &view.workload;
    let base = paths::workload(&workload.name);
    match (workload.intent, workload.published) {
        (Intent::Published, Some(newest)) if newest == number => {
            let counts = view.counts.clone();
            let note = format!("{} of {} clusters run r{number}", counts.healthy(), counts.targeted());
            view! {
                <div class="stack-sm">
                    {(counts.targeted() > 0).then(|| view! { <Strip counts=counts.clone() /> })}
                    <CountLine counts=counts base=base active="" note=note />
                </div>
            }
            .into_any()
        }
        (Intent::Published, Some(newest)) => view! {
            <p class="text-2">
                "Replaced by "
                <a class="link" href=paths::revision(&workload.name, newest)>
                    {format!("r{newest}")}
                </a> "."
            </p>
        }
        .into_any(),
        _ => view! { <p class="text-2">"The workload was taken back; nothing of it should run."</p> }
            .into_any(),
    }
}

/// How it went through its waves, in a sentence.
fn waves(rollout: &Rollout, at: Timestamp) -> impl IntoView + use<> {
    let n = u32::try_from(rollout.waves.len()).unwrap_or(u32::MAX);
    let text = format!("Rollout in {}: {}", count_of(n, "wave"), rollout.sentence(at));
    view! { <p class="text-2">{text}</p> }
}

/// The way back to it, for what is not what runs.
fn way_back(
    view: &WorkloadView,
    number: u32,
    restore: ServerAction<WorkloadRestore>,
) -> Option<impl IntoView + use<>> {
    let workload = &view.workload;
    let runs = workload.intent == Intent::Published && workload.published == Some(number);
    let offered = !runs && domain::can::edit(workload).is_ok();
    offered.then(|| take_back(workload.name.clone(), number, "btn", restore))
}

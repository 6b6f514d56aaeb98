//! The page of a revision: author, message, changes, rollout and state. A revision is immutable, so its URL can be shared.

use domain::Timestamp;
use domain::plan::RevisionView;
use domain::rollout::Rollout;
use domain::workload::{Intent, Source, WorkloadView};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

use super::history_tab::revision_actions;
use super::queries::{FileData, create_file_resource, omission_note};
use crate::components::{Age, CopyBlock, StateCounts, StateStrip, pluralize, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};

mod comparison;

use comparison::{AGAINST, CLUSTER, show_comparison};

/// Data of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionData {
    /// The revision, with the texts of its files unless they are left out.
    pub view: RevisionView,
    /// The bytes of its files, if their texts are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
    /// The current workload, without the texts of its files.
    pub workload: WorkloadView,
    /// Its rollout, if it had waves.
    pub rollout: Option<Rollout>,
    /// The newest other revisions, which it can be compared with.
    pub others: Vec<u32>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

impl FileData for RevisionData {
    fn omitted_bytes(&self) -> Option<u32> {
        self.omitted_bytes
    }
}

/// Reads the page; without the texts of large files, unless `is_whole`.
#[server(prefix = "/api/fn", endpoint = "revision_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn revision_read(
    name: String,
    number: u32,
    against: Option<u32>,
    cluster: Option<String>,
    #[server(default)] is_whole: bool,
) -> AppResult<RevisionData> {
    use super::source::limits::{clear_large_texts, clear_texts};
    use crate::host;
    use domain::page::ListQuery;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let cluster = cluster.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let comparison = hub::RevisionComparison { against, cluster };
    let hub::RevisionDetails { mut view, mut workload, rollout } =
        host::into_app_result(hub.get_revision_details(&actor, &name, number, &comparison).await)?;
    let limit = ListQuery::default().limit();
    let mut others = host::into_app_result(hub.list_revision_numbers(&name, limit).await)?;
    others.extend(view.against);
    others.retain(|other| *other != number);
    others.sort_unstable_by(|a, b| b.cmp(a));
    others.dedup();
    clear_texts(&mut workload.workload.draft.source);
    workload.published_revision = None;
    let omitted_bytes = clear_large_texts(&mut view.revision.spec.source, is_whole);
    Ok(RevisionData { view, omitted_bytes, workload, rollout, others, read_at: hub.clock().now() })
}

/// The page of a revision.
#[component]
pub fn RevisionPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    // An invalid number becomes 0, which no revision has, and is reported as not found.
    let number = Memo::new(move |_| {
        params.read().get("number").and_then(|number| number.parse::<u32>().ok()).unwrap_or_default()
    });
    let query = use_query_map();
    let against = Memo::new(move |_| query.read().get(AGAINST).and_then(|number| number.parse::<u32>().ok()));
    let cluster = Memo::new(move |_| query.read().get(CLUSTER));
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Workload));
    let data = create_file_resource(
        move || (name.get(), number.get(), against.get(), cluster.get(), version.get()),
        |(name, number, against, cluster, _), is_whole| {
            revision_read(name, number, against, cluster, is_whole)
        },
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|data| data.workload.workload.id)));
    view! {
        {move || view! { <Title text=format!("{} r{}", name.get(), number.get()) /> }}
        {render_resource(data, show_revision)}
    }
    .into_any()
}

fn show_revision(data: RevisionData) -> AnyView {
    let RevisionData { view, omitted_bytes, workload, rollout, others, read_at: at } = data;
    let name = workload.workload.name.clone();
    let comparison = show_comparison(&name, &view, &others);
    let rollout_line = rollout.map(|rollout| rollout_summary(&name, &rollout, at));
    let revision = view.revision;
    let renderer = revision.renderer();
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
                    <a class="btn" href=paths::workload_tab(&name, WorkloadTab::History)>
                        "All revisions"
                    </a>
                    {actions(&workload, revision.number)}
                </div>
            </div>
            {(!revision.message.is_empty()).then(|| view! { <p>{format!("“{}”", revision.message)}</p> })}
            {revision_status(&workload, revision.number)}
            {rollout_line}
            {comparison}
            {match omitted_bytes {
                Some(bytes) => omission_note(bytes),
                None => show_source(&revision.spec.source, renderer),
            }}
        </div>
    }
    .into_any()
}

/// The files, or the chart with its values and what rendered it.
fn show_source(source: &Source, renderer: Option<String>) -> AnyView {
    let text = |name: String, text: String| {
        view! {
            <details class="fold">
                <summary class="name">{name.clone()}</summary>
                <CopyBlock text=text label=name />
            </details>
        }
        .into_any()
    };
    let (title, texts) = match source {
        Source::Yaml { files } => {
            ("Files", files.iter().map(|file| text(file.name.clone(), file.text.clone())).collect::<Vec<_>>())
        }
        Source::Chart(_) | Source::Git(_) | Source::Oci(_) => {
            let values = source.helm_source().map(|chart| chart.values.clone()).unwrap_or_default();
            let shown = (!values.trim().is_empty()).then(|| text("values.yaml".to_owned(), values));
            ("Source", shown.into_iter().collect())
        }
    };
    let summary = (!source.is_inline()).then(|| view! { <p class="text-2">{source.summary()}</p> });
    view! {
        <section class="stack-sm" aria-labelledby="files">
            <h2 class="section" id="files">
                {title}
            </h2>
            {summary}
            {renderer.map(|renderer| view! { <p class="text-2">{format!("Rendered by {renderer}.")}</p> })}
            {texts}
        </section>
    }
    .into_any()
}

/// The current state of the revision.
fn revision_status(view: &WorkloadView, number: u32) -> AnyView {
    let workload = &view.workload;
    let base = paths::workload(&workload.name);
    match (workload.intent, workload.published) {
        (Intent::Published, Some(newest)) if newest == number => {
            let counts = view.counts.clone();
            let note =
                format!("{} of {} clusters healthy with r{number}", counts.healthy(), counts.targeted());
            view! {
                <div class="stack-sm">
                    {(counts.targeted() > 0).then(|| view! { <StateStrip counts=counts.clone() /> })}
                    <StateCounts counts=counts base=base active="" note=note />
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
        _ => view! { <p class="text-2">"The workload is unpublished: it should run nowhere."</p> }.into_any(),
    }
}

/// Summarises the rollout of the revision.
fn rollout_summary(name: &str, rollout: &Rollout, at: Timestamp) -> impl IntoView + use<> {
    let n = u32::try_from(rollout.waves.len()).unwrap_or(u32::MAX);
    let text = format!("Rollout in {}: {}", pluralize(n, "wave"), rollout.message(at));
    let href = paths::query(&paths::rollout(name), &[("revision", &rollout.revision.to_string())]);
    view! {
        <p class="text-2">
            {text} " "
            <a class="link" href=href>
                "Clusters by wave"
            </a>
        </p>
    }
}

/// Roll back to the revision and copy it to the draft, unless it is the published one.
fn actions(view: &WorkloadView, number: u32) -> Option<impl IntoView + use<>> {
    let workload = &view.workload;
    let runs = workload.intent == Intent::Published && workload.published == Some(number);
    let offered = !runs && domain::actions::check_roll_back(workload).is_ok();
    offered.then(|| revision_actions(&workload.name, number, "btn"))
}

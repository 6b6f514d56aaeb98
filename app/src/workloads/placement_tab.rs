//! Where a workload belongs: the form, and for every cluster whether it matches and because of what.

use domain::ClusterId;
use domain::cluster::Cluster;
use domain::placement::Decision;
use domain::workload::{Intent, Workload};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::form::{LiveMatch, PlacementFields, Verdicts};
use super::placement_form::PlacementForm;
use crate::components::{Banner, Look, Refusal, Said, loaded_part};
use crate::errors::Answer;
use crate::paths::{self, Tab};

/// What the tab works with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementData {
    /// The workload with its draft; without the texts of its files.
    pub workload: Workload,
    /// Every cluster.
    pub clusters: Vec<Cluster>,
    /// What was decided last.
    pub decision: Decision,
}

/// The tab's query.
#[server(prefix = "/api/fn", endpoint = "placement_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn placement_read(name: String) -> Answer<PlacementData> {
    use super::calls::candidates_read;
    use super::source::without_texts;
    use crate::host;
    let hub = host::hub_for_reader()?;
    let mut workload = host::answer(hub.workload_view(&name).await)?.workload;
    without_texts(&mut workload.draft.source);
    let decision = host::answer(hub.placement_decision(&name).await)?;
    Ok(PlacementData { workload, clusters: candidates_read().await?, decision })
}

/// Saves the placement of the draft; `then` says where the wizard goes on.
#[server(prefix = "/api/fn", endpoint = "placement_save")]
pub async fn placement_save(
    name: String,
    seen: i64,
    placement: PlacementForm,
    #[server(default)] then: String,
) -> Answer<i64> {
    use super::wizard::{Step, go_on};
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let placement = placement.placement().map_err(|findings| host::refused(AppError::Invalid(findings)))?;
    let mut spec = host::answer(hub.workload_view(&name).await)?.workload.draft;
    spec.placement = placement;
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    let revision = host::answer(hub.workload_edit(&actor, &name, edit, Some(seen)).await)?.revision;
    go_on(&name, Step::Placement, &then);
    Ok(revision)
}

/// The tab.
#[component]
pub fn PlacementTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<PlacementSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
    loaded_part(data, move |data| show(data, action))
}

fn show(data: PlacementData, action: ServerAction<PlacementSave>) -> AnyView {
    let clusters = StoredValue::new(data.clusters);
    let Some(form) = PlacementForm::of(&data.workload.draft.placement) else {
        return view! {
            <Banner look=Look { icon: "note", hue: "hue-unknown", loud: "state-quiet" }>
                <p>
                    <b>"This placement says more than the form can."</b>
                    " It was written through the API or the command line; change it there. Below is what it decided."
                </p>
            </Banner>
            <Verdicts decision=data.decision clusters=clusters />
        }
        .into_any();
    };
    let current = match data.workload.intent {
        Intent::Published => data.decision.chosen().map(|verdict| verdict.cluster).collect(),
        _ => Vec::new(),
    };
    view! { <PlacementEditor workload=data.workload form=form clusters=clusters current=current action=action /> }.into_any()
}

#[component]
fn PlacementEditor(
    workload: Workload,
    form: PlacementForm,
    clusters: StoredValue<Vec<Cluster>>,
    current: Vec<ClusterId>,
    action: ServerAction<PlacementSave>,
) -> impl IntoView {
    let begin = PlacementForm::from_query(&use_query_map().get_untracked()).unwrap_or(form);
    let form = RwSignal::new(begin);
    let seen = RwSignal::new(workload.revision);
    Effect::new(move |_| {
        if let Some(Ok(revision)) = action.value().get() {
            seen.set(revision);
        }
    });
    let name = workload.name.clone();
    let save = match domain::can::edit(&workload) {
        Ok(()) => {
            view! { <button class="btn btn-primary" type="submit">"Save placement"</button> }.into_any()
        }
        Err(why) => view! { <Refusal verb="Save placement".to_owned() why=why.to_string() id="why-edit" /> }
            .into_any(),
    };
    view! {
        <div class="stack-md">
            {outcome(action, &name)}
            <div class="grid gap-10 lg:grid-cols-[372px_minmax(0,1fr)]">
                <ActionForm action=action attr:class="stack-md">
                    <input type="hidden" name="name" value=name.clone() />
                    <input type="hidden" name="seen" value=move || seen.get().to_string() />
                    <input type="hidden" name="tab" value=Tab::Placement.slug() />
                    <PlacementFields form=form clusters=clusters />
                    <div class="flex gap-2">
                        {save}
                        <noscript>
                            <button class="btn" type="submit" formmethod="get" formaction=paths::workload(&name)>
                                "Try it"
                            </button>
                        </noscript>
                    </div>
                    <p class="meta">"Saving changes the draft. Clusters change when you publish."</p>
                </ActionForm>
                <LiveMatch form=form clusters=clusters current=StoredValue::new(current) />
            </div>
        </div>
    }
    .into_any()
}

fn outcome(action: ServerAction<PlacementSave>, name: &str) -> impl IntoView + use<> {
    let review = StoredValue::new(paths::publish(name));
    move || match action.value().get() {
        Some(Ok(_)) => view! {
            <Banner look=Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" }>
                <p>
                    <b>"Placement saved in the draft."</b>
                    " No cluster has changed."
                </p>
                <div class="banner-actions">
                    <a class="btn" href=review.get_value()>
                        "Review"
                    </a>
                </div>
            </Banner>
        }
        .into_any(),
        Some(Err(error)) => view! { <Said error=error /> }.into_any(),
        None => ().into_any(),
    }
}

//! Where a workload belongs: the form, and for every cluster whether it matches and because of what.

use domain::Finding;
use domain::workload::Workload;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::form::{PlacementFields, with_spare_rows};
use super::placement_form::PlacementForm;
use super::verdicts::{LiveMatch, decided, said};
use crate::components::{Banner, Look, Refusal, Said, loaded_part};
use crate::errors::Answer;
use crate::paths::{self, Tab};

/// What the editor works with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementData {
    /// The workload with its draft; without the texts of its files.
    pub workload: Workload,
    /// The fleet to choose from.
    pub candidates: Candidates,
}

/// The editor's query.
#[server(prefix = "/api/fn", endpoint = "placement_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn placement_read(name: String) -> Answer<PlacementData> {
    use super::source::without_texts;
    use crate::host;
    let hub = host::hub_for_reader()?;
    let mut workload = host::answer(hub.workload_view(&name).await)?.workload;
    without_texts(&mut workload.draft.source);
    let fleet = host::answer(hub.placement_fleet(&name).await)?;
    let candidates = Candidates::of(fleet.clusters, fleet.groups, &fleet.current);
    Ok(PlacementData { workload, candidates })
}

/// Saves the placement of the draft; `then` says where a step of the wizard leads.
#[server(prefix = "/api/fn", endpoint = "placement_save")]
pub async fn placement_save(
    name: String,
    seen: i64,
    placement: PlacementForm,
    #[server(default)] then: String,
) -> Answer<i64> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let placement = placement.placement().map_err(|findings| host::refused(AppError::Invalid(findings)))?;
    let mut spec = host::answer(hub.workload_view(&name).await)?.workload.draft;
    spec.placement = placement;
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    let revision = host::answer(hub.workload_edit(&actor, &name, edit, Some(seen)).await)?.revision;
    super::wizard::go_on(&name, super::wizard::Step::Placement, &then);
    Ok(revision)
}

/// The tab.
#[component]
pub fn PlacementTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<PlacementSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
    loaded_part(data, move |data| view! { <PlacementEdit data=data action=action /> }.into_any())
}

/// What stands at the end of the form: from the findings, and whether the form is on its way.
pub type Foot = fn(Signal<Vec<Finding>>, Signal<bool>) -> AnyView;

/// The editor with its live result. In a step of the wizard the foot is the wizard's; in the tab it has a button of its own.
#[component]
pub fn PlacementEdit(
    /// The workload and its fleet.
    data: PlacementData,
    /// Saves.
    action: ServerAction<PlacementSave>,
    /// The wizard's foot.
    #[prop(optional)]
    foot: Option<Foot>,
) -> impl IntoView {
    let workload = data.workload;
    let fleet = data.candidates.fleet();
    let begin = PlacementForm::from_query(&use_query_map().get_untracked());
    let begin = begin.unwrap_or_else(|| PlacementForm::of(&workload.draft.placement));
    let form = RwSignal::new(with_spare_rows(begin, &fleet));
    let fleet = StoredValue::new(fleet);
    let decided = decided(form, fleet);
    let findings =
        Signal::derive(move || decided.with(|decided| fleet.with_value(|fleet| said(decided, fleet))));
    let seen = RwSignal::new(workload.revision);
    Effect::new(move |_| {
        if let Some(Ok(revision)) = action.value().get() {
            seen.set(revision);
        }
    });
    let name = workload.name.clone();
    let busy = Signal::derive(move || action.pending().get());
    let (id, end) = match foot {
        Some(foot) => (super::wizard::FORM, foot(findings, busy)),
        None => ("placement", own_foot(&workload)),
    };
    let outcome = foot.is_none().then(|| outcome(action, &name));
    let said_no =
        move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> });
    let refused = foot.is_some().then_some(said_no);
    view! {
        <ActionForm action=action attr:id=id attr:class=if foot.is_some() { "wizard-step" } else { "stack-md" }>
            {outcome} {refused}
            <input type="hidden" name="name" value=name />
            <input type="hidden" name="seen" value=move || seen.get().to_string() />
            <div class="grid gap-10 lg:grid-cols-[372px_minmax(0,1fr)]">
                <PlacementFields form=form fleet=fleet />
                <LiveMatch decided=decided fleet=fleet />
            </div>
            {end}
        </ActionForm>
    }
    .into_any()
}

fn own_foot(workload: &Workload) -> AnyView {
    let save = match domain::can::edit(workload) {
        Ok(()) => {
            view! { <button class="btn btn-primary" type="submit">"Save placement"</button> }.into_any()
        }
        Err(why) => view! { <Refusal verb="Save placement".to_owned() why=why.to_string() id="why-edit" /> }
            .into_any(),
    };
    view! {
        <input type="hidden" name="tab" value=Tab::Placement.slug() />
        <div class="flex flex-wrap items-center gap-3">
            {save}
            <noscript>
                <button class="btn" type="submit" formmethod="get" formaction=paths::workload(&workload.name)>
                    "Try it"
                </button>
            </noscript>
            <span class="meta">"Saving changes the draft. Clusters change when you publish."</span>
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

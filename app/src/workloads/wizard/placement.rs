//! The step that asks where a workload belongs.

use domain::workload::Intent;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use super::{FORM, Step, WizardFoot, named};
use crate::components::{Banner, Look, Said, loaded};
use crate::workloads::form::{LiveMatch, PlacementFields, Verdicts};
use crate::workloads::placement_form::PlacementForm;
use crate::workloads::placement_tab::{PlacementData, PlacementSave, placement_read};

/// The page.
#[component]
pub fn PlacementPage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<PlacementSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
    view! {
        {move || view! { <Title text=format!("Placement of {}", name.get()) /> }}
        {loaded(data, move |data| show(data, action))}
    }
    .into_any()
}

fn show(data: PlacementData, action: ServerAction<PlacementSave>) -> AnyView {
    let clusters = StoredValue::new(data.clusters);
    let workload = data.workload;
    let nothing = Signal::stored(Vec::new());
    let Some(form) = PlacementForm::of(&workload.draft.placement) else {
        return view! {
            <div class="stack-md">
                <Banner look=Look { icon: "note", hue: "hue-unknown", loud: "state-quiet" }>
                    <p>
                        <b>"This placement says more than the form can."</b>
                        " It was written through the API or the command line; change it there. Below is what it decided."
                    </p>
                </Banner>
                <Verdicts decision=data.decision clusters=clusters />
            </div>
        }
        .into_any();
    };
    let current = match workload.intent {
        Intent::Published => data.decision.chosen().map(|verdict| verdict.cluster).collect(),
        _ => Vec::new(),
    };
    let form = RwSignal::new(PlacementForm::from_query(&use_query_map().get_untracked()).unwrap_or(form));
    let seen = super::seen(workload.revision, move || action.value().get().and_then(Result::ok));
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="name" value=workload.name.clone() />
            <input type="hidden" name="seen" value=move || seen.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <div class="grid gap-10 lg:grid-cols-[372px_minmax(0,1fr)]">
                <PlacementFields form=form clusters=clusters />
                <LiveMatch form=form clusters=clusters current=StoredValue::new(current) />
            </div>
            <WizardFoot step=Step::Placement findings=nothing busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}

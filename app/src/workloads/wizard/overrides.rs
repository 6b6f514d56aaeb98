//! The step that asks what differs on some clusters.

use domain::workload::Workload;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{FORM, Step, WizardFoot, named};
use crate::components::{count_of, loaded};
use crate::errors::Answer;
use crate::workloads::calls::draft_read;

/// Goes on from the overrides; nothing is stored.
#[server(prefix = "/api/fn", endpoint = "overrides_pass")]
pub async fn overrides_pass(name: String, #[server(default)] then: String) -> Answer<()> {
    crate::host::actor()?;
    super::go_on(&name, Step::Overrides, &then);
    Ok(())
}

/// The page.
#[component]
pub fn OverridesPage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<OverridesPass>::new();
    let data = Resource::new(move || name.get(), draft_read);
    view! {
        {move || view! { <Title text=format!("Overrides of {}", name.get()) /> }}
        {loaded(data, move |workload| show(workload, action))}
    }
    .into_any()
}

fn show(workload: Workload, action: ServerAction<OverridesPass>) -> AnyView {
    let nothing = Signal::stored(Vec::new());
    let n = u32::try_from(workload.draft.overrides.len()).unwrap_or(u32::MAX);
    let said = match n {
        0 => "Every cluster gets the same objects.".to_owned(),
        n => format!("{} changes what some clusters get.", count_of(n, "override")),
    };
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="name" value=workload.name />
            <p>{said}</p>
            <WizardFoot step=Step::Overrides findings=nothing busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}

//! The draft's files and policies. Saving changes the draft; only a publish changes clusters.

use domain::workload::{SourceFile, Workload};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::calls::draft_read;
use super::files::{Drafts, FilesEditor};
use super::policy_fields::{PolicyFields, PolicyForm};
use crate::components::{Banner, Look, Refusal, Said, loaded_part};
use crate::errors::Answer;
use crate::paths;

/// The form, as it is sent. Unticked boxes are not sent at all, so every part has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigForm {
    /// Name of the workload.
    pub name: String,
    /// The revision of the draft that the person saw.
    pub seen: i64,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files.
    pub files: Vec<SourceFile>,
    /// How it is kept.
    pub kept: PolicyForm,
}

/// Saves files and policies of the draft.
#[server(prefix = "/api/fn", endpoint = "config_save")]
pub async fn config_save(form: ConfigForm) -> Answer<i64> {
    use super::source::source_of;
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = source_of(form.files).map_err(host::refused)?;
    let mut spec = host::answer(hub.workload_view(&form.name).await)?.workload.draft;
    spec.namespace = form.namespace.trim().to_owned();
    spec.source = source;
    form.kept.into_spec(&mut spec);
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    Ok(host::answer(hub.workload_edit(&actor, &form.name, edit, Some(form.seen)).await)?.revision)
}

/// The tab. Its draft is read once: what others do meanwhile must not change the text under the person's hands.
#[component]
pub fn ConfigTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<ConfigSave>::new();
    let data = Resource::new(move || name.get(), draft_read);
    loaded_part(data, move |workload| view! { <ConfigFields workload=workload action=action /> }.into_any())
}

#[component]
fn ConfigFields(workload: Workload, action: ServerAction<ConfigSave>) -> impl IntoView {
    let drafts = Drafts::new(workload.draft.source.files());
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let name = workload.name.clone();
    let findings = drafts.findings(Signal::stored(name.clone()), namespace.into());
    // After a save the next one builds on it.
    let seen = RwSignal::new(workload.revision);
    Effect::new(move |_| {
        if let Some(Ok(revision)) = action.value().get() {
            seen.set(revision);
        }
    });
    let save = match domain::can::edit(&workload) {
        Ok(()) => view! { <button class="btn btn-primary" type="submit">"Save draft"</button> }.into_any(),
        Err(why) => {
            view! { <Refusal verb="Save draft".to_owned() why=why.to_string() id="why-edit" /> }.into_any()
        }
    };
    view! {
        <ActionForm action=action attr:class="stack">
            <input type="hidden" name="form[name]" value=name.clone() />
            <input type="hidden" name="form[seen]" value=move || seen.get().to_string() />
            {outcome(action, &name)}
            <div class="split split-344">
                <FilesEditor drafts=drafts findings=findings prefix="form" />
                <aside class="fields" aria-label="Policies">
                    <div class="field">
                        <label class="field-label" for="namespace">
                            "Namespace"
                        </label>
                        <input
                            class="input input-mono"
                            id="namespace"
                            name="form[namespace]"
                            value=workload.draft.namespace.clone()
                            maxlength="63"
                            required=true
                            on:input=move |ev| namespace.set(event_target_value(&ev))
                        />
                        <p class="field-help">"For objects that name none."</p>
                    </div>
                    <PolicyFields addon=workload.draft.addon policies=workload.draft.policies.clone() />
                    <div>{save}</div>
                    <p class="meta">"Saving changes the draft. Clusters change when you publish."</p>
                </aside>
            </div>
        </ActionForm>
    }
    .into_any()
}

fn outcome(action: ServerAction<ConfigSave>, name: &str) -> impl IntoView + use<> {
    let review = StoredValue::new(paths::publish(name));
    move || match action.value().get() {
        Some(Ok(_)) => view! {
            <Banner look=Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" }>
                <p>
                    <b>"Draft saved."</b>
                    " Nothing has changed on any cluster."
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

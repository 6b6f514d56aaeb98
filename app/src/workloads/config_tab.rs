//! The draft's files and policies. Saving changes the draft; only a publish changes clusters.

use domain::workload::{ConflictPolicy, DeletionPolicy, DriftPolicy, Policies, SourceFile, Workload};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::calls::draft_read;
use super::files::{Drafts, FilesEditor};
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
    /// On every cluster that matches, by itself.
    pub addon: bool,
    /// Make the namespace.
    pub create_namespace: bool,
    /// Delete what a new revision no longer has.
    pub prune: bool,
    /// On drift.
    pub drift: DriftPolicy,
    /// On objects of others.
    pub conflict: ConflictPolicy,
    /// On leaving a cluster.
    pub deletion: DeletionPolicy,
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
    spec.addon = form.addon;
    spec.policies = Policies {
        create_namespace: form.create_namespace,
        prune: form.prune,
        drift: form.drift,
        conflict: form.conflict,
        deletion: form.deletion,
        // What the form does not ask for stays as the API or the command line set it.
        ..spec.policies
    };
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

/// How a workload is kept, as fields.
#[component]
pub fn PolicyFields(
    /// Whether it is an addon.
    addon: bool,
    /// What the draft says.
    policies: Policies,
) -> impl IntoView {
    let tick = |name: &'static str, label: &'static str, on: bool| {
        view! {
            <label class="choice">
                <input type="checkbox" class="checkbox" name=format!("form[{name}]") value="true" checked=on />
                {label}
            </label>
        }
    };
    view! {
        <div class="stack-sm">
            {tick("addon", "Addon: also on clusters that match later, by itself", addon)}
            {tick("create_namespace", "Make the namespace if it is missing", policies.create_namespace)}
            {tick("prune", "Delete what a new revision no longer has", policies.prune)}
        </div>
        {select("drift", "When somebody changes an object", &[("revert", "Put it back"), ("notify", "Show it and leave it")], policies.drift as usize)}
        {select("conflict", "When an object belongs to somebody else", &[("abort", "Stop and say who"), ("takeOver", "Take it over"), ("ifIdentical", "Adopt it if nothing of it would change")], policies.conflict as usize)}
        {select("deletion", "When it leaves a cluster", &[("foreground", "Delete the objects"), ("orphan", "Leave them running"), ("selectivelyOrphan", "Leave those that its policy names")], policies.deletion as usize)}
    }
    .into_any()
}

/// A choice in the order of its enum; `chosen` is the position of the one that is chosen.
fn select(
    name: &'static str,
    label: &'static str,
    choices: &'static [(&'static str, &'static str)],
    chosen: usize,
) -> impl IntoView {
    let option = |(at, (value, word)): (usize, &(&'static str, &'static str))| {
        view! {
            <option value=*value selected=at == chosen>
                {*word}
            </option>
        }
    };
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <select class="select" id=name name=format!("form[{name}]")>
                {choices.iter().enumerate().map(option).collect_view()}
            </select>
        </div>
    }
}

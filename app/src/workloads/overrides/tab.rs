//! The overrides editor: the list of overrides, and for one cluster every field with its base, the value of the edited
//! override, the effective value and its origin (E-8). The browser merges with the same functions as the server.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::actions::{OverrideRemove, OverrideSave, OverridesData, overrides_read};
use super::state::{EditorState, create_state, findings};
use super::{fields, lists, target};
use crate::components::{Banner, ErrorBanner, FindingList, StatusStyle, render_resource_part};
use crate::paths::WorkloadTab;
use crate::resource::create_resource;
use crate::workloads::draft_saving::save_button;
use crate::workloads::wizard::{FORM, RenderFooter};

/// The tab with the overrides.
#[component]
pub fn OverridesTab(name: Memo<String>) -> impl IntoView {
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = count_saves(save, remove);
    let data = create_resource(move || (name.get(), stored.get()), |(name, _)| overrides_read(name));
    render_resource_part(data, move |data| {
        view! { <OverridesEditor data=data save=save remove=remove /> }.into_any()
    })
}

/// Counts successful saves and removals: each reloads the draft. A rejected one leaves the form unchanged.
pub fn count_saves(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> RwSignal<u32> {
    let stored = RwSignal::new(0);
    Effect::new(move |_| {
        if matches!(save.value().get(), Some(Ok(name)) if !name.is_empty()) {
            stored.update(|n| *n += 1);
        }
    });
    Effect::new(move |_| {
        if matches!(remove.value().get(), Some(Ok(_))) {
            stored.update(|n| *n += 1);
        }
    });
    stored
}

/// The editor. A step of the wizard passes its footer; the tab has buttons of its own.
#[component]
pub fn OverridesEditor(
    /// The workload and its fleet.
    data: OverridesData,
    /// The action that saves.
    save: ServerAction<OverrideSave>,
    /// The action that removes.
    remove: ServerAction<OverrideRemove>,
    /// The footer of the wizard.
    #[prop(optional)]
    footer: Option<RenderFooter>,
) -> impl IntoView {
    let query = use_query_map();
    // Only another `override` creates a new form; another `cluster` keeps the input.
    let at = Memo::new(move |_| query.read().get("override").unwrap_or_default());
    let data = StoredValue::new(data);
    view! {
        <div class=if footer.is_some() { "wizard-step" } else { "stack-md" }>
            {save_result(save, remove)}
            {move || {
                let at = at.get();
                let state = data.with_value(|data| create_state(data, &at));
                editor_view(state, save, remove, footer)
            }}
        </div>
    }
    .into_any()
}

fn editor_view(
    state: EditorState,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
    footer: Option<RenderFooter>,
) -> AnyView {
    let all_findings = Memo::new(move |_| findings(state));
    let name = state.workload.with_value(|workload| workload.name.clone());
    let busy = Signal::derive(move || save.pending().get());
    let (id, own, below) = match footer {
        Some(footer) => (FORM, None, Some(footer(all_findings.into(), busy))),
        None => ("override", Some(tab_footer(state)), None),
    };
    let columns = view! {
        <div class="overrides">
            {lists::cluster_list(state)}
            <div class="stack-md min-w-0">
                {lists::override_list(state, remove)}
                <ActionForm action=save attr:id=id attr:class="stack-md">
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="tab" value=WorkloadTab::Overrides.slug() />
                    {target::target_fields(state)}
                    {move || {
                        let findings = all_findings.get();
                        (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })
                    }}
                    {fields::field_table(state)}
                    {own}
                </ActionForm>
            </div>
        </div>
    };
    view! { {columns} {below} }.into_any()
}

fn tab_footer(state: EditorState) -> AnyView {
    let (save, is_published) = state.workload.with_value(|workload| {
        let is_published = workload.intent == domain::workload::Intent::Published;
        (save_button(workload, "Save override"), is_published)
    });
    let now = is_published.then(|| {
        view! {
            <button class="btn" type="submit" name="now" value="true">
                "Save and roll out now"
            </button>
        }
    });
    view! {
        <div class="flex flex-wrap items-center gap-3">
            {save} {now}
            <span class="meta">
                {if is_published {
                    "Saved in the draft. “Save and roll out now” also creates a revision with only this change, for the clusters that it changes."
                } else {
                    "Saving changes the draft. Clusters change when you publish."
                }}
            </span>
        </div>
    }
    .into_any()
}

fn save_result(save: ServerAction<OverrideSave>, remove: ServerAction<OverrideRemove>) -> impl IntoView {
    let success = |text: String| {
        view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{text}</b>
                </p>
            </Banner>
        }
        .into_any()
    };
    move || {
        let saved = match save.value().get() {
            Some(Ok(name)) if !name.is_empty() => Some(success(format!("Override {name} saved."))),
            Some(Err(error)) => Some(view! { <ErrorBanner error=error /> }.into_any()),
            _ => None,
        };
        let removed = match remove.value().get() {
            Some(Ok(name)) => Some(success(format!("Override {name} removed."))),
            Some(Err(error)) => Some(view! { <ErrorBanner error=error /> }.into_any()),
            None => None,
        };
        (saved, removed)
    }
}

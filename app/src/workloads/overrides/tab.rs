//! The overrides editor: the list of overrides, and for one cluster every field with its base, the value of the edited
//! override, the effective value and its origin (E-8). The browser merges with the same functions as the server.

use domain::workload::{Intent, Workload};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::actions::{OverrideRemove, OverrideSave, OverridesData, StoredOverride, overrides_read};
use super::state::{EditorState, create_state, findings};
use super::{fields, lists, target};
use crate::components::{Banner, FindingList, StatusStyle, render_resource_part};
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;
use crate::workloads::draft_saving::{render_save_error, save_button};
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
        if matches!(save.value().get(), Some(Ok(Some(_)))) {
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

/// The revision of the draft that the next change is based on: the loaded one, or that of a later change made here, until
/// the draft is loaded again.
fn track_base_revision(
    workload: &Workload,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
) -> Memo<i64> {
    let (name, loaded) = (workload.name.clone(), workload.revision);
    Memo::new(move |_| {
        let saved = save.value().get().and_then(Result::ok).flatten();
        let removed = remove.value().get().and_then(Result::ok);
        let stored = [saved, removed].into_iter().flatten().filter(|stored| stored.workload == name);
        stored.map(|stored| stored.revision).fold(loaded, i64::max)
    })
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
    let base_revision = track_base_revision(&data.workload, save, remove);
    let result = save_result(&data.workload, save, remove);
    let data = StoredValue::new(data);
    // A second submission while the first one is pending would be based on a revision that no longer exists.
    let ignore_while_pending = move |event: leptos::ev::SubmitEvent| {
        if save.pending().get_untracked() || remove.pending().get_untracked() {
            event.prevent_default();
        }
    };
    view! {
        <div class=if footer.is_some() { "wizard-step" } else { "stack-md" } on:submit:capture=ignore_while_pending>
            {result}
            {move || {
                let at = at.get();
                let state = data.with_value(|data| create_state(data, &at, base_revision));
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
                    <input type="hidden" name="base_revision" value=move || state.base_revision.get().to_string() />
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
        let is_published = workload.intent == Intent::Published;
        (save_button(workload, "Save override"), is_published)
    });
    let now = is_published.then(|| {
        view! {
            <button class="btn" type="submit" name="review" value="true">
                "Save and review rollout"
            </button>
        }
    });
    view! {
        <div class="flex flex-wrap items-center gap-3">
            {save} {now}
            <span class="meta">
                {if is_published {
                    "Saved in the draft. “Save and review rollout” then shows what a revision with only this change does on every cluster, before you publish it."
                } else {
                    "Saving changes the draft. Clusters change when you publish."
                }}
            </span>
        </div>
    }
    .into_any()
}

/// The result of the latest save and of the latest removal; a stored change of a published workload has a link to the
/// review of a publish of this change alone.
fn save_result(
    workload: &Workload,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
) -> impl IntoView + use<> {
    let is_published = workload.intent == Intent::Published;
    let success = move |stored: StoredOverride, verb: &'static str| {
        let review = is_published.then(|| {
            view! {
                <div class="banner-actions">
                    <a class="btn" href=paths::publish_override(&stored.workload, &stored.name)>
                        "Review rollout"
                    </a>
                </div>
            }
        });
        view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{format!("Override {} {verb}.", stored.name)}</b>
                    " No cluster has changed."
                </p>
                {review}
            </Banner>
        }
        .into_any()
    };
    let render_error = render_save_error();
    move || {
        let saved = save.value().get().and_then(|result| match result {
            Ok(stored) => stored.map(|stored| success(stored, "saved")),
            Err(error) => Some(render_error(error)),
        });
        let removed = remove.value().get().map(|result| match result {
            Ok(stored) => success(stored, "removed"),
            Err(error) => render_error(error),
        });
        (saved, removed)
    }
}

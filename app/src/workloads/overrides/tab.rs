//! The overrides editor: the list of overrides, and for one cluster every field with its base, the value of the edited
//! override, the effective value and its origin (E-8). The browser merges with the same functions as the server.

use domain::authorization::UserAction;
use domain::manifest;
use domain::overrides::Override;
use domain::workload::{Intent, Workload};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::actions::{OverrideRemove, OverrideSave, OverridesData, StoredOverride, overrides_read};
use super::form::OverrideForm;
use super::group_list::group_list;
use super::overridable::list_fields;
use super::state::{EditorState, OverrideAddress, create_state, findings};
use super::{fields, lists, target};
use crate::address::{defer_change, use_tab_query};
use crate::components::{Banner, DisabledButton, FindingList, StatusStyle, render_resource_part};
use crate::parsing::parse_text;
use crate::paths::{self, WorkloadTab};
use crate::permission::Permission;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_saving::{render_save_error, save_button};
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::watch_left_form;
use crate::workloads::queries::{create_file_resource, show_files};
use crate::workloads::wizard::{FORM, RenderFooter};

/// The tab with the overrides.
#[component]
pub fn OverridesTab(name: Memo<String>) -> impl IntoView {
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = count_saves(save, remove);
    let is_left = watch_left_form();
    let data = create_file_resource(
        move || (name.get(), stored.get(), is_left.get()),
        |(name, ..), is_whole| overrides_read(name, is_whole),
    );
    render_resource_part(data, move |data| {
        show_files(data, |data| view! { <OverridesEditor data=data save=save remove=remove /> }.into_any())
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
    autosaved: RwSignal<i64>,
) -> Memo<i64> {
    let (name, loaded) = (workload.name.clone(), workload.revision);
    Memo::new(move |_| {
        let saved = save.value().get().and_then(Result::ok).flatten();
        let removed = remove.value().get().and_then(Result::ok);
        let stored = [saved, removed].into_iter().flatten().filter(|stored| stored.workload == name);
        stored.map(|stored| stored.revision).fold(loaded.max(autosaved.get()), i64::max)
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
    let query = use_tab_query();
    // Only another `override` or `group` creates a new form; another `cluster` retains the input.
    let at = defer_change(Memo::new(move |_| {
        let query = query.read();
        let name = query.get("override").unwrap_or_default();
        let group = query.get("group").filter(|_| name.is_empty()).unwrap_or_default();
        OverrideAddress { is_new: query.get("new").is_some(), group, name }
    }));
    let revision = data.workload.revision;
    let autosaved = RwSignal::new(revision);
    let base_revision = track_base_revision(&data.workload, save, remove, autosaved);
    let data = StoredValue::new(data);
    let result = save_result(data, base_revision, save, remove);
    // A second submission while the first one is pending would be based on a revision that no longer exists.
    let ignore_while_pending = move |event: leptos::ev::SubmitEvent| {
        if save.pending().get_untracked() || remove.pending().get_untracked() {
            event.prevent_default();
        }
    };
    view! {
        <div class=if footer.is_some() { "wizard-step" } else { "stack-md" } on:submit:capture=ignore_while_pending>
            {result}
            // Another form has elements of its own: what was typed into this one does not stay in it.
            <For
                each=move || at.try_get().map(|at| (at, revision))
                key=Clone::clone
                children=move |(at, _)| {
                    let state = data.with_value(|data| create_state(data, &at, base_revision));
                    editor_view(state, autosaved, save, remove, footer)
                }
            />
        </div>
    }
    .into_any()
}

fn editor_view(
    state: EditorState,
    autosaved: RwSignal<i64>,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
    footer: Option<RenderFooter>,
) -> AnyView {
    let all_findings = Memo::new(move |_| findings(state));
    let name = state.workload.with_value(|workload| workload.name.clone());
    let busy = Signal::derive(move || save.pending().get());
    let autosave = create_autosave(state, autosaved, save);
    let follow = save_before_switch(autosave, save);
    let element = autosave.element();
    let (id, own, below) = match footer {
        Some(footer) => (FORM, None, Some(footer(all_findings.into(), busy, autosave.status_view()))),
        None => ("override", Some(tab_footer(state, autosave.status_view())), None),
    };
    let is_untargeted = target::is_untargeted(state);
    // What was picked is input as what was typed.
    let note_picked = Callback::new(move |()| autosave.note_input());
    let columns = view! {
        <div class="overrides">
            <div class="stack">
                {lists::cluster_list(state, follow)}
                {group_list(state, follow)}
            </div>
            <ActionForm
                action=save
                node_ref=element
                attr:id=id
                attr:class="stack-md override-form"
                on:input=move |_| autosave.note_input()
                on:change=move |_| autosave.note_input()
                on:click=move |_| autosave.note_click()
            >
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="base_revision" value=move || state.base_revision.get().to_string() />
                <input type="hidden" name="tab" value=WorkloadTab::Overrides.slug() />
                <input type="hidden" name="form[cluster]" value=move || state.target_cluster.get() />
                <input type="hidden" name="form[group]" value=state.target_group.get_value() />
                {target::subject(state)}
                // A new override without a target begins with it; any other with the values.
                {is_untargeted.then(|| target::target_fields(state, note_picked))}
                {fields::field_table(state)}
                {move || {
                    let findings = all_findings.get();
                    (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })
                }}
                {(!is_untargeted).then(|| target::target_fields(state, note_picked))}
                <div>
                    {target::more_fields(state)}
                    {fields::yaml_editors(state)}
                </div>
                {own}
            </ActionForm>
            {lists::override_list(state, remove, follow)}
        </div>
    };
    view! { {columns} {below} }.into_any()
}

/// Follows a link to another cluster or override after a click. What was typed is saved first: another form replaces this one.
fn save_before_switch(
    autosave: FormAutosave<OverrideSave>,
    save: ServerAction<OverrideSave>,
) -> Callback<(leptos::ev::MouseEvent, String)> {
    let navigate = use_navigate();
    let next = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        let Some(result) = save.value().get() else { return };
        // After a rejected save the person goes on here: a later save does not follow the link.
        let href = next.get_untracked();
        next.set(None);
        if let Some(href) = href.filter(|_| result.is_ok()) {
            navigate(&href, NavigateOptions { scroll: false, ..NavigateOptions::default() });
        }
    });
    Callback::new(move |(event, href): (leptos::ev::MouseEvent, String)| {
        let Some(fields) = autosave.take_unsaved() else { return };
        event.prevent_default();
        next.set(Some(href));
        save.dispatch(fields);
    })
}

/// Stores the form automatically: an override that exists while a person types, a new one, whose name is not complete before, when
/// the page is left.
fn create_autosave(
    state: EditorState,
    autosaved: RwSignal<i64>,
    save: ServerAction<OverrideSave>,
) -> FormAutosave<OverrideSave> {
    let (name, is_editable) = state
        .workload
        .with_value(|workload| (workload.name.clone(), domain::actions::check_edit(workload).is_ok()));
    let is_stored = state.edited_name.with_value(|name| !name.is_empty());
    let autosave = FormAutosave::new(&name, NodeRef::new(), autosaved, is_editable && is_stored);
    Effect::new(move |former: Option<()>| {
        let Some(Ok(Some(stored))) = save.value().get() else { return };
        // Another override was stored, as by Undo, or this one before its input was left and opened again.
        let is_named =
            state.input.with_untracked(|input| input.as_ref().is_ok_and(|input| input.name == stored.name));
        if is_named && (former.is_some() || !autosave.is_reopened()) {
            autosave.record_submission(SavedDraft { revision: stored.revision, saved_at: stored.saved_at });
        }
    });
    autosave
}

fn tab_footer(state: EditorState, status: AnyView) -> AnyView {
    let (is_published, is_editable) = state.workload.with_value(|workload| {
        (workload.intent == Intent::Published, domain::actions::check_edit(workload).is_ok())
    });
    // Without script the form is submitted as it is.
    let is_live = RwSignal::new(false);
    Effect::new(move |_| is_live.set(true));
    let is_blank = Memo::new(move |_| is_live.get() && is_editable && target::is_blank(state));
    let buttons = move || {
        if is_blank.get() {
            let (verb, why) = ("Save override".to_owned(), "Nothing is changed.".to_owned());
            return view! {
                <Permission action=UserAction::Edit>
                    <DisabledButton verb=verb why=why id="why-blank" />
                </Permission>
            }
            .into_any();
        }
        let save = state.workload.with_value(|workload| save_button(workload, "Save override"));
        let now = (is_published && is_editable).then(|| {
            view! {
                <button class="btn" type="submit" name="review" value="true">
                    "Save and review rollout"
                </button>
            }
        });
        view! { {save} {now} }.into_any()
    };
    view! {
        <div class="tab-foot">
            {buttons} {status}
            <span class="meta">
                {if is_published {
                    "Saved in the draft. Clusters change only when you publish; the review shows what only this change does."
                } else {
                    "Saved in the draft. Clusters change only when you publish."
                }}
            </span>
        </div>
    }
    .into_any()
}

/// The result of the latest save or removal; a stored change of a published workload has a link to the review of a publish of this
/// change alone, and a removal can be undone.
fn save_result(
    data: StoredValue<OverridesData>,
    base_revision: Memo<i64>,
    save: ServerAction<OverrideSave>,
    remove: ServerAction<OverrideRemove>,
) -> impl IntoView {
    let is_published = data.with_value(|data| data.workload.intent == Intent::Published);
    // Until the next change of the draft: that may be another override of the same name.
    let undo = move |removed: Override, removed_at: i64| {
        move || {
            let is_latest = base_revision.get() == removed_at;
            is_latest.then(|| undo_button(data, removed_at, save, removed.clone()))
        }
    };
    let success = move |stored: StoredOverride, verb: &'static str| {
        let review = is_published.then(|| {
            let href = paths::publish_override(&stored.workload, &stored.name);
            view! { <a class="btn" href=href>"Review rollout"</a> }
        });
        view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{format!("Override {} {verb}.", stored.name)}</b>
                    " No cluster has changed."
                </p>
                <div class="banner-actions">{review} {stored.removed.map(|removed| undo(removed, stored.revision))}</div>
            </Banner>
        }
        .into_any()
    };
    let render_error = render_save_error();
    move || {
        let (saved, removed) = (save.value().get(), remove.value().get());
        let saved_at = match &saved {
            Some(Ok(Some(stored))) => stored.revision,
            _ => 0,
        };
        let removed_at = match &removed {
            Some(Ok(stored)) => stored.revision,
            _ => 0,
        };
        let saved = saved.and_then(|result| match result {
            Ok(stored) => {
                let latest = stored.filter(|stored| stored.revision >= removed_at);
                latest.map(|stored| success(stored, "saved"))
            }
            Err(error) => Some(render_error(error)),
        });
        let removed = removed.and_then(|result| match result {
            Ok(stored) => (stored.revision > saved_at).then(|| success(stored, "removed")),
            Err(error) => Some(render_error(error)),
        });
        (saved, removed)
    }
}

fn undo_button(
    data: StoredValue<OverridesData>,
    removed_at: i64,
    save: ServerAction<OverrideSave>,
    removed: Override,
) -> AnyView {
    let restore = move |_| {
        save.dispatch(restore_override(data, removed_at, &removed));
    };
    view! { <button class="btn noscript:hidden" type="button" on:click=restore>"Undo"</button> }.into_any()
}

/// The save that stores a removed override again. It is based on the removal: after another change of the draft it is rejected.
fn restore_override(data: StoredValue<OverridesData>, removed_at: i64, removed: &Override) -> OverrideSave {
    let (name, objects) = data.with_value(|data| {
        let files = data.workload.draft.source.files();
        (data.workload.name.clone(), parse_text(|| manifest::parse(files).objects()))
    });
    let form = OverrideForm::from_override(removed, &list_fields(&objects));
    OverrideSave { name, base_revision: removed_at, form, review: false, then: String::new() }
}

//! Forms whose page was left before their input was stored. They outlive their pages: each is saved again until it is stored, or is
//! opened again, or is discarded by a person.

use std::any::Any;
use std::sync::Arc;

use leptos::prelude::*;

use super::autosave::{SaveState, guard_leave};
use crate::components::{Banner, StatusStyle};
use crate::paths;

/// Input that was not stored when its page was left.
#[derive(Clone)]
pub struct LeftForm {
    /// The workload.
    pub workload: String,
    /// The part of its draft, as [`super::form_autosave::DraftForm::PART`].
    pub part: &'static str,
    /// The address of its page.
    pub address: String,
    /// The fields, of the type that the page of this address has.
    pub fields: Arc<dyn Any + Send + Sync>,
    /// The draft revision that the fields are based on.
    pub base_revision: i64,
    /// The state of its saves.
    pub state: SaveState,
}

/// A form in the list.
#[derive(Clone)]
struct LeftFormEntry {
    id: u32,
    form: LeftForm,
    /// Whether its page is open: the input is in that page, which stores it.
    is_open: bool,
}

/// All such forms of this document.
#[derive(Clone, Copy)]
pub struct LeftForms {
    entries: RwSignal<Vec<LeftFormEntry>>,
    next_id: StoredValue<u32>,
}

/// Provides the list, once, at the root of the app. While it has entries, the browser asks before it closes the document.
pub fn provide_left_forms() {
    let forms = LeftForms::new();
    provide_context(forms);
    guard_leave(move || forms.entries.with_untracked(|entries| !entries.is_empty()));
}

/// The list of the app; an empty one outside of it, as in tests.
pub fn use_left_forms() -> LeftForms {
    use_context::<LeftForms>().unwrap_or_else(LeftForms::new)
}

impl LeftForms {
    fn new() -> Self {
        Self { entries: RwSignal::default(), next_id: StoredValue::new(0) }
    }

    /// Adds a form, in place of an earlier one of the same address. Returns its id.
    pub fn insert(self, form: LeftForm) -> u32 {
        let id = self.next_id.get_value();
        self.next_id.set_value(id.wrapping_add(1));
        self.entries.update(|entries| {
            entries.retain(|entry| entry.form.address != form.address);
            entries.push(LeftFormEntry { id, form, is_open: false });
        });
        id
    }

    /// Opens the form of this address, unless its first save still runs. Its input stays in the list until it is removed.
    pub fn open(self, address: &str) -> Option<(u32, LeftForm)> {
        let is_meant =
            |entry: &LeftFormEntry| entry.form.address == address && entry.form.state != SaveState::Saving;
        let found = self.entries.with_untracked(|entries| {
            entries.iter().find(|entry| is_meant(entry)).map(|entry| (entry.id, entry.form.clone()))
        })?;
        self.change(found.0, |entry| entry.is_open = true);
        Some(found)
    }

    /// Records that the page of an opened form was left; returns the form if it is still in the list.
    pub fn close(self, id: u32) -> Option<LeftForm> {
        self.change(id, |entry| entry.is_open = false);
        self.find_waiting(id)
    }

    /// The form with this id, unless its page is open.
    pub fn find_waiting(self, id: u32) -> Option<LeftForm> {
        self.entries.with_untracked(|entries| {
            entries.iter().find(|entry| entry.id == id && !entry.is_open).map(|entry| entry.form.clone())
        })
    }

    /// Sets the state of the saves of a form.
    pub fn set_state(self, id: u32, state: SaveState) {
        self.change(id, |entry| entry.form.state = state);
    }

    /// Removes a form: it was stored or discarded.
    pub fn remove(self, id: u32) {
        if self.entries.with_untracked(|entries| entries.iter().any(|entry| entry.id == id)) {
            self.entries.update(|entries| entries.retain(|entry| entry.id != id));
        }
    }

    /// Records that this document changed a draft from one revision to the next: the other forms of the workload, which the change
    /// does not concern, are based on the new revision.
    pub fn advance_revision(self, workload: &str, from: i64, to: i64) {
        let is_based =
            |entry: &LeftFormEntry| entry.form.workload == workload && entry.form.base_revision == from;
        if from == to || !self.entries.with_untracked(|entries| entries.iter().any(is_based)) {
            return;
        }
        self.entries.update(|entries| {
            for entry in entries.iter_mut().filter(|entry| is_based(entry)) {
                entry.form.base_revision = to;
            }
        });
    }

    fn change(self, id: u32, change: impl FnOnce(&mut LeftFormEntry)) {
        if self.entries.with_untracked(|entries| entries.iter().any(|entry| entry.id == id)) {
            self.entries.update(|entries| {
                if let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) {
                    change(entry);
                }
            });
        }
    }

    /// The forms whose last save failed and whose page is not open.
    fn list_failed(self) -> Vec<(u32, LeftForm)> {
        self.entries.with(|entries| {
            let is_shown = |entry: &&LeftFormEntry| !entry.is_open && entry.form.state != SaveState::Saving;
            entries.iter().filter(is_shown).map(|entry| (entry.id, entry.form.clone())).collect()
        })
    }
}

/// Above every page: the forms that were left and are not stored.
#[component]
pub fn LeftFormsBanner() -> impl IntoView {
    let forms = use_left_forms();
    let banners = move || {
        let failed = forms.list_failed().into_iter();
        failed.map(|(id, form)| left_form_banner(form, move || forms.remove(id))).collect_view()
    };
    view! { {banners} }.into_any()
}

fn left_form_banner(form: LeftForm, discard: impl Fn() + Send + Sync + 'static) -> AnyView {
    let LeftForm { workload, part, address, state, .. } = form;
    let sign_in = matches!(state, SaveState::SignedOut(_)).then(|| {
        let href = paths::sign_in(&address);
        view! { <a class="btn" href=href target="_blank" rel="external">"Sign in in a new tab"</a> }
    });
    view! {
        <Banner look=StatusStyle { icon: "error", hue: "hue-degraded", emphasis: "state-broken" }>
            <p>
                <b>{part} " of " <span class="name">{workload}</span> " is not saved."</b>
                " "
                {describe_state(&state)}
            </p>
            <div class="banner-actions">
                {sign_in}
                <a class="btn" href=address>"Open what was typed"</a>
                <button class="btn btn-quiet" type="button" on:click=move |_| discard()>"Discard"</button>
            </div>
        </Banner>
    }
    .into_any()
}

fn describe_state(state: &SaveState) -> String {
    match state {
        SaveState::SignedOut(_) => "You are signed out. It is saved after the next sign-in.".to_owned(),
        SaveState::Retrying(_) => {
            "The server or its database does not respond. The save is repeated until it succeeds.".to_owned()
        }
        SaveState::Failed(why) => why.clone(),
        _ => "The draft was changed after it was typed.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    fn left_form(address: &str, state: SaveState) -> LeftForm {
        LeftForm {
            workload: "shop".to_owned(),
            part: "Placement",
            address: address.to_owned(),
            fields: Arc::new(3_u32),
            base_revision: 4,
            state,
        }
    }

    fn in_app<T>(test: impl FnOnce(LeftForms) -> T) -> T {
        Owner::new().with(|| test(LeftForms::new()))
    }

    #[test]
    fn the_banner_names_the_form_and_the_reason_and_links_to_what_was_typed() {
        let form = left_form("/workloads/shop?tab=placement", SaveState::Failed("G201 is wrong.".to_owned()));
        let page = render_html(move || left_form_banner(form, || ()));
        for part in [
            "Placement",
            "shop",
            "is not saved",
            "G201 is wrong.",
            "/workloads/shop?tab=placement",
            "Discard",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
    }

    #[test]
    fn a_form_is_listed_while_its_page_is_closed_and_its_save_has_failed() {
        in_app(|forms| {
            let id = forms.insert(left_form("/a", SaveState::Saving));
            assert!(forms.list_failed().is_empty() && forms.open("/a").is_none());
            forms.set_state(id, SaveState::Retrying(1));
            assert_eq!(forms.list_failed().len(), 1);
            assert!(forms.open("/a").is_some_and(|(opened, _)| opened == id));
            assert!(forms.list_failed().is_empty() && forms.find_waiting(id).is_none());
            assert!(forms.close(id).is_some());
            forms.remove(id);
            assert!(forms.list_failed().is_empty() && forms.open("/a").is_none());
        });
    }

    #[test]
    fn a_form_that_is_left_again_replaces_the_former_input() {
        in_app(|forms| {
            forms.insert(left_form("/a", SaveState::Retrying(1)));
            let id = forms.insert(left_form("/a", SaveState::Failed(String::new())));
            forms.insert(left_form("/b", SaveState::Retrying(1)));
            let listed: Vec<u32> = forms.list_failed().into_iter().map(|(id, _)| id).collect();
            assert_eq!((listed.len(), listed[0]), (2, id));
        });
    }

    #[test]
    fn a_form_follows_the_changes_of_this_document_and_of_no_other() {
        in_app(|forms| {
            let id = forms.insert(left_form("/a", SaveState::Failed(String::new())));
            let base = |forms: LeftForms| forms.find_waiting(id).map(|form| form.base_revision);
            forms.advance_revision("other", 4, 5);
            forms.advance_revision("shop", 5, 6);
            assert_eq!(base(forms), Some(4));
            forms.advance_revision("shop", 4, 5);
            assert_eq!(base(forms), Some(5));
        });
    }
}

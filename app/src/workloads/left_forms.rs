//! Forms whose page was left before their input was stored. They outlive their pages: each is saved again until it is stored, or is
//! opened again, or is discarded by a person.

use std::any::Any;
use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::autosave::{SaveState, guard_leave};
use super::draft_part::DraftPart;
use crate::components::{Banner, StatusStyle};
use crate::errors::AppResult;
use crate::{paths, permission};

/// Input that was not stored when its page was left.
#[derive(Clone)]
pub struct LeftForm {
    /// The workload.
    pub workload: String,
    /// The part of its draft.
    pub part: DraftPart,
    /// The address of its page.
    pub address: String,
    /// The fields, of the type that the page of this address has.
    pub fields: Arc<dyn Any + Send + Sync>,
    /// The draft revision that the fields are based on.
    pub base_revision: i64,
    /// Who typed it; `None` if that was not known.
    pub user: Option<String>,
    /// The state of its saves.
    pub state: SaveState,
}

impl LeftForm {
    fn is_of(&self, user: Option<&str>) -> bool {
        self.user.is_none() || self.user.as_deref() == user
    }
}

/// A form in the list.
#[derive(Clone)]
struct LeftFormEntry {
    id: u32,
    form: LeftForm,
    /// Whether its page is open: the input is in that page, which stores it.
    is_open: bool,
    /// Whether a save of it is running.
    is_saving: bool,
}

/// A form for the banner.
#[derive(Clone)]
struct ListedForm {
    id: u32,
    form: LeftForm,
    /// Who typed it, if that is another user.
    other_user: Option<String>,
    is_saving: bool,
}

/// All such forms of this document.
#[derive(Clone, Copy)]
pub struct LeftForms {
    entries: RwSignal<Vec<LeftFormEntry>>,
    /// The signed-in user; `None` while it is not known.
    user: RwSignal<Option<String>>,
    next_id: StoredValue<u32>,
}

/// Provides the list, once, at the root of the app. While it has entries, the browser asks before it closes the document.
pub fn provide_left_forms() {
    let forms = LeftForms::new();
    forms.user.set(permission::document_user());
    provide_context(forms);
    guard_leave(move || forms.entries.with_untracked(|entries| !entries.is_empty()));
}

/// The list of the app; an empty one outside of it, as in tests.
pub fn use_left_forms() -> LeftForms {
    use_context::<LeftForms>().unwrap_or_else(LeftForms::new)
}

impl LeftForms {
    fn new() -> Self {
        Self { entries: RwSignal::default(), user: RwSignal::new(None), next_id: StoredValue::new(0) }
    }

    /// Records who is signed in; `None` if somebody may have signed in since. Forms of another user are neither opened nor stored.
    pub fn set_user(self, user: Option<String>) {
        if self.user.with_untracked(|known| *known != user) {
            self.user.set(user);
        }
    }

    /// The signed-in user, as far as it is known.
    pub fn user(self) -> Option<String> {
        self.user.get_untracked()
    }

    /// Adds a form, in place of an earlier one of the same address and user. Returns its id.
    pub fn insert(self, form: LeftForm) -> u32 {
        let id = self.next_id.get_value();
        self.next_id.set_value(id.wrapping_add(1));
        self.entries.update(|entries| {
            entries.retain(|entry| {
                entry.form.address != form.address || !entry.form.is_of(form.user.as_deref())
            });
            entries.push(LeftFormEntry { id, form, is_open: false, is_saving: false });
        });
        id
    }

    /// Opens the form of this address, unless it is being saved, or is that of another user. Its input stays in the list until it is
    /// removed.
    pub fn open(self, address: &str) -> Option<(u32, LeftForm)> {
        let user = self.user();
        let is_meant = |entry: &LeftFormEntry| {
            let is_saving = entry.is_saving || entry.form.state == SaveState::Saving;
            entry.form.address == address && !is_saving && entry.form.is_of(user.as_deref())
        };
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

    /// Whether the form of this address can't be opened yet: a save of it is running, or it is not known who is signed in. Tracked.
    pub fn is_pending(self, address: &str) -> bool {
        let user = self.user.get();
        self.entries.with(|entries| {
            entries.iter().filter(|entry| entry.form.address == address).any(|entry| {
                let is_saving = entry.is_saving || entry.form.state == SaveState::Saving;
                if entry.form.is_of(user.as_deref()) { is_saving } else { user.is_none() }
            })
        })
    }

    /// Records that a save of a form begins or has ended.
    pub fn set_saving(self, id: u32, is_saving: bool) {
        self.change(id, |entry| entry.is_saving = is_saving);
    }

    /// Whether a save of another form of this workload is running: a second one would be based on a revision that no longer exists.
    pub fn is_other_saving(self, id: u32, workload: &str) -> bool {
        let is_other = |entry: &LeftFormEntry| entry.id != id && entry.form.workload == workload;
        self.entries.with_untracked(|entries| entries.iter().any(|entry| is_other(entry) && entry.is_saving))
    }

    /// Sets the draft revision that a form is based on.
    pub fn set_base_revision(self, id: u32, revision: i64) {
        self.change(id, |entry| entry.form.base_revision = revision);
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

    /// Records that this document changed a part of a draft from one revision to the next: the forms of the workload that have no
    /// field of that part are based on the new revision. The others conflict with it, as with the change of another user.
    pub fn advance_revision(self, workload: &str, part: &DraftPart, from: i64, to: i64) {
        let is_based = |entry: &LeftFormEntry| {
            let form = &entry.form;
            form.workload == workload && form.base_revision == from && !form.part.overlaps(part)
        };
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
    fn list_failed(self) -> Vec<ListedForm> {
        let user = self.user.get();
        self.entries.with(|entries| {
            let is_shown = |entry: &&LeftFormEntry| !entry.is_open && entry.form.state != SaveState::Saving;
            let list = |entry: &LeftFormEntry| ListedForm {
                id: entry.id,
                form: entry.form.clone(),
                other_user: entry.form.user.clone().filter(|_| !entry.form.is_of(user.as_deref())),
                is_saving: entry.is_saving,
            };
            entries.iter().filter(is_shown).map(list).collect()
        })
    }
}

/// Above every page: the forms that were left and are not stored.
#[component]
pub fn LeftFormsBanner() -> impl IntoView {
    let forms = use_left_forms();
    // Somebody signed in within this document.
    Effect::new(move |_| {
        if forms.user.with(Option::is_none) {
            spawn_local(async move {
                if let Ok(user) = user_read().await {
                    forms.set_user(Some(user));
                }
            });
        }
    });
    let banners = move || {
        let failed = forms.list_failed().into_iter();
        failed.map(|listed| render_left_form(listed, move |id| forms.remove(id))).collect_view()
    };
    view! { {banners} }.into_any()
}

/// Reads who is signed in.
#[server(prefix = "/api/fn", endpoint = "user_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn user_read() -> AppResult<String> {
    Ok(crate::host::actor()?.name)
}

fn render_left_form(listed: ListedForm, discard: impl Fn(u32) + Send + Sync + 'static) -> AnyView {
    let ListedForm { id, form, other_user, is_saving } = listed;
    let LeftForm { workload, part, address, state, .. } = form;
    let reason = other_user.as_deref().map_or_else(|| describe_state(&state), describe_other_user);
    let is_own = other_user.is_none();
    let sign_in = (is_own && matches!(state, SaveState::SignedOut(_))).then(|| {
        let href = paths::sign_in(&address);
        view! { <a class="btn" href=href target="_blank" rel="external">"Sign in in a new tab"</a> }
    });
    let open = is_own.then(|| view! { <a class="btn" href=address>"Open what was typed"</a> });
    // What is sent now can't be discarded, and the page would conflict with it.
    let actions = (!is_saving).then(|| {
        view! {
            {sign_in}
            {open}
            <button class="btn btn-quiet" type="button" on:click=move |_| discard(id)>"Discard"</button>
        }
    });
    view! {
        <Banner look=StatusStyle { icon: "error", hue: "hue-degraded", emphasis: "state-broken" }>
            <p>
                <b>{part.to_string()} " of " <span class="name">{workload}</span> " is not saved."</b>
                " "
                {reason}
            </p>
            <div class="banner-actions">{actions}</div>
        </Banner>
    }
    .into_any()
}

fn describe_other_user(user: &str) -> String {
    format!("{user} typed it in this tab. It is saved after {user} signs in again.")
}

fn describe_state(state: &SaveState) -> String {
    match state {
        SaveState::SignedOut(_) => "You are signed out. It is saved after you sign in again.".to_owned(),
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
            part: DraftPart::Placement,
            address: address.to_owned(),
            fields: Arc::new(3_u32),
            base_revision: 4,
            user: None,
            state,
        }
    }

    fn in_app<T>(test: impl FnOnce(LeftForms) -> T) -> T {
        Owner::new().with(|| test(LeftForms::new()))
    }

    #[test]
    fn the_banner_names_the_form_and_the_reason_and_links_to_what_was_typed() {
        let form = left_form("/workloads/shop?tab=placement", SaveState::Failed("G201 is wrong.".to_owned()));
        let listed = ListedForm { id: 1, form, other_user: None, is_saving: false };
        let page = render_html(move || render_left_form(listed, |_| ()));
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
            let listed: Vec<u32> = forms.list_failed().into_iter().map(|listed| listed.id).collect();
            assert_eq!((listed.len(), listed[0]), (2, id));
        });
    }

    #[test]
    fn a_form_follows_the_changes_of_other_parts_by_this_document_and_no_other_change() {
        in_app(|forms| {
            let id = forms.insert(left_form("/a", SaveState::Failed(String::new())));
            let base = |forms: LeftForms| forms.find_waiting(id).map(|form| form.base_revision);
            forms.advance_revision("other", &DraftPart::Rollout, 4, 5);
            forms.advance_revision("shop", &DraftPart::Rollout, 5, 6);
            assert_eq!(base(forms), Some(4));
            forms.advance_revision("shop", &DraftPart::Rollout, 4, 5);
            assert_eq!(base(forms), Some(5));
        });
    }

    #[test]
    fn a_form_conflicts_with_the_change_of_a_part_that_has_its_fields() {
        in_app(|forms| {
            let placement = forms.insert(left_form("/a", SaveState::Failed(String::new())));
            let config =
                forms.insert(LeftForm { part: DraftPart::Config, ..left_form("/b", SaveState::Retrying(1)) });
            let base = |id: u32| forms.find_waiting(id).map(|form| form.base_revision);
            forms.advance_revision("shop", &DraftPart::Source, 4, 5);
            assert_eq!((base(placement), base(config)), (Some(5), Some(4)));
            // The same part at another address of its page.
            forms.advance_revision("shop", &DraftPart::Placement, 5, 6);
            assert_eq!(base(placement), Some(5));
        });
    }

    #[test]
    fn a_form_can_be_neither_opened_nor_discarded_while_a_repeated_save_runs() {
        in_app(|forms| {
            let id = forms.insert(left_form("/a", SaveState::Retrying(1)));
            assert!(!forms.is_pending("/a"));
            forms.set_saving(id, true);
            assert!(forms.is_pending("/a") && !forms.is_pending("/b"));
            assert!(forms.open("/a").is_none());
            let page = render_html(move || {
                forms.list_failed().into_iter().map(|one| render_left_form(one, |_| ())).collect_view()
            });
            assert!(page.contains("is not saved") && !page.contains("Discard"), "{page}");
            forms.set_saving(id, false);
            assert!(forms.open("/a").is_some());
        });
    }

    #[test]
    fn a_form_waits_for_the_running_save_of_another_form_of_its_workload() {
        in_app(|forms| {
            let placement = forms.insert(left_form("/a", SaveState::Retrying(1)));
            let config =
                forms.insert(LeftForm { part: DraftPart::Config, ..left_form("/b", SaveState::Retrying(1)) });
            assert!(!forms.is_other_saving(config, "shop"));
            forms.set_saving(placement, true);
            assert!(forms.is_other_saving(config, "shop") && !forms.is_other_saving(config, "other"));
            assert!(!forms.is_other_saving(placement, "shop"), "its own save is no other one");
            forms.set_saving(placement, false);
            assert!(!forms.is_other_saving(config, "shop"));
        });
    }

    #[test]
    fn a_form_of_another_user_is_not_opened_and_its_page_is_not_linked() {
        in_app(|forms| {
            let of = |user: &str, state: SaveState| LeftForm {
                user: Some(user.to_owned()),
                ..left_form("/a", state)
            };
            forms.set_user(Some("ada".to_owned()));
            let id = forms.insert(of("ada", SaveState::SignedOut(1)));
            forms.set_user(None);
            assert!(forms.open("/a").is_none() && forms.is_pending("/a"));
            forms.set_user(Some("grace".to_owned()));
            assert!(forms.open("/a").is_none() && !forms.is_pending("/a"));
            forms.insert(of("grace", SaveState::Retrying(1)));
            assert_eq!(forms.list_failed().len(), 2, "the input of both users is retained");
            let page = render_html(move || {
                let first = forms.list_failed().into_iter().find(|listed| listed.id == id);
                first.map(|listed| render_left_form(listed, |_| ()))
            });
            assert!(page.contains("It is saved after ada signs in again."), "{page}");
            assert!(
                !page.contains("Open what was typed") && !page.contains("Sign in in a new tab"),
                "{page}"
            );
            forms.set_user(Some("ada".to_owned()));
            assert!(forms.open("/a").is_some_and(|(opened, _)| opened == id));
        });
    }
}

//! The draft keeps itself: a second after the last key it is stored, and the foot says so.

use std::time::Duration;

use domain::Timestamp;
use domain::workload::SourceFile;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};

use super::source::{SourceForm, source_save};
use crate::components::age::{absolute, clock};
use crate::components::icon;
use crate::errors::{Answer, AppError};
use crate::workloads::files::Drafts;

/// A person stops typing for this long before the draft is stored.
const PAUSE: Duration = Duration::from_secs(1);

/// What a save stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The revision of the draft since.
    pub revision: i64,
    /// When.
    pub at: Timestamp,
}

/// Whether what was typed is stored.
#[derive(Debug, Clone, Default, PartialEq)]
enum State {
    /// Nothing was typed.
    #[default]
    Still,
    /// It will be in a moment.
    Typing,
    /// It is on its way.
    Saving,
    /// It is.
    Saved(Timestamp),
    /// It is not, and why.
    Not(String),
}

/// Who changed a draft last, and when.
#[server(prefix = "/api/fn", endpoint = "changed_by", input = leptos::server_fn::codec::GetUrl)]
pub async fn changed_by(name: String) -> Answer<(String, Timestamp)> {
    use crate::host;
    use domain::page::ListQuery;
    let query = ListQuery { q: name.clone(), ..ListQuery::default() };
    let page = host::answer(host::hub_for_reader()?.workload_list(&query).await)?;
    let one = page.items.into_iter().find(|one| one.name == name);
    let one =
        one.ok_or_else(|| AppError::NotFound { what: "workload".to_owned(), name }).map_err(host::refused)?;
    Ok((one.updated_by, one.updated_at))
}

/// Keeps the draft of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Keeper {
    name: StoredValue<String>,
    namespace: RwSignal<String>,
    drafts: Drafts,
    seen: RwSignal<i64>,
    stored: StoredValue<Vec<SourceFile>>,
    state: RwSignal<State>,
}

impl Keeper {
    /// Begins to keep these files as the draft of `name`.
    pub fn new(name: &str, namespace: RwSignal<String>, drafts: Drafts, seen: RwSignal<i64>) -> Self {
        let keeper = Self {
            name: StoredValue::new(name.to_owned()),
            namespace,
            drafts,
            seen,
            stored: StoredValue::new(untrack(|| drafts.files())),
            state: RwSignal::default(),
        };
        let mut later = debounce(PAUSE, move |()| keeper.save());
        Effect::new(move |before: Option<()>| {
            let now = drafts.files();
            let changed = keeper.stored.with_value(|stored| *stored != now);
            if before.is_some() && changed {
                keeper.state.update(|state| {
                    if !matches!(state, State::Not(_) | State::Saving) {
                        *state = State::Typing;
                    }
                });
                later(());
            }
        });
        Effect::new(move |_| {
            let listener = window_event_listener_untyped("beforeunload", move |event| {
                let loose =
                    keeper.state.with_untracked(|state| matches!(state, State::Typing | State::Not(_)));
                if loose {
                    event.prevent_default();
                }
            });
            on_cleanup(move || listener.remove());
        });
        // Whoever leaves by a link within that second loses nothing either.
        on_cleanup(move || {
            if keeper.state.try_get_untracked() == Some(State::Typing) {
                keeper.save();
            }
        });
        keeper
    }

    /// A form post stored everything.
    pub fn saved(self, kept: Kept) {
        self.stored.set_value(untrack(|| self.drafts.files()));
        self.seen.set(kept.revision);
        self.state.set(State::Saved(kept.at));
    }

    /// Stores what is there; one save at a time.
    fn save(self) {
        if self.state.try_get_untracked().is_none_or(|state| state == State::Saving) {
            return;
        }
        let files = untrack(|| self.drafts.files());
        if self.stored.with_value(|stored| *stored == files) {
            return self.state.update(|state| {
                if *state == State::Typing {
                    *state = State::Still;
                }
            });
        }
        self.state.set(State::Saving);
        let form = SourceForm {
            name: self.name.get_value(),
            seen: self.seen.get_untracked(),
            namespace: self.namespace.get_untracked(),
            files: files.clone(),
        };
        spawn_local(async move {
            let name = form.name.clone();
            match source_save(form, String::new()).await {
                Ok(kept) => self.kept(files, kept),
                Err(error) => {
                    let why = why(&name, &error).await;
                    let _ = self.state.try_set(State::Not(why));
                }
            }
        });
    }

    fn kept(self, files: Vec<SourceFile>, kept: Kept) {
        // The page may be gone by now.
        if self.seen.try_set(kept.revision).is_some() {
            return;
        }
        let more = untrack(|| self.drafts.files()) != files;
        self.stored.set_value(files);
        self.state.set(State::Saved(kept.at));
        if more {
            self.state.set(State::Typing);
            self.save();
        }
    }

    /// The word for the foot.
    pub fn word(self) -> AnyView {
        view! {
            <span class="reason" role="status">
                {move || match self.state.get() {
                    State::Still => ().into_any(),
                    State::Typing | State::Saving => view! { <span class="text-3">"Saving…"</span> }.into_any(),
                    State::Saved(at) => {
                        let time: String = clock(at).chars().take(5).collect();
                        view! { <span class="text-3" title=absolute(at)>{format!("Saved {time}")}</span> }.into_any()
                    }
                    State::Not(why) => {
                        view! { <span class="flex gap-2 hue-degraded">{icon("error")} <span class="text-ink">{format!("Not saved: {why}")}</span></span> }
                            .into_any()
                    }
                }}
            </span>
        }
        .into_any()
    }
}

/// Why a draft was not stored; of a conflict, who it is with.
async fn why(name: &str, error: &AppError) -> String {
    if !matches!(error, AppError::Changed { .. }) {
        return error.to_string();
    }
    let (who, when) = match changed_by(name.to_owned()).await {
        Ok((who, at)) => (who, format!(" at {}", clock(at))),
        Err(_) => ("somebody".to_owned(), String::new()),
    };
    format!(
        "{who} changed this draft{when}. Your text is kept here; open the page again in another tab and merge."
    )
}

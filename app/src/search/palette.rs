//! The palette: the search in a dialog. A field with a list of options (combobox and listbox): the focus stays in the field, and
//! the arrow keys move the active option. Opening an option never changes anything by itself.

use std::time::Duration;

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::{Dialog, Div, Input};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::entry_view::show_entry;
use super::query::search_read;
use super::{PaletteRequest, PaletteState, SearchEntry, SearchSection, SearchSections, use_palette};
use crate::components::{ErrorBanner, icon, pluralize};
use crate::errors::AppResult;
use crate::live;
use crate::paths;

/// How long after a change of the text its results are requested.
const DEBOUNCE: Duration = Duration::from_millis(120);
/// By how many options Page Up and Page Down move.
const PAGE: usize = 8;
/// The id of the list.
const LIST: &str = "palette-list";

/// The state of the open palette.
#[derive(Clone, Copy)]
struct Model {
    palette: PaletteState,
    switch: StoredValue<Option<String>>,
    /// The workload and the cluster of the release whose actions are listed without a text.
    release: StoredValue<Option<(String, String)>>,
    text: RwSignal<String>,
    /// The last answer; it stays while the next one is on its way.
    results: RwSignal<Option<AppResult<SearchSections>>>,
    /// Whether an answer is on its way.
    is_pending: RwSignal<bool>,
    /// The number of the latest request: answers of earlier ones are dropped.
    latest: StoredValue<u32>,
    /// The position of the active option among all.
    active: RwSignal<usize>,
    /// Whether Enter was pressed while an answer was on its way: its first entry is opened.
    opens_first: RwSignal<bool>,
    /// The position of the option whose command was copied.
    copied: RwSignal<Option<usize>>,
}

impl Model {
    fn new(request: PaletteRequest) -> Self {
        Self {
            palette: use_palette(),
            switch: StoredValue::new(request.switch),
            release: StoredValue::new(request.release),
            text: RwSignal::new(String::new()),
            results: RwSignal::new(None),
            is_pending: RwSignal::new(true),
            latest: StoredValue::new(0),
            active: RwSignal::new(0),
            opens_first: RwSignal::new(false),
            copied: RwSignal::new(None),
        }
    }

    /// Requests the results of the current text after a delay, unless the text changes again before.
    fn request(self, delay: Duration) {
        let number = self.latest.get_value() + 1;
        self.latest.set_value(number);
        self.opens_first.set(false);
        self.is_pending.set(true);
        set_timeout(
            move || {
                if self.latest.try_get_value() == Some(number) {
                    leptos::task::spawn_local(self.load(number));
                }
            },
            delay,
        );
    }

    async fn load(self, number: u32) {
        let (q, switch) = (self.text.get_untracked(), self.switch.get_value());
        let release = self.release.get_value().map(|(workload, cluster)| format!("{workload}/{cluster}"));
        let answer = search_read(q, switch, live::search::recent_workloads(), false, release).await;
        // The palette may be closed, or the text may be another one.
        if self.latest.try_get_value() == Some(number) {
            self.active.set(0);
            self.copied.set(None);
            self.results.set(Some(answer));
            self.is_pending.set(false);
        }
    }

    fn entries(self) -> Vec<SearchEntry> {
        let of = |found: &SearchSections| {
            found.sections.iter().flat_map(|section| section.entries.clone()).collect()
        };
        self.results.with_untracked(|results| match results {
            Some(Ok(found)) => of(found),
            _ => Vec::new(),
        })
    }

    fn count(self) -> usize {
        self.results.with(|results| match results {
            Some(Ok(found)) => found.sections.iter().map(|section| section.entries.len()).sum(),
            _ => 0,
        })
    }

    /// The active entry.
    fn active_entry(self) -> Option<SearchEntry> {
        self.results.track();
        self.entries().into_iter().nth(self.active.get())
    }

    fn copy_command(self, entry: &SearchEntry) {
        let is_copied = live::page::copy_text(&entry.command);
        self.copied.set(is_copied.then(|| self.active.get_untracked()));
    }
}

fn option_id(at: usize) -> String {
    format!("palette-option-{at}")
}

/// The palette.
#[component]
pub fn Palette(request: PaletteRequest) -> impl IntoView {
    let model = Model::new(request);
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            live::page::show_modal(&dialog);
        }
    });
    Effect::new(move |_| model.request(Duration::ZERO));
    let is_switch = model.switch.with_value(Option::is_some);
    let label = if is_switch { "Switch workload" } else { "Search and actions" };
    let on_close = move |_| {
        // The event is late: the palette may have been opened again.
        if dialog.get_untracked().is_none_or(|dialog| !dialog.open()) {
            model.palette.close();
        }
    };
    view! {
        <dialog class="palette" node_ref=dialog aria-label=label closedby="any" on:close=on_close>
            <PaletteField model=model dialog=dialog />
            <PaletteList model=model dialog=dialog />
            <PaletteFoot model=model dialog=dialog />
        </dialog>
    }
    .into_any()
}

/// The field, in which the focus stays.
#[component]
fn PaletteField(model: Model, dialog: NodeRef<Dialog>) -> impl IntoView {
    let field = NodeRef::<Input>::new();
    let is_switch = model.switch.with_value(Option::is_some);
    let (label, placeholder) = match (is_switch, model.release.get_value()) {
        (true, _) => ("Name of a workload", "Switch to a workload".to_owned()),
        (false, Some((workload, cluster))) => {
            ("Search and actions", format!("{workload} on {cluster}, or search"))
        }
        (false, None) => ("Search and actions", "Workload, cluster, group, chart, page or action".to_owned()),
    };
    let navigate = use_navigate();
    let open = move |path: &str| {
        if !live::unsaved::confirm_leave(path) {
            return;
        }
        close(dialog);
        navigate(path, NavigateOptions::default());
    };
    let open_first = open.clone();
    Effect::new(move |_| {
        if model.opens_first.get() && !model.is_pending.get() {
            model.opens_first.set(false);
            if let Some(entry) = model.entries().first().filter(|entry| !entry.href.is_empty()) {
                open_first(&entry.href);
            }
        }
    });
    let on_input = move |event| {
        model.text.set(event_target_value(&event));
        model.request(DEBOUNCE);
    };
    let on_focus = move |_| {
        let typed = model.palette.drain_keys();
        if !typed.is_empty() {
            model.text.update(|text| text.push_str(&typed));
            model.request(Duration::ZERO);
        }
    };
    let on_key = move |event: KeyboardEvent| handle_key(&event, model, field, &open);
    let active = move || (model.count() > 0).then(|| option_id(model.active.get()));
    view! {
        <div class="palette-input">
            {icon("search")}
            <input
                node_ref=field
                type="text"
                role="combobox"
                aria-label=label
                aria-expanded=move || (model.count() > 0).to_string()
                aria-controls=LIST
                aria-autocomplete="list"
                aria-activedescendant=active
                placeholder=placeholder
                autofocus=true
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                enterkeyhint="go"
                maxlength="200"
                prop:value=move || model.text.get()
                on:focus=on_focus
                on:input=on_input
                on:keydown=on_key
            />
            <button class="btn btn-sm btn-quiet" type="button" on:click=move |_| close(dialog)>
                "Close"
            </button>
        </div>
    }
    .into_any()
}

fn close(dialog: NodeRef<Dialog>) {
    if let Some(dialog) = dialog.get_untracked() {
        dialog.close();
    }
}

fn handle_key(event: &KeyboardEvent, model: Model, field: NodeRef<Input>, open: &impl Fn(&str)) {
    let entries = model.entries();
    let at = model.active.get_untracked();
    let entry = entries.get(at);
    let has_modifier = event.ctrl_key() || event.meta_key();
    if has_modifier && event.key() == "c" && !live::search::has_selection(field) {
        if let Some(entry) = entry.filter(|entry| !entry.command.is_empty()) {
            event.prevent_default();
            model.copy_command(entry);
        }
    } else if has_modifier || event.alt_key() || event.is_composing() {
        // Another key of the browser or of the input method.
    } else if event.key() == "Enter" {
        event.prevent_default();
        match entry {
            // What is displayed belongs to an earlier text.
            _ if model.is_pending.get_untracked() => model.opens_first.set(true),
            Some(entry) if !entry.href.is_empty() => open(&entry.href),
            _ => {}
        }
    } else if let Some(next) = next_position(&event.key(), at, entries.len()) {
        event.prevent_default();
        model.active.set(next);
    }
}

/// The position to which a key moves among so many options; `None` if it does not move.
fn next_position(key: &str, at: usize, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    match key {
        "ArrowDown" if at >= last => Some(0),
        "ArrowDown" => Some(at + 1),
        "ArrowUp" if at == 0 => Some(last),
        "ArrowUp" => Some(at.min(last + 1) - 1),
        "Home" => Some(0),
        "End" => Some(last),
        "PageDown" => Some((at + PAGE).min(last)),
        "PageUp" => Some(at.saturating_sub(PAGE).min(last)),
        _ => None,
    }
}

/// The results.
#[component]
fn PaletteList(model: Model, dialog: NodeRef<Dialog>) -> impl IntoView {
    let list = NodeRef::<Div>::new();
    Effect::new(move |_| {
        let at = model.active.get();
        live::search::scroll_list(list, &option_id(at), at == 0);
    });
    let content = move || {
        match model.results.get() {
        None => view! { <p class="palette-note">"Searching…"</p> }.into_any(),
        Some(Err(error)) => view! {
            <div class="palette-note">
                <ErrorBanner error=error />
                <button class="btn btn-sm" type="button" on:click=move |_| model.request(Duration::ZERO)>
                    "Try again"
                </button>
            </div>
        }
        .into_any(),
        Some(Ok(found)) if found.sections.is_empty() => {
            view! { <p class="palette-note">{format!("Nothing has a name with “{}”.", found.words.join(" "))}</p> }.into_any()
        }
        Some(Ok(found)) => show_sections(found, model, dialog),
    }
    };
    let message = move || match (model.is_pending.get(), model.results.get()) {
        (false, Some(Ok(_))) => pluralize(u32::try_from(model.count()).unwrap_or(u32::MAX), "result"),
        _ => String::new(),
    };
    view! {
        <div class="palette-list" node_ref=list aria-busy=move || model.is_pending.get().to_string()>
            {content}
        </div>
        <p class="sr-only" role="status">
            {message}
        </p>
    }
    .into_any()
}

fn show_sections(found: SearchSections, model: Model, dialog: NodeRef<Dialog>) -> AnyView {
    let SearchSections { sections, words, .. } = found;
    let mut first = 0;
    let groups = sections.into_iter().enumerate().map(|(number, section)| {
        let SearchSection { title, entries } = section;
        let start = first;
        first += entries.len();
        let id = format!("palette-group-{number}");
        let options = entries
            .into_iter()
            .enumerate()
            .map(|(at, entry)| show_option(start + at, entry, &words, model, dialog));
        view! {
            <div role="group" aria-labelledby=id>
                <p class="palette-group" id=id.clone() role="presentation">
                    {title}
                </p>
                {options.collect_view()}
            </div>
        }
    });
    view! {
        <div id=LIST role="listbox" aria-label="Results">
            {groups.collect_view()}
        </div>
    }
    .into_any()
}

fn show_option(
    at: usize,
    entry: SearchEntry,
    words: &[String],
    model: Model,
    dialog: NodeRef<Dialog>,
) -> impl IntoView + use<> {
    let body = show_entry(&entry, words);
    let keys = entry
        .keys
        .split_whitespace()
        .map(|key| view! { <kbd class="key">{key.to_owned()}</kbd> })
        .collect_view();
    let is_possible = !entry.href.is_empty();
    let href = is_possible.then(|| entry.href.clone());
    // A link, so that it can be opened in another tab.
    let on_click = move |event: MouseEvent| {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key()) && is_possible {
            close(dialog);
        }
    };
    view! {
        <a
            class="palette-item"
            id=option_id(at)
            role="option"
            tabindex="-1"
            href=href
            aria-selected=move || (model.active.get() == at).to_string()
            aria-disabled=(!is_possible).then_some("true")
            on:click=on_click
            on:mousemove=move |_| {
                if model.active.get_untracked() != at {
                    model.active.set(at);
                }
            }
        >
            {body}
            <span class="list-end">
                {keys}
                <span class="palette-enter" aria-hidden="true">
                    <kbd class="key">"Enter"</kbd>
                </span>
            </span>
        </a>
    }
}

/// The command of the active option, and the way to all results.
#[component]
fn PaletteFoot(model: Model, dialog: NodeRef<Dialog>) -> impl IntoView {
    let command = move || {
        let entry = model.active_entry().filter(|entry| !entry.command.is_empty())?;
        let is_copied = model.copied.get() == Some(model.active.get());
        let text = entry.command.clone();
        let label = if is_copied { "Copied" } else { "Copy" };
        Some(view! {
            <code class="mono truncate">{text}</code>
            <button class="btn btn-sm btn-quiet" type="button" on:click=move |_| model.copy_command(&entry)>
                {if is_copied { icon("check").into_any() } else { icon("copy").into_any() }}
                {label}
            </button>
        })
    };
    let copied = move || if model.copied.get().is_some() { "The command is copied." } else { "" };
    let all = move || {
        let switch = model.switch.with_value(|switch| switch.clone().unwrap_or_default());
        paths::query(&paths::search(&model.text.get()), &[("switch", &switch)])
    };
    view! {
        <div class="palette-foot">
            <span class="palette-command">{command}</span>
            <a class="link" href=all on:click=move |_| close(dialog)>
                "All results"
            </a>
        </div>
        <p class="sr-only" role="status">
            {copied}
        </p>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_move_through_the_options_and_arrows_go_around() {
        assert_eq!(next_position("ArrowDown", 2, 3), Some(0));
        assert_eq!(next_position("ArrowUp", 0, 3), Some(2));
        assert_eq!(next_position("ArrowUp", 2, 3), Some(1));
        assert_eq!(next_position("PageDown", 1, 20), Some(9));
        assert_eq!(next_position("PageDown", 15, 20), Some(19));
        assert_eq!(next_position("PageUp", 3, 20), Some(0));
        assert_eq!((next_position("Home", 7, 20), next_position("End", 7, 20)), (Some(0), Some(19)));
        assert_eq!(next_position("ArrowDown", 0, 0), None);
        assert_eq!(next_position("a", 0, 3), None);
    }
}

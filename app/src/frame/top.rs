//! The top bar: where you are, whether the page is live, theme, person.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::Around;
use crate::components::age::clock;
use crate::components::icon;
use crate::errors::Answer;
use crate::live::{self, Word};
use crate::paths;
use crate::sign_in::SignOut;
use crate::theme::ThemeSwitch;

/// The top bar.
#[component]
pub fn TopBar(around: Resource<Answer<Around>>) -> impl IntoView {
    view! {
        <header class="topbar">
            <button class="btn btn-icon btn-quiet rail-toggle" type="button" popovertarget="rail" aria-label="Rooms">
                {icon("menu")}
            </button>
            <Crumbs />
            <div class="topbar-end">
                <LiveWord />
                <ThemeSwitch />
                <Transition>
                    {move || {
                        around.get().and_then(Result::ok).map(|around| view! { <Person name=around.person /> })
                    }}
                </Transition>
            </div>
        </header>
    }
    .into_any()
}

/// The path as words, each a link but the last.
#[component]
fn Crumbs() -> impl IntoView {
    let path = use_location().pathname;
    view! {
        <nav class="crumbs min-w-0" aria-label="Path">
            {move || {
                let crumbs = crumbs(&path.get());
                let last = crumbs.len().saturating_sub(1);
                crumbs
                    .into_iter()
                    .enumerate()
                    .map(|(at, (word, address, is_name))| {
                        if at == last {
                            let class = if is_name { "name truncate max-sm:before:hidden" } else { "truncate max-sm:before:hidden" };
                            view! {
                                <span class=class aria-current="page">
                                    {word}
                                </span>
                            }
                                .into_any()
                        } else {
                            let class = if is_name { "name max-sm:hidden" } else { "max-sm:hidden" };
                            view! {
                                <a class=class href=address>
                                    {word}
                                </a>
                            }
                                .into_any()
                        }
                    })
                    .collect_view()
            }}
        </nav>
    }
    .into_any()
}

/// Word, address and whether it is a name, for each part of a path.
fn crumbs(path: &str) -> Vec<(String, String, bool)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let room = |word: &str, address: &str| (word.to_owned(), address.to_owned(), false);
    match parts.as_slice() {
        [] => vec![room("Fleet", paths::FLEET)],
        ["workloads"] => vec![room("Workloads", paths::WORKLOADS)],
        ["workloads", "new"] => vec![room("Workloads", paths::WORKLOADS), room("New", paths::WORKLOAD_NEW)],
        ["workloads", name, rest @ ..] => {
            let mut crumbs =
                vec![room("Workloads", paths::WORKLOADS), ((*name).to_owned(), paths::workload(name), true)];
            match rest {
                [] => {}
                ["revisions", number, ..] => crumbs.push((format!("r{number}"), path.to_owned(), true)),
                _ => crumbs.push(room("Review", &paths::publish(name))),
            }
            crumbs
        }
        ["clusters"] => vec![room("Clusters", paths::CLUSTERS)],
        ["clusters", name, ..] => {
            vec![room("Clusters", paths::CLUSTERS), ((*name).to_owned(), paths::cluster(name), true)]
        }
        ["groups"] => vec![room("Clusters", paths::CLUSTERS), room("Groups", paths::GROUPS)],
        ["groups", name, ..] => vec![
            room("Clusters", paths::CLUSTERS),
            room("Groups", paths::GROUPS),
            ((*name).to_owned(), paths::group(name), true),
        ],
        ["join"] => vec![room("Clusters", paths::CLUSTERS), room("Join", paths::JOIN)],
        ["events", ..] => vec![room("Events", paths::EVENTS)],
        ["settings", ..] => vec![room("Settings", paths::SETTINGS)],
        _ => vec![room("Not here", path)],
    }
}

/// Live, Reconnecting, or Stale since when.
#[component]
pub fn LiveWord() -> impl IntoView {
    let word = live::live().word;
    let face = move || match word.get() {
        Word::Live => ("live hue-healthy", "online", "Live".to_owned()),
        Word::Reconnecting => ("live hue-drifted", "late", "Reconnecting".to_owned()),
        Word::Stale(since) => ("live hue-unknown", "offline", format!("Stale since {} UTC", clock(since))),
        Word::Still => ("live hue-unknown", "offline", "Not live".to_owned()),
    };
    view! {
        <span class=move || face().0 role="status">
            {move || icon(face().1)}
            <span class="live-word">{move || face().2}</span>
        </span>
    }
    .into_any()
}

/// The person, and the way out.
#[component]
fn Person(name: String) -> impl IntoView {
    let leave = ServerAction::<SignOut>::new();
    let initials: String =
        name.chars().filter(|c| c.is_alphanumeric()).take(2).flat_map(char::to_uppercase).collect();
    // What is seen is part of what is said, so that it can be asked for by voice.
    let label = format!("{initials}, signed in as {name}");
    view! {
        <button class="avatar" type="button" popovertarget="person-menu" aria-label=label>
            {initials}
        </button>
        <div class="popover" id="person-menu" popover="auto">
            <p class="meta px-2 py-1">"Signed in as " <b class="strong">{name}</b></p>
            <a class="menu-item" href=paths::SETTINGS>
                {icon("token")}
                "API tokens"
            </a>
            <ActionForm action=leave>
                <button class="menu-item" type="submit">
                    {icon("sign-out")}
                    "Sign out"
                </button>
            </ActionForm>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_told_in_words_and_names() {
        let words =
            |path: &str| crumbs(path).into_iter().map(|(word, ..)| word).collect::<Vec<_>>().join(" / ");
        assert_eq!(words("/"), "Fleet");
        assert_eq!(words("/workloads/web"), "Workloads / web");
        assert_eq!(words("/workloads/web/publish"), "Workloads / web / Review");
        assert_eq!(words("/workloads/web/revisions/3"), "Workloads / web / r3");
        assert_eq!(words("/clusters/edge-1"), "Clusters / edge-1");
        assert_eq!(words("/groups/edge"), "Clusters / Groups / edge");
    }
}

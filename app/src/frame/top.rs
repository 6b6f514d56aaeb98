//! The top bar: path, live status, theme, user menu.

use domain::role::Role;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::data::FrameData;
use crate::components::age::format_time_of_day;
use crate::components::{icon, render_selected};
use crate::live::{self, LiveMessage};
use crate::paths;
use crate::resource::PageResource;
use crate::search::SearchField;
use crate::sign_in::sign_out_form;
use crate::theme::ThemeSwitch;

/// The top bar.
#[component]
pub fn TopBar(data: PageResource<FrameData>) -> impl IntoView {
    view! {
        <header class="topbar">
            <button class="btn btn-icon btn-quiet rail-toggle" type="button" popovertarget=super::RAIL aria-label="Menu">
                {icon("menu")}
            </button>
            <Crumbs />
            <SearchField />
            <div class="topbar-end">
                <LiveStatus />
                <ThemeSwitch />
                <Transition>
                    {render_selected(
                        data,
                        |data| (data.user_name, data.role),
                        |(name, role)| view! { <UserMenu name=name role=role /> }.into_any(),
                    )}
                </Transition>
            </div>
        </header>
    }
    .into_any()
}

/// The path as breadcrumbs; all but the last are links.
#[component]
fn Crumbs() -> impl IntoView {
    let path = use_location().pathname;
    view! {
        <nav class="crumbs min-w-0" aria-label="Path">
            {move || {
                let crumbs = parse_crumbs(&path.get());
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

/// Label, address and whether the label is a name, for each part of a path.
fn parse_crumbs(path: &str) -> Vec<(String, String, bool)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let section = |word: &str, address: &str| (word.to_owned(), address.to_owned(), false);
    match parts.as_slice() {
        [] => vec![section("Fleet", paths::FLEET)],
        ["workloads"] => vec![section("Workloads", paths::WORKLOADS)],
        ["workloads", "new"] => {
            vec![section("Workloads", paths::WORKLOADS), section("New", paths::WORKLOAD_NEW)]
        }
        ["workloads", name, rest @ ..] => {
            let mut crumbs = vec![
                section("Workloads", paths::WORKLOADS),
                ((*name).to_owned(), paths::workload(name), true),
            ];
            match rest {
                [] => {}
                ["revisions", number, ..] => crumbs.push((format!("r{number}"), path.to_owned(), true)),
                _ => crumbs.push(section("Review", &paths::publish(name))),
            }
            crumbs
        }
        ["clusters"] => vec![section("Clusters", paths::CLUSTERS)],
        ["clusters", name, ..] => {
            vec![section("Clusters", paths::CLUSTERS), ((*name).to_owned(), paths::cluster(name), true)]
        }
        ["groups"] => vec![section("Clusters", paths::CLUSTERS), section("Groups", paths::GROUPS)],
        ["new-group"] => vec![
            section("Clusters", paths::CLUSTERS),
            section("Groups", paths::GROUPS),
            section("New group", paths::GROUP_NEW),
        ],
        ["groups", name, ..] => vec![
            section("Clusters", paths::CLUSTERS),
            section("Groups", paths::GROUPS),
            ((*name).to_owned(), paths::group(name), true),
        ],
        ["join"] => vec![section("Clusters", paths::CLUSTERS), section("Join", paths::JOIN)],
        ["charts", repository, name, ..] => {
            let chart = format!("{repository}/{name}");
            let address = paths::chart(&chart, "");
            vec![section("Charts", paths::CHARTS), (chart, address, true)]
        }
        ["charts", ..] => vec![section("Charts", paths::CHARTS)],
        ["search", ..] => vec![section("Search", paths::SEARCH)],
        ["events", ..] => vec![section("Events", paths::EVENTS)],
        ["incidents"] => vec![section("Incidents", paths::INCIDENTS)],
        ["incidents", _, ..] => {
            vec![section("Incidents", paths::INCIDENTS), section("Incident", path)]
        }
        ["drift", ..] => vec![section("Drift", paths::DRIFT)],
        ["people", ..] => vec![section("Settings", paths::SETTINGS), section("People", paths::PEOPLE)],
        ["audit", ..] => vec![section("Settings", paths::SETTINGS), section("Audit log", paths::AUDIT)],
        ["settings", ..] => vec![section("Settings", paths::SETTINGS)],
        _ => vec![section("Not found", path)],
    }
}

/// Live, Reconnecting, Stale since a time, or Not live.
#[component]
pub fn LiveStatus() -> impl IntoView {
    let word = live::use_live_updates().message;
    let style = move || match word.get() {
        LiveMessage::Live => ("live hue-healthy", "online", "Live".to_owned()),
        LiveMessage::Reconnecting => ("live hue-drifted", "late", "Reconnecting".to_owned()),
        LiveMessage::Stale(since) => {
            ("live hue-unknown", "offline", format!("Stale since {} UTC", format_time_of_day(since)))
        }
        LiveMessage::Inactive => ("live hue-unknown", "offline", "Not live".to_owned()),
    };
    view! {
        <span class=move || style().0 role="status">
            {move || icon(style().1)}
            <span class="live-word">{move || style().2}</span>
        </span>
    }
    .into_any()
}

/// The user menu: API tokens, sign out.
#[component]
fn UserMenu(name: String, role: Option<Role>) -> impl IntoView {
    let initials: String =
        name.chars().filter(|c| c.is_alphanumeric()).take(2).flat_map(char::to_uppercase).collect();
    // The accessible name contains the visible text, for voice control (WCAG 2.5.3).
    let label = format!("{initials}, signed in as {name}");
    let sign_out = view! {
        <button class="menu-item" type="submit">
            {icon("sign-out")}
            "Sign out"
        </button>
    }
    .into_any();
    view! {
        <button class="avatar" type="button" popovertarget="person-menu" aria-label=label>
            {initials}
        </button>
        <div class="popover" id="person-menu" popover="auto">
            <p class="meta px-2 py-1">
                "Signed in as " <b class="strong">{name}</b> {role.map(|role| format!(", {role}"))}
            </p>
            <a class="menu-item" href=paths::SETTINGS>
                {icon("token")}
                "API tokens"
            </a>
            {sign_out_form(sign_out)}
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_labels_and_names() {
        let words = |path: &str| {
            parse_crumbs(path).into_iter().map(|(word, ..)| word).collect::<Vec<_>>().join(" / ")
        };
        assert_eq!(words("/"), "Fleet");
        assert_eq!(words("/workloads/web"), "Workloads / web");
        assert_eq!(words("/workloads/web/publish"), "Workloads / web / Review");
        assert_eq!(words("/workloads/web/revisions/3"), "Workloads / web / r3");
        assert_eq!(words("/clusters/edge-1"), "Clusters / edge-1");
        assert_eq!(words("/charts/local/web"), "Charts / local/web");
        assert_eq!(words("/groups/edge"), "Clusters / Groups / edge");
    }
}

//! The frame around every page: rail, top bar, bottom bar on a phone.

use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;

use crate::components::{icon, icon_sized};
use crate::live::{self, Topic};
use crate::paths;
use crate::permission;
use crate::resource::{PageResource, create_resource};
use crate::workloads::left_forms::{LeftFormsBanner, use_left_forms};

mod data;
mod help;
mod outage;
mod top;

pub use help::ShortcutHelp;
pub use top::LiveStatus;

use data::{FrameData, frame_read};
use outage::OutageBanner;
use top::TopBar;

/// The sections of the console: icon, label, address.
const NAV_ITEMS: [(&str, &str, &str); 8] = [
    ("fleet", "Fleet", paths::FLEET),
    ("workload", "Workloads", paths::WORKLOADS),
    ("incident", "Incidents", paths::INCIDENTS),
    ("drifted", "Drift", paths::DRIFT),
    ("cluster", "Clusters", paths::CLUSTERS),
    ("group", "Groups", paths::GROUPS),
    ("chart", "Charts", paths::CHARTS),
    ("activity", "Events", paths::EVENTS),
];

/// The sections with an item in the bottom bar, which has no room for all: those in which a fault is found. Its last item opens the rail,
/// which has the others.
const BOTTOM_BAR: [&str; 4] = [paths::FLEET, paths::WORKLOADS, paths::CLUSTERS, paths::INCIDENTS];

/// The id of the rail, which is a popover on a narrow screen.
const RAIL: &str = "rail";

/// Whether the page at `path` belongs to the section with this address.
fn is_current_page(section: &str, path: &str) -> bool {
    let below = |section: &str| path == section || path.starts_with(&format!("{section}/"));
    match section {
        paths::FLEET => path == "/",
        paths::CLUSTERS => [paths::CLUSTERS, paths::JOIN].into_iter().any(below),
        paths::GROUPS => [paths::GROUPS, paths::GROUP_NEW].into_iter().any(below),
        paths::SETTINGS => [paths::SETTINGS, paths::PEOPLE, paths::AUDIT].into_iter().any(below),
        section => below(section),
    }
}

/// Whether the page at `path` belongs to a section that only the rail has.
fn is_only_in_rail(path: &str) -> bool {
    !BOTTOM_BAR.into_iter().any(|section| is_current_page(section, path))
}

/// In the browser, after a navigation to another page: closes the rail, which covers the page of a narrow screen, and moves the focus to
/// the content, so that the next tab stop is in it.
pub fn focus_content_on_navigation() {
    let path = use_location().pathname;
    Effect::new(move |former: Option<String>| {
        let path = path.get();
        if former.is_some_and(|former| former != path) {
            live::page::close_menu(RAIL);
            live::page::focus_content();
        }
        path
    });
}

/// The frame with the page of the route in it.
#[component]
pub fn FramedRoutes() -> impl IntoView {
    view! {
        <Frame>
            <Outlet />
        </Frame>
    }
}

/// The frame around a page.
#[component]
pub fn Frame(
    /// The page.
    children: Children,
) -> impl IntoView {
    let version = live::watch_version(|| Some(Topic::Fleet));
    focus_content_on_navigation();
    let data = create_resource(move || version.get(), |_| frame_read());
    let left_forms = use_left_forms();
    Effect::new(move |_| {
        let Some(Ok(data)) = data.get() else { return };
        if let Some(role) = data.role {
            permission::set_role(role);
        }
        left_forms.set_user(Some(data.user_name));
    });
    view! {
        // `external`: the router would only scroll; the browser also moves the focus.
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="frame">
            <Rail data=data />
            <div class="frame-main">
                <TopBar data=data />
                <OutageBanner data=data />
                <LeftFormsBanner />
                <main class="content" id="content" tabindex="-1">
                    {children()}
                </main>
                <BottomBar data=data />
            </div>
        </div>
        <ShortcutHelp />
    }
    .into_any()
}

#[component]
fn Rail(data: PageResource<FrameData>) -> impl IntoView {
    let path = use_location().pathname;
    let count = move |address: &'static str| {
        let number = data.get().and_then(Result::ok).and_then(|data| match address {
            paths::WORKLOADS => Some(data.workloads),
            paths::CLUSTERS => Some(data.clusters),
            paths::INCIDENTS => Some(data.incidents).filter(|open| *open > 0),
            paths::DRIFT => Some(data.drift).filter(|open| *open > 0),
            _ => None,
        });
        let class = if address == paths::INCIDENTS { "rail-count rail-count-loud" } else { "rail-count" };
        number.map(|n| view! { <span class=class>{n}</span> })
    };
    let item = move |name: &'static str, word: &'static str, address: &'static str| {
        view! {
            <a
                class="rail-item"
                href=address
                title=word
                aria-current=move || is_current_page(address, &path.get()).then_some("page")
                // The current section may be at the same address, and then no navigation closes the rail.
                on:click=|_| live::page::close_menu(RAIL)
            >
                {icon(name)}
                <span class="rail-word">{word}</span>
                <Transition>{move || count(address)}</Transition>
            </a>
        }
    };
    view! {
        <nav class="rail" id=RAIL popover="auto" aria-label="Main">
            {rail_brand()}
            {NAV_ITEMS.map(|(name, word, address)| item(name, word, address)).collect_view()}
            <div class="rail-foot">
                {item("settings", "Settings", paths::SETTINGS)}
                {rail_shortcuts()}
            </div>
        </nav>
    }
    .into_any()
}

/// The head of every rail: the product's name, linked to the fleet.
pub fn rail_brand() -> AnyView {
    view! {
        <a class="rail-brand mb-3" href=paths::FLEET>
            {icon_sized("brand", "icon icon-18")}
            <span class="rail-word">"Flotilla"</span>
        </a>
    }
    .into_any()
}

/// In the foot of every rail: opens the list of keyboard shortcuts.
pub fn rail_shortcuts() -> AnyView {
    view! {
        <button class="rail-item" type="button" title="Shortcuts" command="show-modal" commandfor="help">
            {icon("help")}
            <span class="rail-word">"Shortcuts"</span>
            <span class="rail-count">
                <kbd class="key">"?"</kbd>
            </span>
        </button>
    }
    .into_any()
}

/// On a phone: the sections that are needed most, at the bottom, and a button for the rail with all of them.
#[component]
fn BottomBar(data: PageResource<FrameData>) -> impl IntoView {
    let path = use_location().pathname;
    let incidents = move || {
        let open = data.get().and_then(Result::ok).map(|data| data.incidents).filter(|open| *open > 0);
        open.map(|open| view! { <span class="rail-count-loud">{open}</span> })
    };
    let item = move |(name, word, address): (&'static str, &'static str, &'static str)| {
        let count = (address == paths::INCIDENTS).then(|| view! { <Transition>{incidents}</Transition> });
        view! {
            <a
                class="bottombar-item"
                href=address
                aria-current=move || is_current_page(address, &path.get()).then_some("page")
            >
                {icon(name)}
                {word}
                {count}
            </a>
        }
    };
    view! {
        <nav class="bottombar" aria-label="Main, bottom bar">
            {list_bottom_bar().map(item).collect_view()}
            <button
                class="bottombar-item"
                type="button"
                popovertarget=RAIL
                aria-current=move || is_only_in_rail(&path.get()).then_some("true")
            >
                {icon("menu")}
                "More"
            </button>
        </nav>
    }
    .into_any()
}

/// The items of the bottom bar, in its order.
fn list_bottom_bar() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let find = |address: &'static str| NAV_ITEMS.into_iter().find(|item| item.2 == address);
    BOTTOM_BAR.into_iter().filter_map(find)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_current_exactly_for_its_pages() {
        assert!(is_current_page(paths::FLEET, "/") && !is_current_page(paths::FLEET, "/workloads"));
        assert!(is_current_page(paths::WORKLOADS, "/workloads/web/publish"));
        assert!(!is_current_page(paths::WORKLOADS, "/workloadsx"));
        for path in [paths::GROUPS, "/groups/edge", paths::GROUP_NEW] {
            assert!(
                is_current_page(paths::GROUPS, path) && !is_current_page(paths::CLUSTERS, path),
                "{path}"
            );
        }
        assert!(
            is_current_page(paths::CLUSTERS, paths::JOIN) && !is_current_page(paths::GROUPS, paths::JOIN)
        );
    }

    #[test]
    fn every_page_has_one_current_item_in_the_bottom_bar() {
        let current = |path: &str| -> Vec<&str> {
            let more = is_only_in_rail(path).then_some("More");
            list_bottom_bar()
                .filter(|item| is_current_page(item.2, path))
                .map(|item| item.1)
                .chain(more)
                .collect()
        };
        assert_eq!(list_bottom_bar().count(), BOTTOM_BAR.len());
        for (path, item) in [
            ("/", "Fleet"),
            ("/workloads/web/publish", "Workloads"),
            ("/clusters/eu-west-1", "Clusters"),
            ("/incidents/01K", "Incidents"),
            ("/drift", "More"),
            ("/groups/edge", "More"),
            ("/events", "More"),
            ("/audit", "More"),
        ] {
            assert_eq!(current(path), [item], "{path}");
        }
    }
}

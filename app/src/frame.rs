//! The frame around every page: rail, top bar, bottom bar on a phone.

use domain::Timestamp;
use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;
use serde::{Deserialize, Serialize};

use crate::components::{icon, icon_sized};
use crate::errors::Answer;
use crate::live::{self, Topic};
use crate::paths;

mod help;
mod top;

pub use help::Help;
pub use top::LiveWord;

use top::TopBar;

/// What the frame shows of the world.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Around {
    /// Name of the person.
    pub person: String,
    /// Number of workloads.
    pub workloads: u32,
    /// Number of clusters.
    pub clusters: u32,
    /// When this was read.
    pub at: Timestamp,
}

/// Person and numbers for the frame.
#[server(prefix = "/api/fn", endpoint = "around_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn around_read() -> Answer<Around> {
    use crate::host;
    use domain::page::ListQuery;
    let person = host::actor()?.name;
    let hub = host::hub()?;
    let one = ListQuery { limit: Some(1), ..ListQuery::default() };
    let workloads = host::answer(hub.workload_list(&one).await)?.total;
    let clusters = host::answer(hub.cluster_list(&one).await)?.total;
    Ok(Around { person, workloads, clusters, at: hub.clock().now() })
}

/// The rooms: icon, word, address, and which addresses belong to them.
const ROOMS: [(&str, &str, &str); 4] = [
    ("fleet", "Fleet", paths::FLEET),
    ("workload", "Workloads", paths::WORKLOADS),
    ("cluster", "Clusters", paths::CLUSTERS),
    ("activity", "Events", paths::EVENTS),
];

fn is_in(room: &str, path: &str) -> bool {
    let below = |room: &str| path == room || path.starts_with(&format!("{room}/"));
    match room {
        paths::FLEET => path == "/",
        paths::CLUSTERS => [paths::CLUSTERS, paths::GROUPS, paths::JOIN].into_iter().any(below),
        room => below(room),
    }
}

/// The frame with the page of the route in it.
#[component]
pub fn Framed() -> impl IntoView {
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
    let version = live::version(|| Some(Topic::Fleet));
    let around = Resource::new(move || version.get(), |_| around_read());
    view! {
        // The router would only scroll there; the browser also moves the focus.
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="frame">
            <Rail around=around />
            <div class="frame-main">
                <TopBar around=around />
                <main class="content" id="content" tabindex="-1">
                    {children()}
                </main>
                <BottomBar />
            </div>
        </div>
        <Help />
    }
    .into_any()
}

#[component]
fn Rail(around: Resource<Answer<Around>>) -> impl IntoView {
    let path = use_location().pathname;
    let count = move |address: &'static str| {
        let number = around.get().and_then(Result::ok).and_then(|around| match address {
            paths::WORKLOADS => Some(around.workloads),
            paths::CLUSTERS => Some(around.clusters),
            _ => None,
        });
        number.map(|n| view! { <span class="rail-count">{n}</span> })
    };
    let item = move |name: &'static str, word: &'static str, address: &'static str| {
        view! {
            <a
                class="rail-item"
                href=address
                title=word
                aria-current=move || is_in(address, &path.get()).then_some("page")
            >
                {icon(name)}
                <span class="rail-word">{word}</span>
                <Transition>{move || count(address)}</Transition>
            </a>
        }
    };
    view! {
        <nav class="rail" id="rail" popover="manual" aria-label="Rooms">
            {rail_brand()}
            {ROOMS.map(|(name, word, address)| item(name, word, address)).collect_view()}
            <div class="rail-foot">
                {item("settings", "Settings", paths::SETTINGS)}
                {rail_keys()}
            </div>
        </nav>
    }
    .into_any()
}

/// The head of every rail: the name of the house, and the way to its first room.
pub fn rail_brand() -> AnyView {
    view! {
        <a class="rail-brand mb-3" href=paths::FLEET>
            {icon_sized("brand", "icon icon-18")}
            <span class="rail-word">"Flotilla"</span>
        </a>
    }
    .into_any()
}

/// In the foot of every rail: what opens the list of keys.
pub fn rail_keys() -> AnyView {
    view! {
        <button class="rail-item" type="button" title="Keys" command="show-modal" commandfor="help">
            {icon("help")}
            <span class="rail-word">"Keys"</span>
            <span class="rail-count">
                <kbd class="key">"?"</kbd>
            </span>
        </button>
    }
    .into_any()
}

/// On a phone: the same rooms at the bottom.
#[component]
fn BottomBar() -> impl IntoView {
    let path = use_location().pathname;
    let item = move |(name, word, address): (&'static str, &'static str, &'static str)| {
        view! {
            <a
                class="bottombar-item"
                href=address
                aria-current=move || is_in(address, &path.get()).then_some("page")
            >
                {icon(name)}
                {word}
            </a>
        }
    };
    view! {
        <nav class="bottombar" aria-label="Rooms, at hand">
            {ROOMS.map(item).collect_view()} {item(("settings", "Settings", paths::SETTINGS))}
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_current_for_every_page_in_it_and_no_other() {
        assert!(is_in(paths::FLEET, "/") && !is_in(paths::FLEET, "/workloads"));
        assert!(is_in(paths::WORKLOADS, "/workloads/web/publish"));
        assert!(!is_in(paths::WORKLOADS, "/workloadsx"));
    }
}

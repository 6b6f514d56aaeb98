//! The tab with the events, on the page of a workload and on that of a cluster.

use leptos::prelude::*;

use super::{EventLog, events_read};
use crate::components::render_resource_part;
use crate::paths;
use crate::resource::create_resource;

/// Whose events a tab lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope {
    /// Those of a workload.
    Workload,
    /// Those of a cluster and of the releases on it.
    Cluster,
}

impl EventScope {
    /// What its name is the name of, also the name of the filter on the page with all events.
    const fn noun(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Cluster => "cluster",
        }
    }
}

/// The newest events, with a link to all of them.
#[component]
pub fn EventsTab(
    /// Whose events these are.
    scope: EventScope,
    /// Its name.
    name: Memo<String>,
    /// They are read again when it changes.
    version: RwSignal<u32>,
) -> impl IntoView {
    let data = create_resource(
        move || (name.get(), version.get()),
        move |(name, _)| {
            let (workload, cluster) = match scope {
                EventScope::Workload => (name, String::new()),
                EventScope::Cluster => (String::new(), name),
            };
            events_read(workload, cluster, None)
        },
    );
    render_resource_part(data, move |list| {
        let all = paths::query(paths::EVENTS, &[(scope.noun(), &name.get_untracked())]);
        let of_workload = scope == EventScope::Workload;
        view! {
            <EventLog entries=list.entries at=list.at of_workload=of_workload />
            <p class="table-foot">
                <a class="link" href=all>
                    {format!("All events of this {}", scope.noun())}
                </a>
            </p>
        }
        .into_any()
    })
}

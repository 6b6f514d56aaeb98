//! Status as shape, word and colour, always all three: the icon, hue and emphasis of each value of each axis.

use domain::Timestamp;
use domain::cluster::{Cluster, Connectivity};
use domain::finding::Severity;
use domain::health::HealthStatus;
use domain::release::{ReleaseState, SyncStatus};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::icon::{icon, icon_sized};
use crate::live;

/// How a value is displayed: icon of the sprite, class of the hue, class of the emphasis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusStyle {
    /// Icon in the sprite.
    pub icon: &'static str,
    /// `hue-…`.
    pub hue: &'static str,
    /// `state-quiet`, `state-attention`, `state-broken` or `state-last`.
    pub emphasis: &'static str,
}

const HEALTHY: &str = "hue-healthy";
const MOVING: &str = "hue-progressing";
const DRIFTED: &str = "hue-drifted";
const BROKEN: &str = "hue-degraded";
const UNKNOWN: &str = "hue-unknown";
const PAUSED: &str = "hue-paused";

const fn quiet(icon: &'static str, hue: &'static str) -> StatusStyle {
    StatusStyle { icon, hue, emphasis: "state-quiet" }
}

const fn highlighted(icon: &'static str, hue: &'static str) -> StatusStyle {
    StatusStyle { icon, hue, emphasis: "state-attention" }
}

const fn broken(icon: &'static str) -> StatusStyle {
    StatusStyle { icon, hue: BROKEN, emphasis: "state-broken" }
}

impl StatusStyle {
    /// The style of a release's state.
    pub const fn from_state(state: ReleaseState) -> Self {
        match state {
            ReleaseState::Pending => highlighted("pending", MOVING),
            ReleaseState::Queued => highlighted("queued", MOVING),
            ReleaseState::Pulling => highlighted("pulling", MOVING),
            ReleaseState::Applying => highlighted("applying", MOVING),
            ReleaseState::Progressing => highlighted("progressing", MOVING),
            ReleaseState::Removing => highlighted("removing", MOVING),
            ReleaseState::Terminating => highlighted("terminating", MOVING),
            ReleaseState::Healthy => quiet("healthy", HEALTHY),
            ReleaseState::NotAssessed => quiet("not-assessed", UNKNOWN),
            ReleaseState::Degraded => broken("degraded"),
            ReleaseState::Failed => broken("failed"),
            ReleaseState::Drifted => highlighted("drifted", DRIFTED),
            ReleaseState::Stale => highlighted("stale", DRIFTED),
            ReleaseState::Blocked => highlighted("blocked", DRIFTED),
            ReleaseState::Suspended => highlighted("suspended", PAUSED),
            ReleaseState::Unknown => quiet("unknown", UNKNOWN),
            ReleaseState::Removed => quiet("removed", UNKNOWN),
            ReleaseState::Orphaned | ReleaseState::Abandoned => quiet("orphaned", UNKNOWN),
        }
    }

    /// The style of the last known state, while the cluster does not report: a shape of its own, outlined and grey.
    pub const fn from_last_known(state: ReleaseState) -> Self {
        let icon = match state {
            ReleaseState::Healthy => "healthy-last",
            ReleaseState::NotAssessed => "not-assessed-last",
            ReleaseState::Degraded => "degraded-last",
            ReleaseState::Failed => "failed-last",
            ReleaseState::Drifted => "drifted-last",
            ReleaseState::Stale => "stale-last",
            ReleaseState::Blocked => "blocked-last",
            ReleaseState::Suspended => "suspended-last",
            ReleaseState::Pending | ReleaseState::Queued => "pending-last",
            ReleaseState::Pulling
            | ReleaseState::Applying
            | ReleaseState::Progressing
            | ReleaseState::Removing
            | ReleaseState::Terminating => "progressing-last",
            ReleaseState::Unknown
            | ReleaseState::Removed
            | ReleaseState::Orphaned
            | ReleaseState::Abandoned => "unknown-last",
        };
        Self { icon, hue: UNKNOWN, emphasis: "state-last" }
    }

    /// The style of the last known health, while the cluster does not report.
    pub const fn from_last_known_health(status: HealthStatus) -> Self {
        let icon = match status {
            HealthStatus::Healthy => "healthy-last",
            HealthStatus::NotAssessed => "not-assessed-last",
            HealthStatus::Suspended => "suspended-last",
            HealthStatus::Progressing => "progressing-last",
            HealthStatus::Missing => "missing-last",
            HealthStatus::Degraded => "degraded-last",
            HealthStatus::Unknown => "unknown-last",
        };
        Self { icon, hue: UNKNOWN, emphasis: "state-last" }
    }

    /// The style of the first axis.
    pub const fn from_sync(sync: SyncStatus) -> Self {
        match sync {
            SyncStatus::Pending => highlighted("pending", MOVING),
            SyncStatus::Applying => highlighted("applying", MOVING),
            SyncStatus::Synced => quiet("synced", HEALTHY),
            SyncStatus::Stale => highlighted("stale", DRIFTED),
            SyncStatus::Drifted => highlighted("drifted", DRIFTED),
            SyncStatus::Removing => highlighted("removing", MOVING),
            SyncStatus::Removed => quiet("removed", UNKNOWN),
        }
    }

    /// The style of the second axis.
    pub const fn from_health(status: HealthStatus) -> Self {
        match status {
            HealthStatus::Healthy => quiet("healthy", HEALTHY),
            HealthStatus::NotAssessed => quiet("not-assessed", UNKNOWN),
            HealthStatus::Suspended => highlighted("suspended", PAUSED),
            HealthStatus::Progressing => highlighted("progressing", MOVING),
            HealthStatus::Missing => broken("missing"),
            HealthStatus::Degraded => broken("degraded"),
            HealthStatus::Unknown => quiet("unknown", UNKNOWN),
        }
    }

    /// The style of the third axis.
    pub const fn from_connectivity(reach: Connectivity) -> Self {
        match reach {
            Connectivity::Online => quiet("online", HEALTHY),
            Connectivity::Late => highlighted("late", DRIFTED),
            Connectivity::Offline => quiet("offline", UNKNOWN),
        }
    }

    /// The style of a finding or an event.
    pub const fn from_severity(severity: Severity) -> Self {
        match severity {
            Severity::Error => broken("error"),
            Severity::Warning => highlighted("warning", DRIFTED),
            Severity::Note => quiet("note", UNKNOWN),
        }
    }

    /// Icon and word.
    pub fn with_label(self, word: impl Into<String>) -> impl IntoView {
        view! { <span class=format!("state {} {}", self.emphasis, self.hue)>{icon(self.icon)} {word.into()}</span> }
    }

    /// Icon and word of a last known value, with its age.
    pub fn with_last_known(
        self,
        word: &'static str,
        reported_at: Option<Timestamp>,
        at: Timestamp,
    ) -> AnyView {
        let now = live::server_now(at);
        let word = move || match reported_at {
            Some(then) => format!("{word}, {} ago", then.format_age(now.get())),
            None => format!("{word}, last known"),
        };
        view! { <span class=format!("state {} {}", self.emphasis, self.hue)>{icon(self.icon)} <span>{word}</span></span> }
            .into_any()
    }

    /// The icon alone, in its hue, 16 px: for lists where the words follow.
    pub fn icon_view(self) -> impl IntoView {
        view! { <span class=self.hue>{icon_sized(self.icon, "icon icon-16")}</span> }
    }
}

/// The style and the text of a matrix cell: the last known state, outlined, while the cluster is offline.
pub fn cell_status(state: ReleaseState, last_known: ReleaseState) -> (StatusStyle, String) {
    match state {
        ReleaseState::Unknown => {
            (StatusStyle::from_last_known(last_known), format!("{}, last known", last_known.label()))
        }
        state => (StatusStyle::from_state(state), state.label().to_owned()),
    }
}

/// A release's state; while its cluster is offline the last known state and its age.
#[component]
pub fn StateLabel(
    /// The state.
    state: ReleaseState,
    /// The last known state, while the state is `Unknown`.
    last_known: Option<ReleaseState>,
    /// When the cluster last reported it.
    reported_at: Option<Timestamp>,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    match (state, last_known) {
        (ReleaseState::Unknown, Some(last)) => {
            StatusStyle::from_last_known(last).with_last_known(last.label(), reported_at, at)
        }
        (state, _) => StatusStyle::from_state(state).with_label(state.label()).into_any(),
    }
}

/// The first axis.
pub fn sync_label(sync: SyncStatus) -> impl IntoView {
    StatusStyle::from_sync(sync).with_label(sync.as_str())
}

/// The second axis.
pub fn health_label(status: HealthStatus) -> impl IntoView {
    StatusStyle::from_health(status).with_label(status.label())
}

/// Whether a cluster reports, and whether its API server responds to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterReachability {
    /// The connectivity of the agent.
    pub connectivity: Connectivity,
    /// When its last heartbeat arrived.
    pub last_seen: Option<Timestamp>,
    /// Since when its API server does not respond to the agent.
    pub api_server_down_since: Option<Timestamp>,
}

impl ClusterReachability {
    /// Since when its API server does not respond, if that is known: an agent that does not report may no longer find it so.
    pub fn api_server_outage(self) -> Option<Timestamp> {
        self.api_server_down_since.filter(|_| self.connectivity == Connectivity::Online)
    }
}

impl From<&Cluster> for ClusterReachability {
    fn from(cluster: &Cluster) -> Self {
        Self {
            connectivity: cluster.connectivity,
            last_seen: cluster.last_seen,
            api_server_down_since: cluster.api_server_outage.as_ref().map(|outage| outage.since),
        }
    }
}

/// The connectivity of a cluster; while its API server does not respond to its agent, that and since when.
pub fn cluster_label(cluster: ClusterReachability, at: Timestamp) -> impl IntoView + use<> {
    let Some(since) = cluster.api_server_outage() else {
        return connectivity_label(cluster.connectivity, cluster.last_seen, at).into_any();
    };
    let now = live::server_now(at);
    let word = move || format!("API server down, {}", since.format_age(now.get()));
    let look = broken("offline");
    view! { <span class=format!("state {} {}", look.emphasis, look.hue)>{icon(look.icon)} <span>{word}</span></span> }
        .into_any()
}

/// The third axis; if the cluster is not online, with the age of its last heartbeat.
fn connectivity_label(
    reach: Connectivity,
    last_seen: Option<Timestamp>,
    at: Timestamp,
) -> impl IntoView + use<> {
    let look = StatusStyle::from_connectivity(reach);
    let now = live::server_now(at);
    let word = move || match (reach, last_seen) {
        (Connectivity::Late | Connectivity::Offline, Some(seen)) => {
            format!("{}, {}", reach.as_str(), seen.format_age(now.get()))
        }
        (Connectivity::Online, _) | (Connectivity::Late, None) => reach.as_str().to_owned(),
        (Connectivity::Offline, None) => "Never connected".to_owned(),
    };
    view! { <span class=format!("state {} {}", look.emphasis, look.hue)>{icon(look.icon)} <span>{word}</span></span> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_states_never_share_shape_and_hue() {
        let same_on_purpose = [ReleaseState::Orphaned, ReleaseState::Abandoned];
        for &a in ReleaseState::ALL {
            for &b in ReleaseState::ALL {
                let differ = a != b && !(same_on_purpose.contains(&a) && same_on_purpose.contains(&b));
                assert!(
                    !differ || StatusStyle::from_state(a) != StatusStyle::from_state(b),
                    "{a:?} looks like {b:?}"
                );
            }
        }
    }

    #[test]
    fn an_api_server_is_not_shown_as_down_by_an_agent_that_does_not_report() {
        let since = Some(Timestamp::from_millis(1));
        let outage = |connectivity| {
            let cluster =
                ClusterReachability { connectivity, last_seen: since, api_server_down_since: since };
            cluster.api_server_outage()
        };
        assert_eq!(outage(Connectivity::Online), since);
        assert_eq!((outage(Connectivity::Late), outage(Connectivity::Offline)), (None, None));
    }

    #[test]
    fn every_last_known_state_is_grey_and_outlined() {
        for &state in ReleaseState::ALL {
            let look = StatusStyle::from_last_known(state);
            assert!(look.icon.ends_with("-last") && look.hue == "hue-unknown", "{state:?}");
        }
    }

    #[test]
    fn healthy_states_are_quiet_and_broken_states_are_emphasized() {
        assert_eq!(StatusStyle::from_state(ReleaseState::Healthy).emphasis, "state-quiet");
        assert_eq!(StatusStyle::from_state(ReleaseState::Failed).emphasis, "state-broken");
        assert_eq!(StatusStyle::from_health(HealthStatus::Missing).emphasis, "state-broken");
    }

    #[test]
    fn what_is_not_assessed_is_neither_green_nor_shaped_like_healthy() {
        let state = StatusStyle::from_state(ReleaseState::NotAssessed);
        assert_eq!(state, StatusStyle::from_health(HealthStatus::NotAssessed));
        assert_ne!(state.hue, HEALTHY);
        assert_ne!(state.icon, StatusStyle::from_state(ReleaseState::Healthy).icon);
        assert_eq!(
            (ReleaseState::NotAssessed.label(), HealthStatus::NotAssessed.label()),
            ("Not assessed", "Not assessed")
        );
    }
}

//! Status as shape, word and colour, always three: which icon, hue and loudness belongs to which value of each axis.

use domain::Timestamp;
use domain::cluster::Reach;
use domain::finding::Severity;
use domain::health::HealthStatus;
use domain::release::{State, Sync};
use leptos::prelude::*;

use super::{icon, icon_sized};
use crate::live;

/// How a value looks: icon of the sprite, class of the hue, class of the loudness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Icon in the sprite.
    pub icon: &'static str,
    /// `hue-…`.
    pub hue: &'static str,
    /// `state-quiet`, `state-look`, `state-broken` or `state-last`.
    pub loud: &'static str,
}

const HEALTHY: &str = "hue-healthy";
const MOVING: &str = "hue-progressing";
const DRIFTED: &str = "hue-drifted";
const BROKEN: &str = "hue-degraded";
const UNKNOWN: &str = "hue-unknown";
const PAUSED: &str = "hue-paused";

const fn quiet(icon: &'static str, hue: &'static str) -> Look {
    Look { icon, hue, loud: "state-quiet" }
}

const fn look(icon: &'static str, hue: &'static str) -> Look {
    Look { icon, hue, loud: "state-look" }
}

const fn broken(icon: &'static str) -> Look {
    Look { icon, hue: BROKEN, loud: "state-broken" }
}

impl Look {
    /// How a release's state looks.
    pub const fn of_state(state: State) -> Self {
        match state {
            State::Pending => look("pending", MOVING),
            State::Queued => look("queued", MOVING),
            State::Pulling => look("pulling", MOVING),
            State::Applying => look("applying", MOVING),
            State::Progressing => look("progressing", MOVING),
            State::Removing => look("removing", MOVING),
            State::Terminating => look("terminating", MOVING),
            State::Healthy => quiet("healthy", HEALTHY),
            State::Degraded => broken("degraded"),
            State::Failed => broken("failed"),
            State::Drifted => look("drifted", DRIFTED),
            State::Stale => look("stale", DRIFTED),
            State::Blocked => look("blocked", DRIFTED),
            State::Suspended => look("suspended", PAUSED),
            State::Unknown => quiet("unknown", UNKNOWN),
            State::Removed => quiet("removed", UNKNOWN),
            State::Orphaned | State::Abandoned => quiet("orphaned", UNKNOWN),
        }
    }

    /// How the last known state of a cluster that is not heard from looks: its own shape, hollow and grey.
    pub const fn last_known(state: State) -> Self {
        let icon = match state {
            State::Healthy => "healthy-last",
            State::Degraded => "degraded-last",
            State::Failed => "failed-last",
            State::Drifted => "drifted-last",
            State::Stale => "stale-last",
            State::Blocked => "blocked-last",
            State::Suspended => "suspended-last",
            State::Pending | State::Queued => "pending-last",
            State::Pulling | State::Applying | State::Progressing | State::Removing | State::Terminating => {
                "progressing-last"
            }
            State::Unknown | State::Removed | State::Orphaned | State::Abandoned => "unknown-last",
        };
        Self { icon, hue: UNKNOWN, loud: "state-last" }
    }

    /// How the first axis looks.
    pub const fn of_sync(sync: Sync) -> Self {
        match sync {
            Sync::Pending => look("pending", MOVING),
            Sync::Applying => look("applying", MOVING),
            Sync::Synced => quiet("synced", HEALTHY),
            Sync::Stale => look("stale", DRIFTED),
            Sync::Drifted => look("drifted", DRIFTED),
            Sync::Removing => look("removing", MOVING),
            Sync::Removed => quiet("removed", UNKNOWN),
        }
    }

    /// How the second axis looks.
    pub const fn of_health(status: HealthStatus) -> Self {
        match status {
            HealthStatus::Healthy => quiet("healthy", HEALTHY),
            HealthStatus::Suspended => look("suspended", PAUSED),
            HealthStatus::Progressing => look("progressing", MOVING),
            HealthStatus::Missing => broken("missing"),
            HealthStatus::Degraded => broken("degraded"),
            HealthStatus::Unknown => quiet("unknown", UNKNOWN),
        }
    }

    /// How the third axis looks.
    pub const fn of_reach(reach: Reach) -> Self {
        match reach {
            Reach::Online => quiet("online", HEALTHY),
            Reach::Late => look("late", DRIFTED),
            Reach::Offline => quiet("offline", UNKNOWN),
        }
    }

    /// How a finding or an event looks.
    pub const fn of_severity(severity: Severity) -> Self {
        match severity {
            Severity::Error => broken("error"),
            Severity::Warning => look("warning", DRIFTED),
            Severity::Note => quiet("note", UNKNOWN),
        }
    }

    /// Icon and word.
    pub fn with_word(self, word: impl Into<String>) -> impl IntoView {
        view! { <span class=format!("state {} {}", self.loud, self.hue)>{icon(self.icon)} {word.into()}</span> }
    }

    /// The icon alone, in its hue, 16 px: for lists where the words follow.
    pub fn mark(self) -> impl IntoView {
        view! { <span class=self.hue>{icon_sized(self.icon, "icon icon-16")}</span> }
    }
}

/// The look and the words of a cell: last known and hollow while the cluster is offline.
pub fn cell(state: State, last_known: State) -> (Look, String) {
    match state {
        State::Unknown => (Look::last_known(last_known), format!("{}, last known", last_known.word())),
        state => (Look::of_state(state), state.word().to_owned()),
    }
}

/// A release's state; while its cluster is offline what it last was, and how long ago.
#[component]
pub fn StateWord(
    /// The state.
    state: State,
    /// What it last was, while it is `Unknown`.
    last_known: Option<State>,
    /// When the cluster last said something about it.
    reported_at: Option<Timestamp>,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    match (state, last_known) {
        (State::Unknown, Some(last)) => {
            let now = live::now(at);
            let word = move || match reported_at {
                Some(then) => format!("{}, {} ago", last.word(), then.age(now.get())),
                None => format!("{}, last known", last.word()),
            };
            let look = Look::last_known(last);
            view! { <span class=format!("state {} {}", look.loud, look.hue)>{icon(look.icon)} <span>{word}</span></span> }
                .into_any()
        }
        (state, _) => Look::of_state(state).with_word(state.word()).into_any(),
    }
}

/// The first axis.
pub fn sync_word(sync: Sync) -> impl IntoView {
    Look::of_sync(sync).with_word(sync.word())
}

/// The second axis.
pub fn health_word(status: HealthStatus) -> impl IntoView {
    Look::of_health(status).with_word(status.word())
}

/// The third axis; of a cluster that is silent, with the age of its last word. While it is online the age says nothing.
pub fn reach_word(reach: Reach, last_seen: Option<Timestamp>, at: Timestamp) -> impl IntoView {
    let look = Look::of_reach(reach);
    let now = live::now(at);
    let word = move || match (reach, last_seen) {
        (Reach::Late | Reach::Offline, Some(seen)) => format!("{}, {}", reach.word(), seen.age(now.get())),
        (Reach::Online, _) | (Reach::Late, None) => reach.word().to_owned(),
        (Reach::Offline, None) => "Never heard from".to_owned(),
    };
    view! { <span class=format!("state {} {}", look.loud, look.hue)>{icon(look.icon)} <span>{word}</span></span> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_differ_never_share_shape_and_hue() {
        let same_on_purpose = [State::Orphaned, State::Abandoned];
        for a in State::ALL {
            for b in State::ALL {
                let differ = a != b && !(same_on_purpose.contains(&a) && same_on_purpose.contains(&b));
                assert!(!differ || Look::of_state(a) != Look::of_state(b), "{a:?} looks like {b:?}");
            }
        }
    }

    #[test]
    fn what_is_last_known_is_grey_and_hollow_whatever_it_was() {
        for state in State::ALL {
            let look = Look::last_known(state);
            assert!(look.icon.ends_with("-last") && look.hue == "hue-unknown", "{state:?}");
        }
    }

    #[test]
    fn what_is_healthy_is_quiet_and_what_is_broken_is_loud() {
        assert_eq!(Look::of_state(State::Healthy).loud, "state-quiet");
        assert_eq!(Look::of_state(State::Failed).loud, "state-broken");
        assert_eq!(Look::of_health(HealthStatus::Missing).loud, "state-broken");
    }
}

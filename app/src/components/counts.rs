//! Counts per state, folded into the seven groups people think in; each is a filter. Never one word that lies (S1-19).

use domain::release::State;
use domain::rollup::Counts;
use leptos::prelude::*;

use super::{Look, icon};
use crate::paths;

/// States that people read as one thing, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Broken.
    Failing,
    /// Waits for a person.
    Blocked,
    /// Not as applied, or an older bundle.
    Drifted,
    /// On its way.
    Moving,
    /// Paused on purpose.
    Suspended,
    /// Can't be heard.
    Unknown,
    /// Operational.
    Healthy,
    /// No longer there.
    Gone,
}

impl Group {
    /// All of them, worst first.
    pub const ALL: [Self; 8] = [
        Self::Failing,
        Self::Blocked,
        Self::Drifted,
        Self::Moving,
        Self::Suspended,
        Self::Unknown,
        Self::Healthy,
        Self::Gone,
    ];

    /// The group of a state.
    pub const fn of(state: State) -> Self {
        match state {
            State::Failed | State::Degraded => Self::Failing,
            State::Blocked => Self::Blocked,
            State::Drifted | State::Stale => Self::Drifted,
            State::Pending
            | State::Queued
            | State::Pulling
            | State::Applying
            | State::Progressing
            | State::Removing
            | State::Terminating => Self::Moving,
            State::Suspended => Self::Suspended,
            State::Unknown => Self::Unknown,
            State::Healthy => Self::Healthy,
            State::Removed | State::Orphaned | State::Abandoned => Self::Gone,
        }
    }

    /// The word in the address.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Blocked => "blocked",
            Self::Drifted => "drifted",
            Self::Moving => "rolling-out",
            Self::Suspended => "suspended",
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Gone => "removed",
        }
    }

    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failing => "Failing",
            Self::Blocked => "Blocked",
            Self::Drifted => "Drifted",
            Self::Moving => "Rolling out",
            Self::Suspended => "Suspended",
            Self::Unknown => "Unknown",
            Self::Healthy => "Healthy",
            Self::Gone => "Removed",
        }
    }

    /// How it looks.
    pub const fn look(self) -> Look {
        Look::of_state(match self {
            Self::Failing => State::Failed,
            Self::Blocked => State::Blocked,
            Self::Drifted => State::Drifted,
            Self::Moving => State::Progressing,
            Self::Suspended => State::Suspended,
            Self::Unknown => State::Unknown,
            Self::Healthy => State::Healthy,
            Self::Gone => State::Removed,
        })
    }

    /// The group with this slug.
    #[cfg(feature = "ssr")]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.slug() == slug)
    }

    /// The words of its states, as a list query takes them; nothing for an unknown slug.
    #[cfg(feature = "ssr")]
    pub fn states_of(slug: &str) -> String {
        let Some(group) = Self::from_slug(slug) else {
            return String::new();
        };
        let words: Vec<&str> =
            State::ALL.into_iter().filter(|state| Self::of(*state) == group).map(State::word).collect();
        words.join(",")
    }

    /// How many releases are in it.
    pub fn count(self, counts: &Counts) -> u32 {
        counts.worst_first().filter(|(state, _)| Self::of(*state) == self).map(|(_, n)| n).sum()
    }
}

/// The groups that have any release, with their numbers, worst first.
pub fn grouped(counts: &Counts) -> Vec<(Group, u32)> {
    Group::ALL.into_iter().map(|group| (group, group.count(counts))).filter(|(_, n)| *n > 0).collect()
}

/// The counts as one sentence, for those who do not see the strip.
pub fn spoken(counts: &Counts) -> String {
    let parts: Vec<String> =
        grouped(counts).iter().map(|(group, n)| format!("{n} {}", group.word().to_lowercase())).collect();
    if parts.is_empty() { "no releases".to_owned() } else { parts.join(", ") }
}

/// The proportion bar, worst left. Releases that are gone are not part of it.
#[component]
pub fn Strip(
    /// What is counted.
    counts: Counts,
    /// `strip` or `strip strip-row`.
    #[prop(default = "strip")]
    class: &'static str,
) -> impl IntoView {
    let parts = grouped(&counts).into_iter().filter(|(group, _)| *group != Group::Gone);
    let parts =
        parts.map(|(group, n)| view! { <i class=group.look().hue style=format!("flex-grow:{n}")></i> });
    view! {
        <div class=class role="img" aria-label=spoken(&counts)>
            {parts.collect_view()}
        </div>
    }
    .into_any()
}

/// The numbers under a strip, each a link that filters; the active one leads back.
#[component]
pub fn CountLine(
    /// What is counted.
    counts: Counts,
    /// The page the filter belongs to; the group is added as `state`.
    base: String,
    /// The active filter.
    #[prop(into)]
    active: String,
    /// What stands at the right.
    #[prop(into, default = String::new())]
    note: String,
) -> impl IntoView {
    let entry = |(group, n): (Group, u32)| {
        let on = active == group.slug();
        let href = if on { base.clone() } else { paths::query(&base, &[("state", group.slug())]) };
        let look = group.look();
        view! {
            <a class=format!("count {}", look.hue) href=href aria-current=on.then_some("true")>
                {icon(look.icon)} <b>{n}</b> {format!(" {}", group.word())}
            </a>
        }
    };
    let entries = grouped(&counts).into_iter().map(entry).collect_view();
    view! {
        <div class="counts">
            {entries} {(!note.is_empty()).then(|| view! { <span class="text-3 ml-auto">{note}</span> })}
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_in_a_group_and_every_group_has_a_state() {
        let all: Counts = State::ALL.into_iter().collect();
        let sum: u32 = grouped(&all).iter().map(|(_, n)| n).sum();
        assert_eq!(sum, all.total());
        assert_eq!(grouped(&all).len(), Group::ALL.len());
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn a_slug_becomes_the_states_a_query_takes() {
        assert_eq!(Group::states_of("failing"), "Degraded,Failed");
        assert_eq!(Group::states_of("nonsense"), "");
    }

    #[test]
    fn counts_are_spoken_worst_first() {
        let counts: Counts = [State::Healthy, State::Failed, State::Healthy].into_iter().collect();
        assert_eq!(spoken(&counts), "1 failing, 2 healthy");
    }
}

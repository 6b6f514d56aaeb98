//! Counts of releases per state, in ten groups; each is a filter (S1-19).

use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;

use super::icon::icon;
use super::status::StatusStyle;
use crate::paths;

/// Groups of states, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateGroup {
    /// Broken.
    Failing,
    /// Needs a user's action.
    Blocked,
    /// Differs from what was applied, or has an older bundle.
    Drifted,
    /// Being delivered, applied or started.
    Moving,
    /// Being removed.
    Removing,
    /// Paused on purpose.
    Suspended,
    /// The cluster does not report.
    Unknown,
    /// Applied; nothing says whether it works.
    NotAssessed,
    /// Healthy.
    Healthy,
    /// Removed, orphaned or abandoned.
    Gone,
}

impl StateGroup {
    /// All of them, worst first.
    pub const ALL: [Self; 10] = [
        Self::Failing,
        Self::Blocked,
        Self::Drifted,
        Self::Moving,
        Self::Removing,
        Self::Suspended,
        Self::Unknown,
        Self::NotAssessed,
        Self::Healthy,
        Self::Gone,
    ];

    /// The group of a state.
    pub const fn from_state(state: ReleaseState) -> Self {
        match state {
            ReleaseState::Failed | ReleaseState::Degraded => Self::Failing,
            ReleaseState::Blocked => Self::Blocked,
            ReleaseState::Drifted | ReleaseState::Stale => Self::Drifted,
            ReleaseState::Pending
            | ReleaseState::Queued
            | ReleaseState::Pulling
            | ReleaseState::Applying
            | ReleaseState::Progressing => Self::Moving,
            ReleaseState::Removing | ReleaseState::Terminating => Self::Removing,
            ReleaseState::Suspended => Self::Suspended,
            ReleaseState::Unknown => Self::Unknown,
            ReleaseState::NotAssessed => Self::NotAssessed,
            ReleaseState::Healthy => Self::Healthy,
            ReleaseState::Removed | ReleaseState::Orphaned | ReleaseState::Abandoned => Self::Gone,
        }
    }

    /// Its name in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Blocked => "blocked",
            Self::Drifted => "drifted",
            Self::Moving => "rolling-out",
            Self::Removing => "removing",
            Self::Suspended => "suspended",
            Self::Unknown => "unknown",
            Self::NotAssessed => "not-assessed",
            Self::Healthy => "healthy",
            Self::Gone => "removed",
        }
    }

    /// Its name on pages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Failing => "Failing",
            Self::Blocked => "Blocked",
            Self::Drifted => "Drifted",
            Self::Moving => "Rolling out",
            Self::Removing => "Removing",
            Self::Suspended => "Suspended",
            Self::Unknown => "Unknown",
            Self::NotAssessed => "Not assessed",
            Self::Healthy => "Healthy",
            Self::Gone => "Removed",
        }
    }

    /// Its icon and colour.
    pub const fn style(self) -> StatusStyle {
        StatusStyle::from_state(match self {
            Self::Failing => ReleaseState::Failed,
            Self::Blocked => ReleaseState::Blocked,
            Self::Drifted => ReleaseState::Drifted,
            Self::Moving => ReleaseState::Progressing,
            Self::Removing => ReleaseState::Removing,
            Self::Suspended => ReleaseState::Suspended,
            Self::Unknown => ReleaseState::Unknown,
            Self::NotAssessed => ReleaseState::NotAssessed,
            Self::Healthy => ReleaseState::Healthy,
            Self::Gone => ReleaseState::Removed,
        })
    }

    /// The group with this slug.
    #[cfg(feature = "ssr")]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.slug() == slug)
    }

    /// The states of the group with this slug, comma-separated for a list query; empty for an unknown slug.
    #[cfg(feature = "ssr")]
    pub fn state_filter(slug: &str) -> String {
        let Some(group) = Self::from_slug(slug) else {
            return String::new();
        };
        let words: Vec<&str> = ReleaseState::ALL
            .iter()
            .copied()
            .filter(|state| Self::from_state(*state) == group)
            .map(ReleaseState::as_str)
            .collect();
        words.join(",")
    }

    /// The number of releases in it.
    pub fn count_releases(self, counts: &ReleaseCounts) -> u32 {
        counts.iter_by_severity().filter(|(state, _)| Self::from_state(*state) == self).map(|(_, n)| n).sum()
    }
}

/// The groups with at least one release, with their numbers, worst first.
pub fn count_by_group(counts: &ReleaseCounts) -> Vec<(StateGroup, u32)> {
    StateGroup::ALL
        .into_iter()
        .map(|group| (group, group.count_releases(counts)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

/// The counts as text, for screen readers.
pub fn describe_counts(counts: &ReleaseCounts) -> String {
    let parts: Vec<String> = count_by_group(counts)
        .iter()
        .map(|(group, n)| format!("{n} {}", group.label().to_lowercase()))
        .collect();
    if parts.is_empty() { "no releases".to_owned() } else { parts.join(", ") }
}

/// The proportion bar, worst left; without [`StateGroup::Gone`].
#[component]
pub fn StateStrip(
    /// The counts.
    counts: ReleaseCounts,
    /// `strip` or `strip strip-row`.
    #[prop(default = "strip")]
    class: &'static str,
) -> impl IntoView {
    let parts = count_by_group(&counts).into_iter().filter(|(group, _)| *group != StateGroup::Gone);
    let parts =
        parts.map(|(group, n)| view! { <i class=group.style().hue style=format!("flex-grow:{n}")></i> });
    view! {
        <div class=class role="img" aria-label=describe_counts(&counts)>
            {parts.collect_view()}
        </div>
    }
    .into_any()
}

/// The numbers under a strip, each a filter link; the link of the active filter clears it.
#[component]
pub fn StateCounts(
    /// The counts.
    counts: ReleaseCounts,
    /// The page the filter belongs to; the group is added as `state`.
    base: String,
    /// The active filter.
    #[prop(into)]
    active: String,
    /// Text at the right.
    #[prop(into, default = String::new())]
    note: String,
) -> impl IntoView {
    let entry = |(group, n): (StateGroup, u32)| {
        let on = active == group.slug();
        let href = if on { base.clone() } else { paths::query(&base, &[("state", group.slug())]) };
        let look = group.style();
        view! {
            <a class=format!("count {}", look.hue) href=href aria-current=on.then_some("true")>
                {icon(look.icon)} <b>{n}</b> {format!(" {}", group.label())}
            </a>
        }
    };
    let entries = count_by_group(&counts).into_iter().map(entry).collect_view();
    view! {
        <div class="counts">
            {entries} {(!note.is_empty()).then(|| view! { <span class="text-3 sm:ml-auto">{note}</span> })}
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_in_a_group_and_every_group_has_a_state() {
        let all: ReleaseCounts = ReleaseState::ALL.iter().copied().collect();
        let sum: u32 = count_by_group(&all).iter().map(|(_, n)| n).sum();
        assert_eq!(sum, all.total());
        assert_eq!(count_by_group(&all).len(), StateGroup::ALL.len());
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn a_slug_maps_to_the_states_of_a_query() {
        assert_eq!(StateGroup::state_filter("failing"), "Degraded,Failed");
        assert_eq!(StateGroup::state_filter("removing"), "Terminating,Removing");
        assert_eq!(StateGroup::state_filter("nonsense"), "");
    }

    #[test]
    fn counts_are_described_worst_first() {
        let counts: ReleaseCounts =
            [ReleaseState::Healthy, ReleaseState::Failed, ReleaseState::Healthy].into_iter().collect();
        assert_eq!(describe_counts(&counts), "1 failing, 2 healthy");
    }

    #[test]
    fn releases_that_are_removed_do_not_count_as_rolling_out() {
        let counts: ReleaseCounts =
            [ReleaseState::Removing, ReleaseState::Terminating, ReleaseState::Applying].into_iter().collect();
        assert_eq!(describe_counts(&counts), "1 rolling out, 2 removing");
    }
}

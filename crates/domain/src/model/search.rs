//! The search over names: workloads, clusters, groups and charts, and the failing releases of what it finds.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::release::ReleaseState;

/// Items of each kind without a limit in the query.
pub const DEFAULT_LIMIT: u32 = 10;
/// Most items of each kind.
pub const MAX_LIMIT: u32 = 50;
/// Most words of a query; further ones are ignored.
const MAX_WORDS: usize = 6;
/// Most characters of a query; further ones are ignored.
const MAX_QUERY_CHARS: usize = 200;

/// What a search finds, in the order of its results.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum SearchKind {
    /// A failing release: `name` is its workload, `cluster` its cluster.
    Failure,
    /// A workload.
    Workload,
    /// A cluster.
    Cluster,
    /// A cluster group.
    Group,
    /// A chart; `name` is repository and name.
    Chart,
}

impl SearchKind {
    /// All kinds.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in JSON, in addresses and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|kind| kind.as_str() == name)
    }
}

/// A search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words that a name has to contain, all of them. Without any, everything matches.
    pub q: String,
    /// Only these kinds; all if empty.
    pub kinds: Vec<SearchKind>,
    /// Most items of each kind, 1 to [`MAX_LIMIT`].
    pub limit: Option<u32>,
    /// Without words: these workloads are the first ones, as far as they exist.
    pub recent: Vec<String>,
}

impl SearchQuery {
    /// The limit, within its bounds.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
    }

    /// Whether items of this kind are searched for.
    pub fn has_kind(&self, kind: SearchKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// The words in lower case.
    pub fn words(&self) -> Vec<String> {
        parse_words(&self.q)
    }
}

/// The words of a query in lower case, within the limits.
pub fn parse_words(q: &str) -> Vec<String> {
    let text: String = q.chars().take(MAX_QUERY_CHARS).collect();
    text.to_lowercase().split_whitespace().take(MAX_WORDS).map(str::to_owned).collect()
}

/// How well a name matches, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchRank {
    /// It is the only word.
    Exact,
    /// It begins with the first word.
    Prefix,
    /// It contains every word.
    Part,
}

/// How well a name matches the words; `None` if it does not, or if there are none.
pub fn rank_match(name: &str, words: &[String]) -> Option<MatchRank> {
    let name = name.to_lowercase();
    let first = words.first()?;
    match words.iter().all(|word| name.contains(word)) {
        false => None,
        true if words.len() == 1 && name == *first => Some(MatchRank::Exact),
        true if name.starts_with(first) => Some(MatchRank::Prefix),
        true => Some(MatchRank::Part),
    }
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// By kind: failing releases first. Within a kind, names that begin with the first word come first.
    pub items: Vec<SearchHit>,
    /// Kinds with more items than the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub truncated: Vec<SearchKind>,
    /// What matches best, with the actions on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestMatch>,
    /// When this was read.
    pub read_at: Timestamp,
}

/// An item that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// What it is.
    pub kind: SearchKind,
    /// Its name.
    pub name: String,
    /// The cluster of a failing release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The state of the release; of a workload or a cluster the most severe one of its releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ReleaseState>,
    /// The connectivity of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connectivity: Option<Connectivity>,
    /// Since when the release has this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What distinguishes it, in a few words.
    pub detail: String,
}

impl SearchHit {
    /// An item of this kind and name.
    pub fn new(kind: SearchKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            cluster: None,
            state: None,
            connectivity: None,
            since: None,
            detail: String::new(),
        }
    }
}

/// What matches best, with the actions on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BestMatch {
    /// What it is.
    pub kind: SearchKind,
    /// Its name.
    pub name: String,
    /// The actions, also those that are not possible now.
    pub actions: Vec<PossibleAction>,
}

/// An action on what was found, and why it is not possible now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PossibleAction {
    /// The action.
    pub action: ActionName,
    /// What it is called, with its object; with an ellipsis if it asks before it changes something.
    pub label: String,
    /// The revision that a rollback publishes again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The command that does the same; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Why it is not possible now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// An action on what a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ActionName {
    /// Show it.
    Open,
    /// Plan the draft of a workload and publish it.
    Publish,
    /// Pause the rollout of a workload.
    PauseRollout,
    /// Resume the rollout of a workload.
    ResumeRollout,
    /// Approve the wave that waits.
    ApproveRollout,
    /// Skip the soak time of a rollout.
    PromoteRollout,
    /// Let the failing clusters of a rollout try again.
    RetryRollout,
    /// Abort the rollout of a workload.
    AbortRollout,
    /// Compare a workload with its clusters.
    Sync,
    /// Publish an earlier revision of a workload again.
    RollBack,
    /// Remove a workload from its clusters.
    Unpublish,
    /// Delete it.
    Delete,
    /// Keep new workloads away from a cluster.
    Cordon,
    /// End the cordon of a cluster.
    Uncordon,
    /// Inject a fault into a simulated cluster.
    InjectFault,
    /// Create a workload from a chart.
    CreateWorkload,
}

impl ActionName {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The words that select it in a query.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Open => &["open", "show"],
            Self::Publish => &["publish", "review", "plan"],
            Self::PauseRollout => &["pause", "rollout"],
            Self::ResumeRollout => &["resume", "rollout"],
            Self::ApproveRollout => &["approve", "rollout"],
            Self::PromoteRollout => &["promote", "rollout"],
            Self::RetryRollout => &["retry", "rollout"],
            Self::AbortRollout => &["abort", "rollout"],
            Self::Sync => &["sync"],
            Self::RollBack => &["rollback", "roll", "back"],
            Self::Unpublish => &["unpublish"],
            Self::Delete => &["delete"],
            Self::Cordon => &["cordon"],
            Self::Uncordon => &["uncordon"],
            Self::InjectFault => &["break", "fault"],
            Self::CreateWorkload => &["new", "create"],
        }
    }

    /// Whether a word of a query selects it.
    pub fn matches_word(self, word: &str) -> bool {
        self.words().iter().any(|own| own.starts_with(word))
    }

    /// Whether a word of a query selects any action.
    pub fn is_action_word(word: &str) -> bool {
        word.len() > 1 && Self::VARIANTS.iter().any(|action| action.matches_word(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(name: &str, q: &str) -> Option<MatchRank> {
        rank_match(name, &parse_words(q))
    }

    #[test]
    fn a_name_matches_by_all_words_and_its_beginning_ranks_before_its_middle() {
        assert_eq!(rank("storefront", "storefront"), Some(MatchRank::Exact));
        assert_eq!(rank("storefront", "Store"), Some(MatchRank::Prefix));
        assert_eq!(rank("object-store", "store"), Some(MatchRank::Part));
        assert_eq!(rank("storefront", "store front"), Some(MatchRank::Prefix));
        assert_eq!(rank("storefront", "store back"), None);
        assert_eq!(rank("storefront", "  "), None);
        assert!(MatchRank::Exact < MatchRank::Prefix && MatchRank::Prefix < MatchRank::Part);
    }

    #[test]
    fn a_query_is_bounded() {
        assert_eq!(parse_words(&"a ".repeat(500)).len(), MAX_WORDS);
        assert_eq!(parse_words(&"a".repeat(500))[0].len(), MAX_QUERY_CHARS);
        assert_eq!(SearchQuery { limit: Some(9_999), ..SearchQuery::default() }.limit(), MAX_LIMIT);
    }

    #[test]
    fn a_kind_is_parsed_from_its_name() {
        for kind in SearchKind::ALL {
            assert_eq!(SearchKind::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(SearchKind::parse("pods"), None);
    }

    #[test]
    fn a_word_selects_an_action_by_its_beginning() {
        assert!(ActionName::is_action_word("unpub") && ActionName::is_action_word("roll"));
        assert!(!ActionName::is_action_word("s") && !ActionName::is_action_word("storefront"));
        assert!(ActionName::RollBack.matches_word("back") && !ActionName::Sync.matches_word("back"));
    }
}

//! Placement as a form. Pure; the same in browser and server.
//!
//! The form holds every placement that the API can hold, or says that it can't: then the text counts. Rows that are left
//! blank say nothing, so there is always a spare one for those who have no script.

use std::collections::BTreeMap;

use domain::Finding;
use domain::placement::{NewMembers, Placement, Predicate, Score, ScoreName, Spread, WhenUnsatisfiable};
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::words;

#[cfg(test)]
mod tests;
mod text;

pub use text::{effect_word, in_yaml};

/// How the clusters of one set are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// By name.
    #[default]
    Names,
    /// By group.
    Groups,
    /// By labels.
    Labels,
    /// By what their agents found out.
    Facts,
    /// By several of these at once.
    Mixed,
    /// Every cluster.
    All,
}

impl By {
    /// All of them, in the order shown.
    pub const ALL: [Self; 6] = [Self::Names, Self::Groups, Self::Labels, Self::Facts, Self::Mixed, Self::All];

    /// The word in the form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Groups => "groups",
            Self::Labels => "labels",
            Self::Facts => "facts",
            Self::Mixed => "mixed",
            Self::All => "all",
        }
    }

    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Names => "Name",
            Self::Groups => "Group",
            Self::Labels => "Labels",
            Self::Facts => "Facts",
            Self::Mixed => "Mixed",
            Self::All => "All clusters",
        }
    }

    /// The way with this slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.slug() == slug)
    }

    fn shows(self, part: Self) -> bool {
        self == part || self == Self::Mixed
    }
}

/// One set of clusters; a cluster in any of the sets is a candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetForm {
    /// How they are chosen; what belongs to another way is left out.
    pub by: By,
    /// Names that are ticked.
    pub names: Vec<String>,
    /// Names that are typed, separated by commas or spaces.
    pub more: String,
    /// Groups that are ticked.
    pub groups: Vec<String>,
    /// Labels, as `kubectl -l` takes them.
    pub selector: String,
    /// Facts, in the same grammar.
    pub facts: String,
}

impl SetForm {
    fn of(predicate: &Predicate) -> Self {
        let parts = [
            (By::Names, !predicate.names.is_empty()),
            (By::Groups, !predicate.groups.is_empty()),
            (By::Labels, !predicate.label_selector.is_empty()),
            (By::Facts, !predicate.field_selector.is_empty()),
        ];
        let by = match parts.iter().filter(|(_, is_there)| *is_there).collect::<Vec<_>>()[..] {
            [] => By::All,
            [(by, _)] => *by,
            _ => By::Mixed,
        };
        Self {
            by,
            names: predicate.names.clone(),
            more: String::new(),
            groups: predicate.groups.clone(),
            selector: predicate.label_selector.to_string(),
            facts: predicate.field_selector.to_string(),
        }
    }

    /// Every name, ticked or typed, once.
    pub fn all_names(&self) -> Vec<String> {
        let mut all = self.names.clone();
        for name in words(&self.more) {
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
        all
    }

    /// The predicate; `None` while nothing is said, which must not mean every cluster.
    fn predicate(&self, at: usize, wrong: &mut Vec<Finding>) -> Option<Predicate> {
        if self.by == By::All {
            return Some(Predicate::default());
        }
        let mut predicate = Predicate::default();
        if self.by.shows(By::Names) {
            predicate.names = self.all_names();
        }
        if self.by.shows(By::Groups) {
            predicate.groups.clone_from(&self.groups);
        }
        if self.by.shows(By::Labels) {
            let hint = "Write it as env=prod,region in (eu,us),!legacy.";
            match self.selector.parse() {
                Ok(selector) => predicate.label_selector = selector,
                Err(error) => wrong.push(field(&format!("sets/{at}/selector"), error, hint)),
            }
        }
        if self.by.shows(By::Facts) {
            let hint = "Write it as provider=aws,kubernetesVersion>=1.33.";
            match self.facts.parse() {
                Ok(selector) => predicate.field_selector = selector,
                Err(error) => wrong.push(field(&format!("sets/{at}/facts"), error, hint)),
            }
        }
        (!predicate.is_everything()).then_some(predicate)
    }
}

/// One spread; without a key it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpreadForm {
    /// `region`, `zone`, `provider` or the key of a label.
    pub key: String,
    /// The skew; empty for 1.
    pub skew: String,
    /// At least so many values; empty for any number.
    pub groups: String,
    /// `anyway` prefers and does not refuse.
    pub when: String,
}

/// One score; without a weight it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScoreForm {
    /// What is scored.
    pub name: ScoreName,
    /// Its weight.
    pub weight: String,
    /// The labels, for a score by label.
    pub selector: String,
}

/// The form, as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementForm {
    /// The sets.
    pub sets: Vec<SetForm>,
    /// Names that are never chosen, separated by commas or spaces.
    pub exclude: String,
    /// Tolerated taints, one per line or comma: `key=value:Effect`, `key:Effect`, `key`.
    pub tolerations: String,
    /// At most this many; empty for all.
    pub number: String,
    /// At least this many; empty for any number.
    pub minimum: String,
    /// How they are spread.
    pub spread: Vec<SpreadForm>,
    /// What makes one better than another.
    pub score: Vec<ScoreForm>,
    /// `moving` chooses the best anew, whoever has the workload.
    pub moving: String,
    /// `auto` installs on clusters that match later without asking.
    pub members: String,
    /// `yes`: the text counts and not the fields.
    pub as_text: String,
    /// The placement as YAML.
    pub text: String,
}

impl PlacementForm {
    /// The form of a new workload: one set, nothing chosen.
    pub fn begin() -> Self {
        Self { sets: vec![SetForm::default()], ..Self::default() }
    }

    /// The form that shows this placement. One that the fields can't hold is shown as text.
    pub fn of(placement: &Placement) -> Self {
        let fields = Self::fields_of(placement);
        let text = in_yaml(placement);
        match fields.placement() {
            Ok(read) if read == *placement => Self { text, ..fields },
            _ => Self { as_text: "yes".to_owned(), text, ..Self::begin() },
        }
    }

    fn fields_of(placement: &Placement) -> Self {
        let number = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
        let spread = |spread: &Spread| SpreadForm {
            key: spread.key.clone(),
            skew: spread.max_skew.to_string(),
            groups: number(spread.min_groups),
            when: if spread.is_strict() { String::new() } else { "anyway".to_owned() },
        };
        let score = |score: &Score| ScoreForm {
            name: score.name,
            weight: score.weight.to_string(),
            selector: score.selector.to_string(),
        };
        let mut sets: Vec<SetForm> = placement.predicates.iter().map(SetForm::of).collect();
        if sets.is_empty() {
            sets.push(SetForm::default());
        }
        Self {
            sets,
            exclude: placement.exclude.join(", "),
            tolerations: placement.tolerations.iter().map(text::written).collect::<Vec<_>>().join(", "),
            number: number(placement.number_of_clusters),
            minimum: number(placement.min_clusters),
            spread: placement.spread.iter().map(spread).collect(),
            score: placement.score.iter().map(score).collect(),
            moving: if placement.sticky { String::new() } else { "moving".to_owned() },
            members: match placement.new_members {
                NewMembers::Auto => "auto".to_owned(),
                NewMembers::Manual => String::new(),
            },
            ..Self::default()
        }
    }

    /// The form as an address carries it: how "Try it" works without script. `None` when the address has no form.
    pub fn from_query(query: &ParamsMap) -> Option<Self> {
        let get = |name: &str| query.get(&format!("placement{name}")).unwrap_or_default();
        let rows = |name: &str, first: &str| {
            (0_usize..50)
                .take_while(|at| query.get(&format!("placement[{name}][{at}][{first}]")).is_some())
                .count()
        };
        let set = |at: usize| {
            let part = |name: &str| get(&format!("[sets][{at}][{name}]"));
            let list =
                |name: &str| query.get_all(&format!("placement[sets][{at}][{name}][]")).unwrap_or_default();
            SetForm {
                by: By::from_slug(&part("by")).unwrap_or_default(),
                names: list("names"),
                more: part("more"),
                groups: list("groups"),
                selector: part("selector"),
                facts: part("facts"),
            }
        };
        let spread = |at: usize| {
            let part = |name: &str| get(&format!("[spread][{at}][{name}]"));
            SpreadForm { key: part("key"), skew: part("skew"), groups: part("groups"), when: part("when") }
        };
        let score = |at: usize| {
            let part = |name: &str| get(&format!("[score][{at}][{name}]"));
            let name = ScoreName::ALL.into_iter().find(|score| score.name() == part("name"));
            ScoreForm { name: name.unwrap_or_default(), weight: part("weight"), selector: part("selector") }
        };
        let sets: Vec<SetForm> = (0..rows("sets", "by")).map(set).collect();
        (!sets.is_empty()).then(|| Self {
            sets,
            exclude: get("[exclude]"),
            tolerations: get("[tolerations]"),
            number: get("[number]"),
            minimum: get("[minimum]"),
            spread: (0..rows("spread", "key")).map(spread).collect(),
            score: (0..rows("score", "name")).map(score).collect(),
            moving: get("[moving]"),
            members: get("[members]"),
            as_text: get("[as_text]"),
            text: get("[text]"),
        })
    }

    /// The placement, or every field that can't be read.
    pub fn placement(&self) -> Result<Placement, Vec<Finding>> {
        if self.as_text == "yes" {
            return text::read(&self.text);
        }
        let mut wrong = Vec::new();
        let sets = self.sets.iter().enumerate();
        let predicates = sets.filter_map(|(at, set)| set.predicate(at, &mut wrong)).collect();
        let number_of_clusters = number("number", &self.number, &mut wrong);
        let min_clusters = number("minimum", &self.minimum, &mut wrong);
        let tolerations = words(&self.tolerations)
            .filter_map(|word| text::toleration(word).map_err(|finding| wrong.push(finding)).ok())
            .collect();
        let placement = Placement {
            predicates,
            exclude: words(&self.exclude).map(str::to_owned).collect(),
            tolerations,
            number_of_clusters,
            min_clusters,
            score: self.scores(&mut wrong),
            spread: self.spreads(&mut wrong),
            sticky: self.moving != "moving",
            new_members: if self.members == "auto" { NewMembers::Auto } else { NewMembers::Manual },
        };
        if wrong.is_empty() { Ok(placement) } else { Err(wrong) }
    }

    fn spreads(&self, wrong: &mut Vec<Finding>) -> Vec<Spread> {
        let rows = self.spread.iter().enumerate().filter(|(_, row)| !row.key.trim().is_empty());
        let spread = |(at, row): (usize, &SpreadForm)| Spread {
            key: row.key.trim().to_owned(),
            max_skew: number(&format!("spread/{at}/skew"), &row.skew, wrong).unwrap_or(1),
            when_unsatisfiable: match row.when.as_str() {
                "anyway" => WhenUnsatisfiable::ScheduleAnyway,
                _ => WhenUnsatisfiable::DoNotSchedule,
            },
            min_groups: number(&format!("spread/{at}/groups"), &row.groups, wrong),
        };
        rows.map(spread).collect()
    }

    fn scores(&self, wrong: &mut Vec<Finding>) -> Vec<Score> {
        let rows = self.score.iter().enumerate().filter(|(_, row)| !row.weight.trim().is_empty());
        let mut scores = Vec::new();
        for (at, row) in rows {
            let weight = row.weight.trim().parse();
            let selector = row.selector.parse();
            match (weight, selector) {
                (Ok(weight), Ok(selector)) => scores.push(Score { name: row.name, selector, weight }),
                (Err(_), _) => wrong.push(field(
                    &format!("score/{at}/weight"),
                    format!("{:?} is no weight.", row.weight),
                    "Write a whole number from -10 to 10.",
                )),
                (_, Err(error)) => {
                    wrong.push(field(&format!("score/{at}/selector"), error, "Write it as tier=edge."));
                }
            }
        }
        scores
    }

    /// What is wrong, by field.
    pub fn wrong(&self) -> BTreeMap<String, Finding> {
        let findings = self.placement().err().unwrap_or_default();
        findings.into_iter().map(|finding| (finding.path.clone(), finding)).collect()
    }
}

fn number(name: &str, text: &str, wrong: &mut Vec<Finding>) -> Option<u32> {
    let text = text.trim();
    match text.parse::<u32>() {
        _ if text.is_empty() => None,
        Ok(n) if n > 0 => Some(n),
        _ => {
            wrong.push(field(
                name,
                format!("{text:?} is not a number of clusters."),
                "Write 1 or more, or leave it empty.",
            ));
            None
        }
    }
}

fn field(name: &str, message: impl ToString, hint: &str) -> Finding {
    Finding::error("G502", message.to_string(), hint).at(format!("/placement/{name}"))
}

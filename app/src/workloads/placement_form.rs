//! Placement as a form: three ways to choose, exclusions, tolerations, a number. Pure; the same in browser and server.

use domain::Finding;
use domain::cluster::TaintEffect;
use domain::placement::{NewMembers, Placement, Predicate, Toleration, TolerationOperator};
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::words;

/// How clusters are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// By name.
    #[default]
    Names,
    /// By labels.
    Labels,
    /// Every cluster.
    All,
}

impl By {
    /// All of them, in the order shown.
    pub const ALL: [Self; 3] = [Self::Names, Self::Labels, Self::All];

    /// The word in the form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Labels => "labels",
            Self::All => "all",
        }
    }

    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Names => "Name",
            Self::Labels => "Labels",
            Self::All => "All clusters",
        }
    }

    /// The way with this slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.slug() == slug)
    }
}

/// The form, as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementForm {
    /// How clusters are chosen.
    pub by: By,
    /// Their names.
    pub names: Vec<String>,
    /// Or their labels, as `kubectl -l` takes them.
    pub selector: String,
    /// Names that are never chosen, separated by commas or spaces.
    pub exclude: String,
    /// Tolerated taints, one per line or comma: `key=value:Effect`, `key:Effect`, `key`.
    pub tolerations: String,
    /// At most this many; empty for all.
    pub number: String,
    /// `auto` installs on clusters that match later without asking.
    pub members: String,
}

impl PlacementForm {
    /// The form that shows this placement; `None` when it says more than a form can.
    pub fn of(placement: &Placement) -> Option<Self> {
        let (by, names, selector) = match placement.predicates.as_slice() {
            [] => (By::Names, Vec::new(), String::new()),
            [one] if !one.groups.is_empty() => return None,
            [one] => match (one.names.is_empty(), one.label_selector.is_empty()) {
                (true, true) => (By::All, Vec::new(), String::new()),
                (false, true) => (By::Names, one.names.clone(), String::new()),
                (true, false) => (By::Labels, Vec::new(), one.label_selector.to_string()),
                (false, false) => return None,
            },
            _ => return None,
        };
        Some(Self {
            by,
            names,
            selector,
            exclude: placement.exclude.join(", "),
            tolerations: placement.tolerations.iter().map(written).collect::<Vec<_>>().join(", "),
            number: placement.number_of_clusters.map(|n| n.to_string()).unwrap_or_default(),
            members: if placement.new_members == NewMembers::Auto {
                "auto".to_owned()
            } else {
                String::new()
            },
        })
    }

    /// The form as an address carries it: how "Try it" works without script. `None` when the address has no form.
    pub fn from_query(query: &ParamsMap) -> Option<Self> {
        let get = |name: &str| query.get(&format!("placement[{name}]")).unwrap_or_default();
        let by = By::from_slug(&get("by"))?;
        Some(Self {
            by,
            names: query.get_all("placement[names][]").unwrap_or_default(),
            selector: get("selector"),
            exclude: get("exclude"),
            tolerations: get("tolerations"),
            number: get("number"),
            members: get("members"),
        })
    }

    /// The placement, or every field that can't be read.
    pub fn placement(&self) -> Result<Placement, Vec<Finding>> {
        let mut wrong = Vec::new();
        let predicates = match self.by {
            By::Names if self.names.is_empty() => Vec::new(),
            By::Names => vec![Predicate { names: self.names.clone(), ..Predicate::default() }],
            By::All => vec![Predicate::default()],
            By::Labels => self.labelled(&mut wrong),
        };
        let number = self.number.trim();
        let number_of_clusters = match number.parse::<u32>() {
            _ if number.is_empty() => None,
            Ok(n) if n > 0 => Some(n),
            _ => {
                wrong.push(field(
                    "number",
                    format!("{number:?} is not a number of clusters."),
                    "Write 1 or more, or leave it empty for all.",
                ));
                None
            }
        };
        let tolerations = words(&self.tolerations)
            .filter_map(|word| toleration(word).map_err(|finding| wrong.push(finding)).ok())
            .collect();
        let new_members = if self.members == "auto" { NewMembers::Auto } else { NewMembers::Manual };
        let exclude = words(&self.exclude).map(str::to_owned).collect();
        let placement = Placement { predicates, exclude, tolerations, number_of_clusters, new_members };
        if wrong.is_empty() { Ok(placement) } else { Err(wrong) }
    }

    /// An empty selector would match everything: that is what "All clusters" is for.
    fn labelled(&self, wrong: &mut Vec<Finding>) -> Vec<Predicate> {
        if self.selector.trim().is_empty() {
            return Vec::new();
        }
        match self.selector.parse() {
            Ok(label_selector) => vec![Predicate { label_selector, ..Predicate::default() }],
            Err(error) => {
                wrong.push(field("selector", error, "Write it as env=prod,region in (eu,us),!legacy."));
                Vec::new()
            }
        }
    }
}

fn field(name: &str, message: impl ToString, hint: &str) -> Finding {
    Finding::error("G502", message.to_string(), hint).at(format!("/placement/{name}"))
}

const EFFECTS: [(TaintEffect, &str); 3] = [
    (TaintEffect::NoSelect, "NoSelect"),
    (TaintEffect::PreferNoSelect, "PreferNoSelect"),
    (TaintEffect::NoSelectIfNew, "NoSelectIfNew"),
];

/// The word of an effect.
pub fn effect_word(effect: TaintEffect) -> &'static str {
    EFFECTS.into_iter().find(|(e, _)| *e == effect).map_or("", |(_, word)| word)
}

/// The effect with this word.
pub fn effect(word: &str) -> Option<TaintEffect> {
    EFFECTS.into_iter().find(|(_, w)| *w == word).map(|(effect, _)| effect)
}

fn toleration(text: &str) -> Result<Toleration, Finding> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, word)) => {
            let why = || {
                field(
                    "tolerations",
                    format!("{word:?} is no taint effect."),
                    "Write NoSelect, PreferNoSelect or NoSelectIfNew.",
                )
            };
            (rest, Some(effect(word).ok_or_else(why)?))
        }
        None => (text, None),
    };
    Ok(match rest.split_once('=') {
        Some((key, value)) => Toleration {
            key: key.to_owned(),
            operator: TolerationOperator::Equal,
            value: value.to_owned(),
            effect,
        },
        None => {
            let key = if rest == "*" { String::new() } else { rest.to_owned() };
            Toleration { key, operator: TolerationOperator::Exists, value: String::new(), effect }
        }
    })
}

fn written(toleration: &Toleration) -> String {
    let key = if toleration.key.is_empty() { "*" } else { &toleration.key };
    let value = match toleration.operator {
        TolerationOperator::Equal => format!("={}", toleration.value),
        TolerationOperator::Exists => String::new(),
    };
    let effect = toleration.effect.map(|effect| format!(":{}", effect_word(effect))).unwrap_or_default();
    format!("{key}{value}{effect}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(by: By) -> PlacementForm {
        PlacementForm { by, ..PlacementForm::default() }
    }

    #[test]
    fn a_placement_reads_back_as_the_form_that_wrote_it() {
        let form = PlacementForm {
            by: By::Labels,
            selector: "env=prod,region in (eu,us)".into(),
            exclude: "edge-1, edge-2".into(),
            tolerations: "spot=true:PreferNoSelect, maintenance, *:NoSelect".into(),
            number: "3".into(),
            members: "auto".into(),
            ..PlacementForm::default()
        };
        assert_eq!(PlacementForm::of(&form.placement().unwrap()), Some(form));
    }

    #[test]
    fn nothing_typed_places_nowhere() {
        assert_eq!(form(By::Names).placement().unwrap().predicates, []);
        assert_eq!(form(By::Labels).placement().unwrap().predicates, []);
        assert_eq!(form(By::All).placement().unwrap().predicates, [Predicate::default()]);
    }

    #[test]
    fn g502_every_field_that_cannot_be_read_is_named() {
        let form = PlacementForm {
            selector: "env=pro d".into(),
            number: "0".into(),
            tolerations: "a:Never".into(),
            ..form(By::Labels)
        };
        let paths: Vec<String> =
            form.placement().unwrap_err().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["/placement/selector", "/placement/number", "/placement/tolerations"]);
    }

    #[test]
    fn a_placement_that_says_more_than_a_form_can_is_left_alone() {
        let groups = Predicate { groups: vec!["edge".into()], ..Predicate::default() };
        let placement = Placement { predicates: vec![groups], ..Placement::default() };
        assert_eq!(PlacementForm::of(&placement), None);
    }
}

//! Taints of clusters.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::labels;
use crate::text::finding::Finding;

/// The most taints of one cluster.
pub const MAX_TAINTS: usize = 50;

/// The effect of a taint on placements that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TaintEffect {
    /// The cluster is not selected; an existing selection ends.
    NoSelect,
    /// The cluster is selected only when no better one matches.
    PreferNoSelect,
    /// The cluster is not newly selected; an existing selection stays.
    NoSelectIfNew,
}

impl TaintEffect {
    /// All effects.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The effect of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effect| effect.as_str() == name)
    }

    /// What it does, in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoSelect => "Workloads that do not tolerate it leave the cluster.",
            Self::PreferNoSelect => "The cluster is selected only when no better one matches.",
            Self::NoSelectIfNew => "No other workload is placed on the cluster; those on it stay.",
        }
    }
}

/// A taint of a cluster, which repels workloads that do not tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Label-like key.
    pub key: String,
    /// Value, may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Its effect.
    pub effect: TaintEffect,
}

/// `key=value:NoSelect`, the notation of `kubectl`.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.value.is_empty() { String::new() } else { format!("={}", self.value) };
        write!(f, "{}{value}:{}", self.key, self.effect.as_str())
    }
}

/// Checks taints that a user enters (G111, G215).
pub fn check_taints(taints: &[Taint]) -> Vec<Finding> {
    let shorten = |text: &str| text.chars().take(80).collect::<String>();
    let invalid = taints.iter().filter_map(|taint| {
        let (what, text) = match taint {
            taint if !labels::is_label_key(&taint.key) => ("key", &taint.key),
            taint if !labels::is_label_value(&taint.value) => ("value", &taint.value),
            _ => return None,
        };
        let message = format!("{:?} is not the {what} of a taint.", shorten(text));
        let hint = "Use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, as in a label.";
        Some(Finding::error("G215", message, hint))
    });
    let twice = taints.iter().enumerate().filter_map(|(at, taint)| {
        let is_same = |other: &&Taint| (&other.key, other.effect) == (&taint.key, taint.effect);
        taints[..at].iter().find(is_same)?;
        let message = format!(
            "The taint {:?} with the effect {} is set twice.",
            shorten(&taint.key),
            taint.effect.as_str()
        );
        Some(Finding::error("G215", message, "Set each key once for each effect."))
    });
    let too_many = (taints.len() > MAX_TAINTS).then(|| {
        let message = format!("The cluster has {} taints; the limit is {MAX_TAINTS}.", taints.len());
        Finding::error("G111", message, "Keep only those that workloads tolerate.")
    });
    // The first ones: a list of thousands would have as many findings.
    invalid.take(10).chain(twice.take(10)).chain(too_many).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g215_a_taint_has_the_key_and_the_value_of_a_label_once_for_each_effect() {
        let taint = |key: &str, value: &str, effect| Taint { key: key.into(), value: value.into(), effect };
        let good = [
            taint("example.com/gpu", "", TaintEffect::NoSelect),
            taint("example.com/gpu", "", TaintEffect::PreferNoSelect),
            taint("tier", "gold", TaintEffect::NoSelectIfNew),
        ];
        assert_eq!(check_taints(&good), []);
        let twice = [taint("a", "1", TaintEffect::NoSelect), taint("a", "2", TaintEffect::NoSelect)];
        for wrong in [
            &[taint("", "x", TaintEffect::NoSelect)][..],
            &[taint("a", "b c", TaintEffect::NoSelect)],
            &twice,
        ] {
            assert_eq!(
                check_taints(wrong).iter().map(|found| &*found.code).collect::<Vec<_>>(),
                ["G215"],
                "{wrong:?}"
            );
        }
        let many =
            |n: usize| (0..n).map(|n| taint(&format!("k{n}"), "", TaintEffect::NoSelect)).collect::<Vec<_>>();
        assert_eq!(check_taints(&many(MAX_TAINTS)), []);
        assert_eq!(check_taints(&many(MAX_TAINTS + 1))[0].code, "G111");
    }

    #[test]
    fn an_effect_is_parsed_from_its_name() {
        for &effect in TaintEffect::ALL {
            assert_eq!(TaintEffect::parse(effect.as_str()), Some(effect));
        }
        assert_eq!(TaintEffect::parse("NoSchedule"), None);
    }
}

//! Taints and tolerations, with the semantics Kubernetes has for nodes.

use super::remedy::listed;
use super::{Step, StepResult, Toleration, TolerationOperator};
use crate::cluster::{Cluster, Taint, TaintEffect};

impl Toleration {
    /// Whether it makes the taint count for nothing. `Equal` without a key is no toleration at all (G502).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        let matched = match self.operator {
            TolerationOperator::Exists => self.key.is_empty() || self.key == taint.key,
            TolerationOperator::Equal => {
                !self.key.is_empty() && (&self.key, &self.value) == (&taint.key, &taint.value)
            }
        };
        effect && matched
    }
}

/// What the taints of one cluster say.
pub(super) struct Tainted {
    /// The step's result.
    pub result: StepResult,
    /// Number of taints that keep the workload away.
    pub refusing: u32,
    /// Taints that make the cluster the last choice.
    pub last_choice: Vec<String>,
}

/// The third step: is every taint tolerated, or harmless for a cluster that has the workload already?
pub(super) fn step(tolerations: &[Toleration], cluster: &Cluster, is_current: bool) -> Tainted {
    let mut seen = Vec::new();
    let mut refusing = Vec::new();
    let mut last_choice = Vec::new();
    for taint in &cluster.taints {
        let text = text(taint);
        let tolerated = tolerations.iter().any(|toleration| toleration.tolerates(taint));
        match (tolerated, taint.effect) {
            (true, _) => seen.push(format!("{text}, tolerated")),
            (false, TaintEffect::PreferNoSelect) => {
                seen.push(format!("{text}, last choice"));
                last_choice.push(text);
            }
            (false, TaintEffect::NoSelectIfNew) if is_current => {
                seen.push(format!("{text}, but it has the workload already"));
            }
            (false, TaintEffect::NoSelectIfNew | TaintEffect::NoSelect) => refusing.push(text),
        }
    }
    let remedy = match refusing.len() {
        0 => String::new(),
        1 => format!("tolerate {}, or remove the taint from {}", refusing[0], cluster.name),
        _ => format!("tolerate {}, or remove these taints from {}", listed(&refusing, "and"), cluster.name),
    };
    let result = StepResult {
        step: Step::Taint,
        passed: refusing.is_empty(),
        asked: "no taint that is not tolerated".to_owned(),
        seen: match (&refusing[..], &seen[..]) {
            ([], []) => "no taints".to_owned(),
            ([], _) => listed(&seen, "and"),
            _ => listed(&refusing, "and"),
        },
        remedy,
    };
    Tainted { result, refusing: u32::try_from(refusing.len()).unwrap_or(u32::MAX), last_choice }
}

/// `key=value:Effect`, as `kubectl` writes taints.
fn text(taint: &Taint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSelect => "NoSelect",
        TaintEffect::PreferNoSelect => "PreferNoSelect",
        TaintEffect::NoSelectIfNew => "NoSelectIfNew",
    };
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{effect}", taint.key)
}

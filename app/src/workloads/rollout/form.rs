//! A rollout as a form. Pure; the same in browser and server.
//!
//! The form can represent every rollout of the API, also invalid ones: the guard rails report those. Blank rows are ignored, so
//! a spare row can be rendered for browsers without JavaScript.

use std::collections::BTreeMap;

use domain::Finding;
use domain::labels::LabelSelector;
use domain::overrides::ClusterSelector;
use domain::placement::{FACTS_HINT, FactSelector};
use domain::rollout::{
    Approver, CountOrPercent, OnFailure, RolloutStrategy, RolloutWindow, TimeSpan, Wave, Weekday,
    at_once_waves, check,
};
use serde::{Deserialize, Serialize};

use crate::components::split_words;

/// The input of one wave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaveForm {
    /// Its name.
    pub name: String,
    /// Clusters by name, separated by commas or spaces.
    pub clusters: String,
    /// Groups by name.
    pub groups: String,
    /// Labels of clusters.
    pub selector: String,
    /// Confirmed facts of clusters.
    pub facts: String,
    /// Most clusters of the wave; empty for all.
    pub max_clusters: String,
    /// Most concurrent clusters; empty for all.
    pub concurrency: String,
    /// Most failing clusters; empty for none.
    pub failures: String,
    /// Most deferred clusters; empty for the default.
    pub deferred: String,
    /// The soak time.
    pub soak: String,
    /// `yes` if it needs approval.
    pub approval: String,
    /// `yes` if its result needs approval.
    pub approval_after: String,
}

impl WaveForm {
    fn from_wave(wave: &Wave) -> Self {
        let amount =
            |amount: &Option<CountOrPercent>| amount.as_ref().map(ToString::to_string).unwrap_or_default();
        Self {
            name: wave.name.clone(),
            clusters: wave.target.clusters.join(", "),
            groups: wave.target.groups.join(", "),
            // The empty selector and an empty target both match every cluster.
            selector: wave.target.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            facts: wave.target.field_selector.to_string(),
            max_clusters: amount(&wave.max_clusters),
            concurrency: amount(&wave.max_concurrency),
            failures: amount(&wave.max_failures),
            deferred: amount(&wave.max_deferred),
            soak: wave.soak.as_ref().map(ToString::to_string).unwrap_or_default(),
            approval: tick(wave.approval),
            approval_after: tick(wave.approval_after),
        }
    }

    /// Whether the row has no input.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    fn parse(&self) -> Result<Wave, InvalidWaveField> {
        let selector = match self.selector.trim() {
            "" => None,
            text => Some(text.parse::<LabelSelector>().map_err(|error| InvalidWaveField {
                key: "selector",
                message: error.to_string(),
                hint: "Write it as env=prod,region in (eu,us),!legacy.",
            })?),
        };
        let field_selector = self.facts.parse::<FactSelector>().map_err(|error| InvalidWaveField {
            key: "facts",
            message: error.to_string(),
            hint: FACTS_HINT,
        })?;
        let list = |text: &str| split_words(text).map(str::to_owned).collect();
        Ok(Wave {
            name: self.name.trim().to_owned(),
            target: ClusterSelector {
                clusters: list(&self.clusters),
                groups: list(&self.groups),
                selector,
                field_selector,
            },
            max_clusters: parse_optional(&self.max_clusters),
            max_concurrency: parse_optional(&self.concurrency),
            max_failures: parse_optional(&self.failures),
            max_deferred: parse_optional(&self.deferred),
            soak: parse_optional(&self.soak),
            approval: self.approval == "yes",
            approval_after: self.approval_after == "yes",
        })
    }
}

/// A selector of a wave that can't be parsed.
struct InvalidWaveField {
    /// Its field.
    key: &'static str,
    message: String,
    hint: &'static str,
}

/// The value of a checkbox.
fn tick(is_on: bool) -> String {
    if is_on { "yes".to_owned() } else { String::new() }
}

/// Parses a value; `None` if it is blank or invalid.
fn parse_optional<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.trim().is_empty() { None } else { text.parse().ok() }
}

/// One cluster, then 25% of them, then the rest with 25% of it concurrent.
fn canary_waves() -> Vec<WaveForm> {
    let wave = |name: &str, max_clusters: &str, concurrency: &str, soak: &str| WaveForm {
        name: name.to_owned(),
        max_clusters: max_clusters.to_owned(),
        concurrency: concurrency.to_owned(),
        soak: soak.to_owned(),
        ..WaveForm::default()
    };
    vec![wave("canary", "1", "", "10m"), wave("early", "25%", "", "10m"), wave("rest", "", "25%", "")]
}

/// The input of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolloutForm {
    /// The waves.
    pub waves: Vec<WaveForm>,
    /// How long a cluster may fail before it counts as failed.
    pub fail_after: String,
    /// Weekdays on which the window opens.
    pub days: Vec<String>,
    /// Start of the window, such as `22:00`; empty for no window.
    pub from: String,
    /// End of the window.
    pub to: String,
    /// Offset from UTC, such as `+01:00`.
    pub offset: String,
    /// `yes` if the user who publishes may not approve.
    pub approver: String,
    /// What happens when clusters fail: the name of an [`OnFailure`], or empty for the default.
    pub on_failure: String,
}

/// Waves to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutPreset {
    /// No waves.
    AtOnce,
    /// One cluster first.
    Canary,
}

impl RolloutPreset {
    /// The value in a form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at-once",
            Self::Canary => "canary",
        }
    }

    /// Parses the value of a form.
    #[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::AtOnce, Self::Canary].into_iter().find(|preset| preset.as_str() == text)
    }

    /// Replaces the waves of a form.
    pub fn apply(self, form: &mut RolloutForm) {
        form.waves = match self {
            Self::AtOnce => Vec::new(),
            Self::Canary => canary_waves(),
        };
    }
}

impl RolloutForm {
    /// The form of a rollout, with a spare row.
    pub fn from_strategy(strategy: &RolloutStrategy) -> Self {
        let window = strategy.window.clone().unwrap_or_default();
        // The wave of a rollback without waves is none of the user.
        let own: &[Wave] = if strategy.has_only_rollback() { &[] } else { &strategy.waves };
        let mut waves: Vec<WaveForm> = own.iter().map(WaveForm::from_wave).collect();
        waves.push(WaveForm::default());
        Self {
            waves,
            fail_after: strategy.fail_after.as_ref().map(ToString::to_string).unwrap_or_default(),
            days: window.days.iter().map(|day| day.as_str().to_owned()).collect(),
            from: window.from,
            to: window.to,
            offset: window.utc_offset,
            approver: tick(!strategy.approver.is_anyone()),
            on_failure: match strategy.on_failure {
                OnFailure::Pause => String::new(),
                other => other.as_str().to_owned(),
            },
        }
    }

    /// The preset whose waves the form has; `None` for other waves.
    pub fn preset(&self) -> Option<RolloutPreset> {
        let mut waves = self.waves.iter().filter(|row| !row.is_blank()).peekable();
        match waves.peek() {
            None => Some(RolloutPreset::AtOnce),
            Some(_) => waves.eq(&canary_waves()).then_some(RolloutPreset::Canary),
        }
    }

    /// Parses the form. Returns the rollout and the row of each wave. Errors: a finding for each invalid selector.
    pub fn parse(&self) -> Result<(RolloutStrategy, Vec<usize>), Vec<Finding>> {
        let (mut wrong, mut waves, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (at, row) in self.waves.iter().enumerate().filter(|(_, row)| !row.is_blank()) {
            match row.parse() {
                Ok(wave) => {
                    waves.push(wave);
                    rows.push(at);
                }
                Err(InvalidWaveField { key, message, hint }) => {
                    let path = format!("/rollout/waves/{at}/{key}");
                    wrong.push(Finding::error("G511", message, hint).with_path(path));
                }
            }
        }
        let all_day = self.from.trim().is_empty() && self.to.trim().is_empty();
        let (from, to) = if all_day { ("00:00", "24:00") } else { (self.from.trim(), self.to.trim()) };
        let windowed = !all_day || !self.days.is_empty();
        let day = |day: &Weekday| self.days.iter().any(|one| one == day.as_str());
        let window = windowed.then(|| RolloutWindow {
            days: Weekday::ALL.iter().copied().filter(day).collect(),
            from: from.to_owned(),
            to: to.to_owned(),
            utc_offset: self.offset.trim().to_owned(),
        });
        let fail_after: Option<TimeSpan> = parse_optional(&self.fail_after);
        let approver = if self.approver == "yes" { Approver::AnotherUser } else { Approver::Anyone };
        let on_failure = OnFailure::ALL.iter().copied().find(|one| one.as_str() == self.on_failure);
        let on_failure = on_failure.unwrap_or_default();
        if on_failure == OnFailure::RollbackCluster && waves.is_empty() {
            waves = at_once_waves();
        }
        let strategy = RolloutStrategy { waves, fail_after, window, on_failure, approver };
        if wrong.is_empty() { Ok((strategy, rows)) } else { Err(wrong) }
    }

    /// Findings of the guard rails without cluster data, with the paths of this form's fields.
    pub fn findings(&self) -> Vec<Finding> {
        match self.parse() {
            Ok((strategy, rows)) => map_to_fields(check(&strategy), &rows),
            Err(findings) => findings,
        }
    }
}

/// Replaces the paths of findings about a rollout by the paths of the form's fields.
pub fn map_to_fields(findings: Vec<Finding>, rows: &[usize]) -> Vec<Finding> {
    findings
        .into_iter()
        .map(|finding| {
            let path = field_path(&finding.path, rows);
            finding.with_path(path)
        })
        .collect()
}

fn field_path(path: &str, rows: &[usize]) -> String {
    let Some(rest) = path.strip_prefix("/rollout/") else { return path.to_owned() };
    if let Some(wave) = rest.strip_prefix("waves/") {
        let Some((at, part)) = wave.split_once('/') else { return path.to_owned() };
        let row = at.parse().ok().and_then(|at: usize| rows.get(at)).copied().unwrap_or_default();
        let part = match part {
            "maxConcurrency" => "concurrency",
            "maxFailures" => "failures",
            "maxDeferred" => "deferred",
            "approvalAfter" => "approval_after",
            "target" => "clusters",
            other => other,
        };
        return format!("/rollout/waves/{row}/{part}");
    }
    let part = match rest {
        "failAfter" => "fail_after",
        "onFailure" => "on_failure",
        "window/from" => "from",
        "window/to" => "to",
        "window/utcOffset" => "offset",
        other => other,
    };
    format!("/rollout/{part}")
}

/// Findings by path of the field.
pub fn findings_by_field(findings: &[Finding]) -> BTreeMap<String, Finding> {
    // The first finding of a field is the worst and replaces the others.
    findings.iter().rev().map(|finding| (finding.path.clone(), finding.clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rollout_round_trips_through_its_form() {
        let strategy: RolloutStrategy = serde_json::from_value(json!({
            "waves": [
                { "name": "canary", "target": { "clusters": ["a", "b"], "selector": "ring=canary" }, "soak": "10m" },
                { "name": "eu", "target": { "groups": ["eu"], "fieldSelector": "provider=aws" }, "maxClusters": "25%", "maxConcurrency": 2, "approval": true, "approvalAfter": true },
                { "name": "rest", "maxFailures": "ten", "maxDeferred": "10%" },
            ],
            "failAfter": "90s",
            "window": { "days": ["mon", "fri"], "from": "22:00", "to": "04:00", "utcOffset": "+01:00" },
            "approver": "anotherUser",
            "onFailure": "rollbackWave",
        }))
        .unwrap();
        let (read, rows) = RolloutForm::from_strategy(&strategy).parse().unwrap();
        assert_eq!((read, rows), (strategy, vec![0, 1, 2]));
        let nothing = RolloutForm::from_strategy(&RolloutStrategy::default());
        assert_eq!(nothing.parse().unwrap().0, RolloutStrategy::default());
    }

    #[test]
    fn a_rollback_without_waves_is_a_form_without_waves() {
        let mut strategy = RolloutStrategy::default();
        strategy.set_cluster_rollback(true);
        let form = RolloutForm::from_strategy(&strategy);
        assert_eq!(
            (form.preset(), form.on_failure.as_str()),
            (Some(RolloutPreset::AtOnce), "rollbackCluster")
        );
        assert_eq!(form.findings(), []);
        assert_eq!(form.parse().unwrap().0, strategy);
        let paused = RolloutForm { on_failure: String::new(), ..form };
        assert_eq!(paused.parse().unwrap().0, RolloutStrategy::default());
    }

    #[test]
    fn days_without_times_are_whole_days() {
        let form = RolloutForm { days: vec!["mon".to_owned()], ..canary_form() };
        let window = form.parse().unwrap().0.window.unwrap();
        assert_eq!((window.from.as_str(), window.to.as_str(), window.days.len()), ("00:00", "24:00", 1));
    }

    fn canary_form() -> RolloutForm {
        let mut form = RolloutForm::default();
        RolloutPreset::Canary.apply(&mut form);
        form
    }

    #[test]
    fn the_canary_preset_has_no_findings_and_keeps_the_window() {
        assert_eq!(canary_form().findings(), []);
        let mut form = RolloutForm { from: "22:00".to_owned(), to: "04:00".to_owned(), ..canary_form() };
        assert_eq!(form.preset(), Some(RolloutPreset::Canary));
        RolloutPreset::AtOnce.apply(&mut form);
        assert_eq!((form.preset(), &*form.from), (Some(RolloutPreset::AtOnce), "22:00"));
        form.waves.push(WaveForm { name: "own".to_owned(), ..WaveForm::default() });
        assert_eq!(form.preset(), None);
    }

    #[test]
    fn a_finding_has_the_path_of_its_row_also_after_blank_rows() {
        let mut form = canary_form();
        form.waves.insert(1, WaveForm::default());
        form.waves[2].concurrency = "many".to_owned();
        form.from = "22:00".to_owned();
        let fields = findings_by_field(&form.findings());
        assert_eq!(
            fields.keys().map(String::as_str).collect::<Vec<_>>(),
            ["/rollout/to", "/rollout/waves/2/concurrency"]
        );
        form.waves[0].selector = "env in".to_owned();
        assert_eq!(form.findings()[0].path, "/rollout/waves/0/selector");
        form.waves[0].selector.clear();
        form.waves[0].facts = "cloud=aws".to_owned();
        assert_eq!(form.findings()[0].path, "/rollout/waves/0/facts");
    }
}

//! A rollout as a form. Pure; the same in browser and server.
//!
//! The form holds every rollout that the API can hold, also what can't be read: the guard rails say so. A row that is left
//! blank says nothing, so there is always a spare one for those who have no script.

use std::collections::BTreeMap;

use domain::Finding;
use domain::labels::Selector;
use domain::overrides::Target;
use domain::rollout::{Amount, RolloutStrategy, Span, Wave, Weekday, Window, check};
use serde::{Deserialize, Serialize};

use crate::components::words;

/// One wave, as it is typed.
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
    /// At most so many of them; empty for all.
    pub take: String,
    /// So many at a time; empty for all.
    pub concurrency: String,
    /// So many may fail; empty for none.
    pub failures: String,
    /// How long it is watched.
    pub soak: String,
    /// `yes`: somebody has to approve it.
    pub approval: String,
}

impl WaveForm {
    fn of(wave: &Wave) -> Self {
        let amount = |amount: &Option<Amount>| amount.as_ref().map(ToString::to_string).unwrap_or_default();
        Self {
            name: wave.name.clone(),
            clusters: wave.target.clusters.join(", "),
            groups: wave.target.groups.join(", "),
            // The selector that matches everything is what an empty target says too.
            selector: wave.target.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            take: amount(&wave.take),
            concurrency: amount(&wave.max_concurrency),
            failures: amount(&wave.max_failures),
            soak: wave.soak.as_ref().map(ToString::to_string).unwrap_or_default(),
            approval: if wave.approval { "yes".to_owned() } else { String::new() },
        }
    }

    /// Whether nothing is typed.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    fn wave(&self) -> Result<Wave, domain::labels::BadSelector> {
        let list = |text: &str| words(text).map(str::to_owned).collect();
        let selector = match self.selector.trim() {
            "" => None,
            text => Some(text.parse::<Selector>()?),
        };
        Ok(Wave {
            name: self.name.trim().to_owned(),
            target: Target { clusters: list(&self.clusters), groups: list(&self.groups), selector },
            take: given(&self.take),
            max_concurrency: given(&self.concurrency),
            max_failures: given(&self.failures),
            soak: given(&self.soak),
            approval: self.approval == "yes",
        })
    }
}

/// What is typed, unless that is nothing.
fn given<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.trim().is_empty() { None } else { text.parse().ok() }
}

/// The form, as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolloutForm {
    /// The waves.
    pub waves: Vec<WaveForm>,
    /// How long a cluster may be broken before it counts.
    pub fail_after: String,
    /// Days on which the window opens.
    pub days: Vec<String>,
    /// When it opens; empty for no window.
    pub from: String,
    /// When it closes.
    pub to: String,
    /// How far that is ahead of UTC.
    pub offset: String,
}

impl RolloutForm {
    /// The form that shows this rollout, with a spare row.
    pub fn of(strategy: &RolloutStrategy) -> Self {
        let window = strategy.window.clone().unwrap_or_default();
        let mut waves: Vec<WaveForm> = strategy.waves.iter().map(WaveForm::of).collect();
        waves.push(WaveForm::default());
        Self {
            waves,
            fail_after: strategy.fail_after.as_ref().map(ToString::to_string).unwrap_or_default(),
            days: window.days.iter().map(|day| day.word().to_owned()).collect(),
            from: window.from,
            to: window.to,
            offset: window.utc_offset,
        }
    }

    /// The rollout that most begin with: one cluster, then a quarter, then the rest a quarter at a time.
    pub fn canary() -> Self {
        let wave = |name: &str, take: &str, concurrency: &str, soak: &str| WaveForm {
            name: name.to_owned(),
            take: take.to_owned(),
            concurrency: concurrency.to_owned(),
            soak: soak.to_owned(),
            ..WaveForm::default()
        };
        let waves = vec![
            wave("canary", "1", "", "10m"),
            wave("early", "25%", "", "10m"),
            wave("rest", "", "25%", ""),
        ];
        Self { waves, ..Self::default() }
    }

    /// The rollout, and which row each of its waves stands in; or what can't be read.
    pub fn strategy(&self) -> Result<(RolloutStrategy, Vec<usize>), Vec<Finding>> {
        let (mut wrong, mut waves, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (at, row) in self.waves.iter().enumerate().filter(|(_, row)| !row.is_blank()) {
            match row.wave() {
                Ok(wave) => {
                    waves.push(wave);
                    rows.push(at);
                }
                Err(error) => {
                    let hint = "Write it as env=prod,region in (eu,us),!legacy.";
                    let path = format!("/rollout/waves/{at}/selector");
                    wrong.push(Finding::error("G511", error.to_string(), hint).at(path));
                }
            }
        }
        let all_day = self.from.trim().is_empty() && self.to.trim().is_empty();
        let (from, to) = if all_day { ("00:00", "24:00") } else { (self.from.trim(), self.to.trim()) };
        let windowed = !all_day || !self.days.is_empty();
        let day = |day: &Weekday| self.days.iter().any(|one| one == day.word());
        let window = windowed.then(|| Window {
            days: Weekday::ALL.into_iter().filter(day).collect(),
            from: from.to_owned(),
            to: to.to_owned(),
            utc_offset: self.offset.trim().to_owned(),
        });
        let fail_after: Option<Span> = given(&self.fail_after);
        let strategy = RolloutStrategy { waves, fail_after, window };
        if wrong.is_empty() { Ok((strategy, rows)) } else { Err(wrong) }
    }

    /// What the guard rails say of it without any cluster, at the fields of this form.
    pub fn findings(&self) -> Vec<Finding> {
        match self.strategy() {
            Ok((strategy, rows)) => at_fields(check(&strategy), &rows),
            Err(findings) => findings,
        }
    }
}

/// Findings about a rollout, at the fields of the form that stand for what they are about.
pub fn at_fields(findings: Vec<Finding>, rows: &[usize]) -> Vec<Finding> {
    findings
        .into_iter()
        .map(|finding| {
            let path = field(&finding.path, rows);
            finding.at(path)
        })
        .collect()
}

fn field(path: &str, rows: &[usize]) -> String {
    let Some(rest) = path.strip_prefix("/rollout/") else { return path.to_owned() };
    if let Some(wave) = rest.strip_prefix("waves/") {
        let Some((at, part)) = wave.split_once('/') else { return path.to_owned() };
        let row = at.parse().ok().and_then(|at: usize| rows.get(at)).copied().unwrap_or_default();
        let part = match part {
            "maxConcurrency" => "concurrency",
            "maxFailures" => "failures",
            "target" => "clusters",
            other => other,
        };
        return format!("/rollout/waves/{row}/{part}");
    }
    let part = match rest {
        "failAfter" => "fail_after",
        "window/from" => "from",
        "window/to" => "to",
        "window/utcOffset" => "offset",
        other => other,
    };
    format!("/rollout/{part}")
}

/// By field.
pub fn by_field(findings: &[Finding]) -> BTreeMap<String, Finding> {
    // The first of a field is the worst.
    findings.iter().rev().map(|finding| (finding.path.clone(), finding.clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rollout_comes_back_from_its_form_as_it_was() {
        let strategy: RolloutStrategy = serde_json::from_value(json!({
            "waves": [
                { "name": "canary", "target": { "clusters": ["a", "b"], "selector": "ring=canary" }, "soak": "10m" },
                { "name": "eu", "target": { "groups": ["eu"] }, "take": "25%", "maxConcurrency": 2, "approval": true },
                { "name": "rest", "maxFailures": "ten" },
            ],
            "failAfter": "90s",
            "window": { "days": ["mon", "fri"], "from": "22:00", "to": "04:00", "utcOffset": "+01:00" },
        }))
        .unwrap();
        let (read, rows) = RolloutForm::of(&strategy).strategy().unwrap();
        assert_eq!((read, rows), (strategy, vec![0, 1, 2]));
        let nothing = RolloutForm::of(&RolloutStrategy::default());
        assert_eq!(nothing.strategy().unwrap().0, RolloutStrategy::default());
    }

    #[test]
    fn days_without_times_are_whole_days() {
        let form = RolloutForm { days: vec!["mon".to_owned()], ..RolloutForm::canary() };
        let window = form.strategy().unwrap().0.window.unwrap();
        assert_eq!((window.from.as_str(), window.to.as_str(), window.days.len()), ("00:00", "24:00", 1));
    }

    #[test]
    fn what_most_begin_with_is_sound() {
        assert_eq!(RolloutForm::canary().findings(), []);
    }

    #[test]
    fn a_finding_stands_at_its_field_whatever_rows_are_blank() {
        let mut form = RolloutForm::canary();
        form.waves.insert(1, WaveForm::default());
        form.waves[2].concurrency = "many".to_owned();
        form.from = "22:00".to_owned();
        let fields = by_field(&form.findings());
        assert_eq!(
            fields.keys().map(String::as_str).collect::<Vec<_>>(),
            ["/rollout/to", "/rollout/waves/2/concurrency"]
        );
        form.waves[0].selector = "env in".to_owned();
        assert_eq!(form.findings()[0].path, "/rollout/waves/0/selector");
    }
}

//! Placement flags: which clusters, how many of them, and what repels or ranks them (R-2, S3-3).

use clap::Args;
use domain::cluster::TaintEffect;
use domain::labels::LabelSelector;
use domain::placement::{
    FACTS_HINT, FactSelector, Placement, Predicate, Score, ScoreName, Spread, Toleration, TolerationOperator,
    WhenUnsatisfiable,
};

use crate::failure::Failure;

/// The placement flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Placement (the stored placement stays unless one of these is set)")]
pub struct PlacementArgs {
    /// On these clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B", conflicts_with_all = ["selector", "facts", "groups", "all_clusters"])]
    pub clusters: Option<Vec<String>>,
    /// On clusters with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR", conflicts_with = "all_clusters")]
    pub selector: Option<String>,
    /// On clusters with these facts, such as "provider in (aws,gcp),kubernetesVersion>=1.33"
    #[arg(long, value_name = "SELECTOR", conflicts_with = "all_clusters")]
    pub facts: Option<String>,
    /// On the members of these cluster groups
    #[arg(long, value_delimiter = ',', value_name = "A,B", conflicts_with = "all_clusters")]
    pub groups: Option<Vec<String>>,
    /// Also on clusters that satisfy these conditions instead, separated by semicolons: clusters, groups, selector and facts, such
    /// as "groups=edge;selector=env=prod"; may be repeated
    #[arg(long, value_name = "CONDITION=VALUE[;…]", conflicts_with = "all_clusters")]
    pub alternative: Vec<String>,
    /// On every cluster
    #[arg(long)]
    pub all_clusters: bool,
    /// Excluded clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub exclude: Option<Vec<String>>,
    /// On at most this many of the clusters that match
    #[arg(long, value_name = "N")]
    pub number: Option<u32>,
    /// On at least this many: with fewer, a publish is rejected; 0 for no minimum
    #[arg(long, value_name = "N")]
    pub min_clusters: Option<u32>,
    /// While fewer of them run the workload, no other cluster loses it; 0 for the default of all but a fifth
    #[arg(long, value_name = "N")]
    pub min_available_clusters: Option<u32>,
    /// A score that ranks them: steady, allocatableCpu or allocatableMemory=WEIGHT, or label:SELECTOR=WEIGHT; weights -10 to 10
    #[arg(long, value_name = "NAME=WEIGHT")]
    pub score: Vec<String>,
    /// Spread them evenly over region, zone, provider or the values of a label; "preferred" allows exceptions
    #[arg(long, value_name = "KEY[:MAX_SKEW][:preferred]")]
    pub spread: Vec<String>,
    /// Tolerate taints: key (any value), key=value, each with :EFFECT for one effect only
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub tolerate: Vec<String>,
}

impl PlacementArgs {
    /// Whether any flag is set.
    pub fn is_set(&self) -> bool {
        let numbers = [self.number, self.min_clusters, self.min_available_clusters];
        self.selects() || self.exclude.is_some() || numbers.iter().any(Option::is_some) || self.has_lists()
    }

    /// Whether a flag selects clusters.
    fn selects(&self) -> bool {
        self.all_clusters || self.clusters.is_some() || self.is_conditional() || !self.alternative.is_empty()
    }

    fn is_conditional(&self) -> bool {
        self.selector.is_some() || self.facts.is_some() || self.groups.is_some()
    }

    fn has_lists(&self) -> bool {
        !(self.score.is_empty() && self.spread.is_empty() && self.tolerate.is_empty())
    }

    /// Applies the flags to the stored placement. Flags that select clusters replace the whole selection, including
    /// `exclude` and the number, so that a command line always has the same result; each list is replaced by its own flag. What
    /// has no flag, such as the policy for new members, stays.
    pub fn apply_to(&self, mut there: Placement) -> Result<Placement, Failure> {
        if self.selects() {
            there.predicates = self.parse_predicates()?;
            there.exclude.clear();
            there.number_of_clusters = None;
        }
        if let Some(names) = &self.exclude {
            there.exclude = parse_names("--exclude", names)?;
        }
        if let Some(number) = self.number {
            there.number_of_clusters = Some(number);
        }
        if let Some(minimum) = self.min_clusters {
            there.min_clusters = Some(minimum).filter(|minimum| *minimum > 0);
        }
        if let Some(minimum) = self.min_available_clusters {
            there.min_available_clusters = Some(minimum).filter(|minimum| *minimum > 0);
        }
        if !self.score.is_empty() {
            there.score = self.score.iter().map(|text| parse_score(text)).collect::<Result<_, _>>()?;
        }
        if !self.spread.is_empty() {
            there.spread = self.spread.iter().map(|text| parse_spread(text)).collect::<Result<_, _>>()?;
        }
        if !self.tolerate.is_empty() {
            let tolerations = self.tolerate.iter().map(|text| parse_toleration(text));
            there.tolerations = tolerations.collect::<Result<_, _>>()?;
        }
        Ok(there)
    }

    /// All cluster names in the flags, selected or excluded.
    pub fn cluster_names(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.clusters, &self.exclude];
        lists.into_iter().flatten().flatten().map(|name| name.trim())
    }

    /// The conditions of the flags: a cluster must satisfy one of them.
    fn parse_predicates(&self) -> Result<Vec<Predicate>, Failure> {
        let is_set = self.all_clusters || self.clusters.is_some() || self.is_conditional();
        let first = is_set.then(|| self.parse_predicate());
        let others = self.alternative.iter().map(|text| parse_alternative(text)?.parse_predicate());
        first.into_iter().chain(others).collect()
    }

    /// The condition of the flags without alternatives: a cluster must satisfy all of them.
    fn parse_predicate(&self) -> Result<Predicate, Failure> {
        let mut predicate = Predicate::default();
        if let Some(names) = &self.clusters {
            predicate.names = parse_names("--clusters", names)?;
        }
        if let Some(names) = &self.groups {
            predicate.groups = parse_names("--groups", names)?;
        }
        if let Some(text) = &self.selector {
            predicate.label_selector = parse_selector("--selector", text)?;
        }
        if let Some(text) = &self.facts {
            predicate.field_selector = parse_facts(text)?;
            if predicate.field_selector.is_empty() {
                return Err(empty_selection("--facts"));
            }
        }
        Ok(predicate)
    }
}

/// `groups=edge;selector=env=prod`: the flags of one more condition.
fn parse_alternative(text: &str) -> Result<PlacementArgs, Failure> {
    let mut flags = PlacementArgs::default();
    for part in text.split(';') {
        let invalid = || {
            Failure::usage(
                format!("--alternative: {:?} is not a condition.", shorten(part.trim())),
                "Write clusters=, groups=, selector= or facts=, each once, such as \"groups=edge;selector=env=prod\".",
            )
        };
        let (name, value) = part.split_once('=').ok_or_else(invalid)?;
        let names = || value.split(',').map(str::to_owned).collect();
        let is_repeated = match name.trim() {
            "clusters" => flags.clusters.replace(names()).is_some(),
            "groups" => flags.groups.replace(names()).is_some(),
            "selector" => flags.selector.replace(value.to_owned()).is_some(),
            "facts" => flags.facts.replace(value.to_owned()).is_some(),
            _ => return Err(invalid()),
        };
        if is_repeated {
            return Err(invalid());
        }
    }
    if flags.clusters.is_some() && flags.is_conditional() {
        return Err(Failure::usage(
            "--alternative: clusters= can't be combined with other conditions.",
            "Write two alternatives: --alternative clusters=A,B --alternative selector=env=prod",
        ));
    }
    Ok(flags)
}

fn parse_selector(flag: &str, text: &str) -> Result<LabelSelector, Failure> {
    let selector: LabelSelector = text.parse().map_err(|error| {
        Failure::usage(format!("{flag}: {error}."), "Write it as env=prod,region in (eu,us),!legacy.")
    })?;
    if selector.is_empty() { Err(empty_selection(flag)) } else { Ok(selector) }
}

/// The value of `--facts`.
pub fn parse_facts(text: &str) -> Result<FactSelector, Failure> {
    text.parse::<FactSelector>().map_err(|error| Failure::usage(format!("--facts: {error}."), FACTS_HINT))
}

/// An unset variable in a script must not select every cluster.
fn empty_selection(flag: &str) -> Failure {
    Failure::usage(format!("{flag} is empty."), "Use --all-clusters to select every cluster.")
}

/// `steady=5` or `label:tier=edge=3`.
fn parse_score(text: &str) -> Result<Score, Failure> {
    let invalid = || {
        let names: Vec<&str> = ScoreName::ALL.iter().map(|name| name.as_str()).collect();
        Failure::usage(
            format!("--score: {:?} is not a score.", shorten(text)),
            format!("Write NAME=WEIGHT with one of {}; labels as label:tier=edge=3.", names.join(", ")),
        )
    };
    let (name, weight) = text.rsplit_once('=').ok_or_else(invalid)?;
    let weight = weight.trim().parse().map_err(|_| invalid())?;
    let (name, selector) = match name.split_once(':') {
        Some((name, selector)) => (name, parse_selector("--score", selector)?),
        None => (name, LabelSelector::default()),
    };
    let found = ScoreName::ALL.iter().copied().find(|one| one.as_str() == name.trim());
    let name =
        found.filter(|found| (*found == ScoreName::Label) != selector.is_empty()).ok_or_else(invalid)?;
    Ok(Score { name, selector, weight })
}

/// `region`, `zone:2` or `example.com/rack:1:preferred`.
fn parse_spread(text: &str) -> Result<Spread, Failure> {
    let invalid = || {
        Failure::usage(
            format!("--spread: {:?} is not a spread constraint.", shorten(text)),
            "Write the key, then the skew of at least 1, and \"preferred\" to allow exceptions: zone:2:preferred.",
        )
    };
    let mut parts = text.split(':').map(str::trim);
    let key = parts.next().filter(|key| !key.is_empty()).ok_or_else(invalid)?.to_owned();
    let mut spread = Spread { key, ..Spread::default() };
    for part in parts {
        match part.parse::<u32>() {
            Ok(skew) if skew >= 1 => spread.max_skew = skew,
            _ if part == "preferred" => spread.when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway,
            _ => return Err(invalid()),
        }
    }
    Ok(spread)
}

/// `gpu`, `gpu=a100` or `gpu=a100:NoSelect`.
fn parse_toleration(text: &str) -> Result<Toleration, Failure> {
    let invalid = || {
        let effects: Vec<&str> = TaintEffect::ALL.iter().map(|effect| effect.as_str()).collect();
        Failure::usage(
            format!("--tolerate: {:?} is not a toleration.", shorten(text)),
            format!("Write key, key=value or key=value:EFFECT with one of {}.", effects.join(", ")),
        )
    };
    let (name, effect) = match text.rsplit_once(':') {
        Some((name, effect)) => (name, Some(TaintEffect::parse(effect).ok_or_else(invalid)?)),
        None => (text, None),
    };
    let (key, value, operator) = match name.split_once('=') {
        Some((key, value)) => (key, value, TolerationOperator::Equal),
        None => (name, "", TolerationOperator::Exists),
    };
    if key.trim().is_empty() {
        return Err(invalid());
    }
    Ok(Toleration { key: key.trim().to_owned(), operator, value: value.trim().to_owned(), effect })
}

fn shorten(text: &str) -> String {
    text.chars().take(120).collect()
}

fn parse_names(flag: &str, names: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<String> =
        names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err(Failure::usage(
            format!("{flag} has no name."),
            "\"flotilla cluster list\" and \"flotilla group list\" show the names.",
        ));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_placement() -> Placement {
        Placement {
            predicates: vec![Predicate { names: vec!["old".into()], ..Predicate::default() }],
            exclude: vec!["edge".into()],
            number_of_clusters: Some(2),
            ..Placement::default()
        }
    }

    fn is_usage_error(flags: &PlacementArgs) -> bool {
        let failure = flags.apply_to(stored_placement()).unwrap_err();
        matches!(failure, Failure::Report(report) if report.exit == crate::exit::ExitStatus::Usage)
    }

    #[test]
    fn without_a_flag_the_placement_stays() {
        assert_eq!(PlacementArgs::default().apply_to(stored_placement()).unwrap(), stored_placement());
    }

    #[test]
    fn selecting_clusters_replaces_the_whole_selection() {
        let flags =
            PlacementArgs { clusters: Some(vec!["a".into(), " b".into()]), ..PlacementArgs::default() };
        let placement = flags.apply_to(stored_placement()).unwrap();
        assert_eq!(placement.predicates[0].names, ["a", "b"]);
        assert!(placement.exclude.is_empty());
        assert_eq!(placement.number_of_clusters, None);
    }

    #[test]
    fn an_empty_selector_or_list_never_selects_every_cluster() {
        assert!(is_usage_error(&PlacementArgs { selector: Some(" ".into()), ..PlacementArgs::default() }));
        assert!(is_usage_error(&PlacementArgs {
            clusters: Some(vec![String::new()]),
            ..PlacementArgs::default()
        }));
        assert!(is_usage_error(&PlacementArgs {
            selector: Some("a in b".into()),
            ..PlacementArgs::default()
        }));
    }

    #[test]
    fn s1_24_a_chart_that_is_applied_to_one_group_is_a_deployment_of_that_group() {
        let flags = PlacementArgs { groups: Some(vec!["europe".into()]), ..PlacementArgs::default() };
        let chart = domain::chart::ChartSource { chart: "local/web".into(), ..Default::default() };
        let spec = domain::workload::WorkloadSpec {
            source: domain::workload::Source::Chart(chart),
            placement: flags.apply_to(Placement::default()).unwrap(),
            ..Default::default()
        };
        assert_eq!(domain::deployment::deployment_group(&spec), Some("europe"));
    }

    #[test]
    fn groups_facts_and_labels_are_one_condition() {
        let flags = PlacementArgs {
            groups: Some(vec!["edge".into()]),
            facts: Some("provider in (aws,gcp)".into()),
            selector: Some("env=prod".into()),
            number: Some(3),
            ..PlacementArgs::default()
        };
        let placement = flags.apply_to(stored_placement()).unwrap();
        let [predicate] = placement.predicates.as_slice() else { panic!("{placement:?}") };
        assert_eq!(
            (predicate.groups.as_slice(), placement.number_of_clusters),
            (&["edge".to_owned()][..], Some(3))
        );
        assert!(!predicate.label_selector.is_empty() && !predicate.field_selector.is_empty());
        for wrong in ["nonsense=1", " ", "kubernetesVersion>=x"] {
            assert!(
                is_usage_error(&PlacementArgs { facts: Some(wrong.into()), ..PlacementArgs::default() }),
                "{wrong}"
            );
        }
    }

    #[test]
    fn alternatives_are_conditions_of_their_own_and_minimum_numbers_are_set() {
        let flags = |alternatives: &[&str]| PlacementArgs {
            selector: Some("env=prod".into()),
            alternative: alternatives.iter().map(|text| (*text).to_owned()).collect(),
            min_clusters: Some(2),
            min_available_clusters: Some(0),
            ..PlacementArgs::default()
        };
        let placement = flags(&["groups=edge;selector=tier in (a,b)", "clusters=eu-1,eu-2"])
            .apply_to(Placement { min_available_clusters: Some(3), ..stored_placement() })
            .unwrap();
        let [first, second, third] = placement.predicates.as_slice() else { panic!("{placement:?}") };
        assert_eq!(first.label_selector.to_string(), "env=prod");
        assert_eq!((&second.groups[0][..], second.label_selector.is_empty()), ("edge", false));
        assert_eq!(third.names, ["eu-1", "eu-2"]);
        assert_eq!((placement.min_clusters, placement.min_available_clusters), (Some(2), None));
        for wrong in ["", "env=prod", "groups=", "selector=", "groups=a;groups=b", "clusters=a;selector=b=c"]
        {
            assert!(is_usage_error(&flags(&[wrong])), "{wrong}");
        }
    }

    #[test]
    fn scores_spreads_and_tolerations_replace_their_list_and_keep_the_selection() {
        let flags = PlacementArgs {
            score: vec!["allocatableCpu=2".into(), "label:tier=edge=-3".into()],
            spread: vec!["region".into(), "zone:2:preferred".into()],
            tolerate: vec!["gpu".into(), "team=web:NoSelect".into()],
            ..PlacementArgs::default()
        };
        let placement = flags.apply_to(stored_placement()).unwrap();
        assert_eq!(placement.predicates, stored_placement().predicates);
        assert_eq!(placement.score[1].selector.to_string(), "tier=edge");
        assert_eq!((placement.score[0].weight, placement.score[1].weight), (2, -3));
        let spread: Vec<_> =
            placement.spread.iter().map(|one| (&*one.key, one.max_skew, one.when_unsatisfiable)).collect();
        assert_eq!(
            spread,
            [("region", 1, WhenUnsatisfiable::DoNotSchedule), ("zone", 2, WhenUnsatisfiable::ScheduleAnyway)]
        );
        assert_eq!(placement.tolerations[0].operator, TolerationOperator::Exists);
        assert_eq!(placement.tolerations[1].effect, Some(TaintEffect::NoSelect));
        for (score, spread, tolerate) in [
            ("label=1", "", ""),
            ("cpu=1", "", ""),
            ("steady=x", "", ""),
            ("", "zone:0", ""),
            ("", ":1", ""),
            ("", "", "gpu:Nope"),
            ("", "", "=x"),
        ] {
            let list = |text: &str| if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
            let flags = PlacementArgs {
                score: list(score),
                spread: list(spread),
                tolerate: list(tolerate),
                ..PlacementArgs::default()
            };
            assert!(is_usage_error(&flags), "{score}{spread}{tolerate}");
        }
    }
}

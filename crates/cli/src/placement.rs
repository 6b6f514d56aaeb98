//! Placement flags: cluster names, a label selector, or every cluster (R-2, S3-3).

use clap::Args;
use domain::labels::LabelSelector;
use domain::placement::{Placement, Predicate};

use crate::failure::Failure;

/// The placement flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Placement (the stored placement stays unless one of these is set)")]
pub struct PlacementArgs {
    /// On these clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B", conflicts_with_all = ["selector", "all_clusters"])]
    pub clusters: Option<Vec<String>>,
    /// On clusters with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR", conflicts_with = "all_clusters")]
    pub selector: Option<String>,
    /// On every cluster
    #[arg(long)]
    pub all_clusters: bool,
    /// Excluded clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub exclude: Option<Vec<String>>,
}

impl PlacementArgs {
    /// Whether any flag is set.
    pub fn is_set(&self) -> bool {
        self.clusters.is_some() || self.selector.is_some() || self.all_clusters || self.exclude.is_some()
    }

    /// Applies the flags to the stored placement. Flags that select clusters replace the whole selection, including
    /// `exclude` and the number, so that a command line always has the same result; tolerations and the policy for new
    /// members stay.
    pub fn apply_to(&self, mut there: Placement) -> Result<Placement, Failure> {
        if let Some(predicate) = self.parse_predicate()? {
            there.predicates = vec![predicate];
            there.exclude.clear();
            there.number_of_clusters = None;
        }
        if let Some(names) = &self.exclude {
            there.exclude = parse_names("--exclude", names)?;
        }
        Ok(there)
    }

    /// All cluster names in the flags, selected or excluded.
    pub fn cluster_names(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.clusters, &self.exclude];
        lists.into_iter().flatten().flatten().map(|name| name.trim())
    }

    fn parse_predicate(&self) -> Result<Option<Predicate>, Failure> {
        if self.all_clusters {
            return Ok(Some(Predicate::default()));
        }
        if let Some(names) = &self.clusters {
            return Ok(Some(Predicate { names: parse_names("--clusters", names)?, ..Predicate::default() }));
        }
        let Some(text) = &self.selector else { return Ok(None) };
        let selector: LabelSelector = text.parse().map_err(|error| {
            Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us),!legacy.")
        })?;
        // An unset variable in a script must not select every cluster.
        if selector.is_empty() {
            return Err(Failure::usage(
                "--selector is empty.",
                "Use --all-clusters to select every cluster.",
            ));
        }
        Ok(Some(Predicate { label_selector: selector, ..Predicate::default() }))
    }
}

fn parse_names(flag: &str, names: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<String> =
        names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err(Failure::usage(
            format!("{flag} names no cluster."),
            "\"flotilla get clusters\" lists them.",
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
}

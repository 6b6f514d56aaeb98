//! Where a workload belongs, as flags: names, labels, or every cluster (R-2, S3-3).

use clap::Args;
use domain::labels::Selector;
use domain::placement::{Placement, Predicate};

use crate::failure::Failure;

/// The flags that say where.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Placement (what is there stays, unless one of these is given)")]
pub struct Where {
    /// On these clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B", conflicts_with_all = ["selector", "all_clusters"])]
    pub clusters: Option<Vec<String>>,
    /// On clusters with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR", conflicts_with = "all_clusters")]
    pub selector: Option<String>,
    /// On every cluster
    #[arg(long)]
    pub all_clusters: bool,
    /// Never on these clusters, by name
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub exclude: Option<Vec<String>>,
}

impl Where {
    /// Whether anything is said.
    pub fn is_given(&self) -> bool {
        self.clusters.is_some() || self.selector.is_some() || self.all_clusters || self.exclude.is_some()
    }

    /// What the flags make of the placement that is there. Saying which clusters replaces the whole choice, `exclude`
    /// and number included, so that the same command line always means the same; how clusters are taken (tolerations,
    /// new members) stays.
    pub fn on(&self, mut there: Placement) -> Result<Placement, Failure> {
        if let Some(predicate) = self.predicate()? {
            there.predicates = vec![predicate];
            there.exclude.clear();
            there.number_of_clusters = None;
        }
        if let Some(names) = &self.exclude {
            there.exclude = named("--exclude", names)?;
        }
        Ok(there)
    }

    /// Every cluster named, chosen or excluded.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.clusters, &self.exclude];
        lists.into_iter().flatten().flatten().map(|name| name.trim())
    }

    fn predicate(&self) -> Result<Option<Predicate>, Failure> {
        if self.all_clusters {
            return Ok(Some(Predicate::default()));
        }
        if let Some(names) = &self.clusters {
            return Ok(Some(Predicate { names: named("--clusters", names)?, ..Predicate::default() }));
        }
        let Some(text) = &self.selector else { return Ok(None) };
        let selector: Selector = text.parse().map_err(|error| {
            Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us),!legacy.")
        })?;
        // An unset variable in a script must not mean the whole fleet.
        if selector.is_empty() {
            return Err(Failure::usage("--selector is empty.", "For every cluster say --all-clusters."));
        }
        Ok(Some(Predicate { label_selector: selector, ..Predicate::default() }))
    }
}

fn named(flag: &str, names: &[String]) -> Result<Vec<String>, Failure> {
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

    fn there() -> Placement {
        Placement {
            predicates: vec![Predicate { names: vec!["old".into()], ..Predicate::default() }],
            exclude: vec!["edge".into()],
            number_of_clusters: Some(2),
            ..Placement::default()
        }
    }

    fn is_usage(flags: &Where) -> bool {
        flags.on(there()).unwrap_err().told(None).unwrap().exit == crate::exit::Exit::Usage
    }

    #[test]
    fn without_a_flag_the_placement_stays() {
        assert_eq!(Where::default().on(there()).unwrap(), there());
    }

    #[test]
    fn naming_clusters_replaces_the_choice_as_a_whole() {
        let flags = Where { clusters: Some(vec!["a".into(), " b".into()]), ..Where::default() };
        let placement = flags.on(there()).unwrap();
        assert_eq!(placement.predicates[0].names, ["a", "b"]);
        assert!(placement.exclude.is_empty());
        assert_eq!(placement.number_of_clusters, None);
    }

    #[test]
    fn an_empty_selector_or_list_never_means_the_whole_fleet() {
        assert!(is_usage(&Where { selector: Some(" ".into()), ..Where::default() }));
        assert!(is_usage(&Where { clusters: Some(vec![String::new()]), ..Where::default() }));
        assert!(is_usage(&Where { selector: Some("a in b".into()), ..Where::default() }));
    }
}

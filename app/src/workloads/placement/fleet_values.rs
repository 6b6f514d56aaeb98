//! What the fleet has: the values of labels, facts and taints with the number of clusters that have them. The editor offers
//! them, so that nothing is typed blind. They are counted once, from the clusters that the preview needs anyway.

use std::collections::BTreeMap;

use domain::placement::FactKey;

use super::candidates::Fleet;
use crate::components::pluralize;

/// Most suggestions of one field.
const MAX_SUGGESTIONS: usize = 50;

/// Values with the number of clusters that have each.
type ValueCounts = BTreeMap<String, u32>;

/// The values that occur in a fleet.
#[derive(Debug, Default)]
pub struct FleetValues {
    names: Vec<String>,
    labels: BTreeMap<String, ValueCounts>,
    facts: BTreeMap<FactKey, ValueCounts>,
    taints: ValueCounts,
}

/// A value that a field offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The text of the field with this value.
    pub text: String,
    /// The value, and how many clusters have it.
    pub label: String,
}

impl FleetValues {
    /// Counts the values.
    pub fn count(fleet: &Fleet) -> Self {
        let mut all = Self::default();
        for cluster in &fleet.clusters {
            all.names.push(cluster.name.clone());
            for (key, value) in &cluster.labels {
                *all.labels.entry(key.clone()).or_default().entry(value.clone()).or_default() += 1;
            }
            for fact in FactKey::ALL {
                for value in fact.values(cluster) {
                    *all.facts.entry(*fact).or_default().entry(value.to_owned()).or_default() += 1;
                }
            }
            for taint in &cluster.taints {
                *all.taints.entry(taint.to_string()).or_default() += 1;
            }
        }
        all.names.sort();
        all
    }

    /// Keys of labels.
    pub fn label_keys(&self) -> Vec<Suggestion> {
        let keys = self.labels.iter().map(|(key, values)| (key.clone(), values.values().sum()));
        most_frequent(keys.collect(), "")
    }

    /// Values of a label, to complete `text`.
    pub fn label_values(&self, key: &str, text: &str) -> Vec<Suggestion> {
        complete(self.labels.get(key.trim()), text)
    }

    /// Values of a fact, to complete `text`.
    pub fn fact_values(&self, fact: &str, text: &str) -> Vec<Suggestion> {
        complete(fact.trim().parse().ok().and_then(|fact: FactKey| self.facts.get(&fact)), text)
    }

    /// Labels as `key=value`, to complete `text`.
    pub fn labels(&self, text: &str) -> Vec<Suggestion> {
        let pairs = self.labels.iter().flat_map(|(key, values)| {
            values.iter().map(move |(value, count)| (format!("{key}={value}"), *count))
        });
        complete(Some(&pairs.collect()), text)
    }

    /// Whether a cluster has a label with this key.
    pub fn has_label(&self, key: &str) -> bool {
        self.labels.contains_key(key)
    }

    /// Labels as `key=value` with the number of clusters that have each, the most frequent first.
    pub fn label_counts(&self) -> Vec<(String, u32)> {
        count_pairs(self.labels.iter().map(|(key, values)| (key.as_str(), values)))
    }

    /// Confirmed facts as `key=value` with the number of clusters that have each, the most frequent first.
    pub fn fact_counts(&self) -> Vec<(String, u32)> {
        count_pairs(self.facts.iter().map(|(fact, values)| (fact.as_str(), values)))
    }

    /// Taints, to complete `text`.
    pub fn taints(&self, text: &str) -> Vec<Suggestion> {
        complete(Some(&self.taints), text)
    }

    /// Names of clusters, to complete `text`.
    pub fn names(&self, text: &str) -> Vec<Suggestion> {
        let (before, word) = split_last(text);
        let fits = self.names.iter().filter(|name| name.contains(word) && !has_word(before, name));
        let suggestion = |name: &String| Suggestion { text: format!("{before}{name}"), label: name.clone() };
        fits.take(MAX_SUGGESTIONS).map(suggestion).collect()
    }

    /// Keys that clusters can be spread over, with the number of their values.
    pub fn spread_keys(&self) -> Vec<Suggestion> {
        let facts = [FactKey::Region, FactKey::Zone, FactKey::Provider];
        let facts = facts.map(|fact| (fact.as_str(), self.facts.get(&fact)));
        let is_fact = |key: &str| facts.iter().any(|(fact, _)| *fact == key);
        let labels = self.labels.iter().filter(|(key, _)| !is_fact(key));
        let all = facts.into_iter().chain(labels.map(|(key, values)| (key.as_str(), Some(values))));
        let suggestion = |(key, values): (&str, Option<&ValueCounts>)| {
            let values = u32::try_from(values.map_or(0, BTreeMap::len)).unwrap_or(u32::MAX);
            Suggestion { text: key.to_owned(), label: format!("{key}: {}", pluralize(values, "value")) }
        };
        all.take(MAX_SUGGESTIONS).map(suggestion).collect()
    }
}

fn count_pairs<'a>(all: impl Iterator<Item = (&'a str, &'a ValueCounts)>) -> Vec<(String, u32)> {
    let mut pairs: Vec<(String, u32)> = all
        .flat_map(|(key, values)| values.iter().map(move |(value, count)| (format!("{key}={value}"), *count)))
        .collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    pairs
}

/// The text up to its last value, and that value.
fn split_last(text: &str) -> (&str, &str) {
    text.split_at(text.rfind([',', ' ']).map_or(0, |at| at + 1))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split([',', ' ']).any(|one| one == word)
}

/// The values that contain the last word of `text` and are not in it, the most frequent first.
fn complete(values: Option<&ValueCounts>, text: &str) -> Vec<Suggestion> {
    let (before, word) = split_last(text);
    let fits =
        values.into_iter().flatten().filter(|(value, _)| value.contains(word) && !has_word(before, value));
    most_frequent(fits.map(|(value, count)| (value.clone(), *count)).collect(), before)
}

fn most_frequent(mut values: Vec<(String, u32)>, before: &str) -> Vec<Suggestion> {
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    values.truncate(MAX_SUGGESTIONS);
    let suggestion = |(value, count): (String, u32)| Suggestion {
        text: format!("{before}{value}"),
        label: format!("{value}: {}", pluralize(count, "cluster")),
    };
    values.into_iter().map(suggestion).collect()
}

#[cfg(test)]
mod tests {
    use domain::ClusterId;
    use domain::cluster::{Cluster, ClusterKind};

    use super::*;

    fn fleet() -> Fleet {
        let cluster = |n: u128, name: &str, region: &str| {
            let id = ClusterId::from_parts(1, n);
            let cluster = Cluster::new(id, name, ClusterKind::default(), domain::Timestamp::default());
            let labels = [("region".to_owned(), region.to_owned()), ("env".to_owned(), "prod".to_owned())];
            Cluster { labels: labels.into(), ..cluster }
        };
        let clusters = vec![cluster(1, "eu-1", "eu"), cluster(2, "eu-2", "eu"), cluster(3, "us-1", "us")];
        Fleet { clusters, ..Fleet::default() }
    }

    fn texts(all: &[Suggestion]) -> Vec<(&str, &str)> {
        all.iter().map(|one| (&*one.text, &*one.label)).collect()
    }

    #[test]
    fn values_are_offered_with_the_number_of_clusters_that_have_them_the_most_frequent_first() {
        let values = FleetValues::count(&fleet());
        assert_eq!(
            texts(&values.label_keys()),
            [("env", "env: 3 clusters"), ("region", "region: 3 clusters")]
        );
        assert_eq!(
            texts(&values.label_values("region", "")),
            [("eu", "eu: 2 clusters"), ("us", "us: 1 cluster")]
        );
        assert_eq!(texts(&values.fact_values("region", "u")), texts(&values.label_values("region", "u")));
        assert_eq!(texts(&values.spread_keys())[0], ("region", "region: 2 values"));
        let pair = |text: &str, clusters| (text.to_owned(), clusters);
        assert_eq!(values.label_counts(), [pair("env=prod", 3), pair("region=eu", 2), pair("region=us", 1)]);
        assert_eq!(values.fact_counts(), [pair("region=eu", 2), pair("region=us", 1)]);
        assert!(values.has_label("env") && !values.has_label("tier"));
    }

    #[test]
    fn a_suggestion_completes_the_last_value_and_keeps_those_before() {
        let values = FleetValues::count(&fleet());
        assert_eq!(texts(&values.label_values("region", "eu, u")), [("eu, us", "us: 1 cluster")]);
        assert_eq!(texts(&values.names("eu-1, e")), [("eu-1, eu-2", "eu-2")]);
        assert_eq!(texts(&values.labels("env=")), [("env=prod", "env=prod: 3 clusters")]);
    }
}

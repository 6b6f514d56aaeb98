//! `flotilla cluster label`: labels, in `kubectl`'s words: `key=value` sets, `key-` removes.

use std::collections::BTreeMap;

use clap::Args;
use domain::labels::{is_key, is_value};
use wire::ClusterPatch;

use crate::failure::Failure;
use crate::output::Out;
use crate::remote::Remote;

/// Set and remove labels of a cluster; placements that select by label follow
#[derive(Args)]
pub struct Label {
    /// Name of the cluster
    pub cluster: String,
    /// key=value sets a label, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
}

impl Label {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let labels = self.labels.iter().map(|text| read(text)).collect::<Result<BTreeMap<_, _>, _>>()?;
        let patch = ClusterPatch { labels, ..ClusterPatch::default() };
        remote.client.cluster_patch(&self.cluster, &patch, None).await?;
        out.line(&format!("cluster/{} labeled", self.cluster))
    }
}

fn read(text: &str) -> Result<(String, Option<String>), Failure> {
    let (key, value) = match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) => (key, Some(value)),
        (None, Some(key)) => (key, None),
        (None, None) => return Err(wrong(text)),
    };
    if !is_key(key) || value.is_some_and(|value| !is_value(value)) {
        return Err(wrong(text));
    }
    Ok((key.to_owned(), value.map(str::to_owned)))
}

fn wrong(text: &str) -> Failure {
    let shown: String = text.chars().take(120).collect();
    Failure::usage(
        format!("{shown:?} is no change of a label."),
        "Write key=value to set one and key- to remove one; letters, digits, \"-\", \"_\" and \".\", at most 63.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_set_and_removed_in_kubectls_words() {
        assert_eq!(read("env=prod").ok().unwrap(), ("env".into(), Some("prod".into())));
        assert_eq!(read("env=").ok().unwrap(), ("env".into(), Some(String::new())));
        assert_eq!(read("example.com/tier-").ok().unwrap(), ("example.com/tier".into(), None));
        for wrong in ["env", "=x", "-", "a b=c", "env=a b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

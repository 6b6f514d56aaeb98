//! `flotilla cluster label`: sets and removes labels, in the syntax of `kubectl`: `key=value` sets, `key-` removes.

use std::collections::BTreeMap;

use clap::Args;
use domain::labels::{is_label_key, is_label_value};
use wire::ClusterPatch;

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Printer;

/// Set and remove labels of a cluster; placements that select by label are evaluated again
#[derive(Args)]
pub struct LabelArgs {
    /// Name of the cluster
    pub cluster: String,
    /// key=value sets a label, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
}

impl LabelArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let labels =
            self.labels.iter().map(|text| parse_label_change(text)).collect::<Result<BTreeMap<_, _>, _>>()?;
        let patch = ClusterPatch { labels, ..ClusterPatch::default() };
        remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&format!("cluster/{} labeled", self.cluster))
    }
}

fn parse_label_change(text: &str) -> Result<(String, Option<String>), Failure> {
    let (key, value) = match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) => (key, Some(value)),
        (None, Some(key)) => (key, None),
        (None, None) => return Err(invalid_label_change(text)),
    };
    if !is_label_key(key) || value.is_some_and(|value| !is_label_value(value)) {
        return Err(invalid_label_change(text));
    }
    Ok((key.to_owned(), value.map(str::to_owned)))
}

fn invalid_label_change(text: &str) -> Failure {
    let shown: String = text.chars().take(120).collect();
    Failure::usage(
        format!("{shown:?} is not a label change."),
        "Write key=value to set one and key- to remove one; letters, digits, \"-\", \"_\" and \".\", at most 63.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_set_and_removed_in_the_syntax_of_kubectl() {
        assert_eq!(parse_label_change("env=prod").ok().unwrap(), ("env".into(), Some("prod".into())));
        assert_eq!(parse_label_change("env=").ok().unwrap(), ("env".into(), Some(String::new())));
        assert_eq!(parse_label_change("example.com/tier-").ok().unwrap(), ("example.com/tier".into(), None));
        for wrong in ["env", "=x", "-", "a b=c", "env=a b"] {
            assert!(parse_label_change(wrong).is_err(), "{wrong}");
        }
    }
}

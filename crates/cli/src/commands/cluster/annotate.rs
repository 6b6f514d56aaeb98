//! `flotilla cluster annotate` and `flotilla cluster set-values`: data of a cluster for templates (S4-7); `flotilla cluster set-owners`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};
use wire::ClusterPatch;

use crate::chart_source::read_values;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};

/// Set and remove annotations of a cluster, which templates read as cluster.annotations.KEY
#[derive(Args)]
pub struct AnnotateArgs {
    /// Name of the cluster
    pub cluster: String,
    /// key=value sets an annotation, key- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    annotations: Vec<String>,
}

/// Replace the values of a cluster, which templates read as cluster.values.KEY
#[derive(Args)]
pub struct SetValuesArgs {
    /// Name of the cluster
    pub cluster: String,
    /// YAML file with a map; "-" for standard input
    file: PathBuf,
}

/// Replace the owners of a cluster: subscriptions of an owner get the incidents on its clusters too
#[derive(Args)]
pub struct SetOwnersArgs {
    /// Name of the cluster
    pub cluster: String,
    /// People or teams
    #[arg(value_name = "OWNER", required_unless_present = "none")]
    owners: Vec<String>,
    /// Remove all owners
    #[arg(long, conflicts_with = "owners")]
    none: bool,
}

impl SetOwnersArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let owners = if self.none { Vec::new() } else { self.owners };
        let patch = ClusterPatch { owners: Some(owners), ..ClusterPatch::default() };
        let changed = remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&match changed.owners.as_slice() {
            [] => format!("cluster/{} has no owners", self.cluster),
            owners => format!("cluster/{} owned by {}", self.cluster, sanitize(&owners.join(", "))),
        })
    }
}

impl AnnotateArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let annotations = self.annotations.iter().map(|text| parse_change(text));
        let annotations = annotations.collect::<Result<BTreeMap<_, _>, _>>()?;
        let patch = ClusterPatch { annotations, ..ClusterPatch::default() };
        remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&format!("cluster/{} annotated", self.cluster))
    }
}

impl SetValuesArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let values = parse_values(&read_values(&self.file)?)?;
        let patch = ClusterPatch { values: Some(values), ..ClusterPatch::default() };
        remote.client.patch_cluster(&self.cluster, &patch, None).await?;
        out.print_line(&format!("cluster/{} values set", self.cluster))
    }
}

fn parse_change(text: &str) -> Result<(String, Option<String>), Failure> {
    match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) if !key.is_empty() => Ok((key.to_owned(), Some(value.to_owned()))),
        (None, Some(key)) if !key.is_empty() => Ok((key.to_owned(), None)),
        _ => {
            let shown: String = text.chars().take(120).collect();
            let message = format!("{shown:?} is not a change of an annotation.");
            Err(Failure::usage(message, "Write key=value to set one and key- to remove one."))
        }
    }
}

fn parse_values(text: &str) -> Result<Map<String, Value>, Failure> {
    if let Some(finding) = domain::chart::check_values("The values", text) {
        return Err(Failure::usage(finding.message, finding.hint));
    }
    Ok(domain::deployment::read_chart_values(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_a_map_and_annotations_have_a_key() {
        assert_eq!(parse_values("net: {cidr: 10.0.0.0/8}\n").ok().unwrap()["net"]["cidr"], "10.0.0.0/8");
        assert!(parse_values("- 1\n").is_err() && parse_values("a: [\n").is_err());
        assert_eq!(parse_change("note=a = b").ok().unwrap(), ("note".into(), Some("a = b".into())));
        assert!(parse_change("=x").is_err() && parse_change("note").is_err() && parse_change("-").is_err());
    }
}

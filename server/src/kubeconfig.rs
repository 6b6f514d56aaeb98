//! Clusters of this machine's kubeconfig: one per context.
//!
//! The file is the administrator's own, so it may name files and run credential helpers (`exec`). That is not allowed
//! in a kubeconfig that somebody uploads; none can be uploaded so far.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// One context of the file.
pub struct Found {
    /// The cluster's name: the context's, in the shape that names have.
    pub name: String,
    context: String,
    config: Kubeconfig,
}

/// The contexts with these names, all if none are given.
///
/// # Errors
/// The file can't be read, a context is missing, or two would have the same name.
pub fn read(file: &Path, contexts: &[String]) -> anyhow::Result<Vec<Found>> {
    let config = Kubeconfig::read_from(file).with_context(|| format!("can't read {}", file.display()))?;
    let known: Vec<String> = config.contexts.iter().map(|context| context.name.clone()).collect();
    if let Some(missing) = contexts.iter().find(|wanted| !known.contains(wanted)) {
        bail!("{} has no context {missing:?}; it has {}", file.display(), known.join(", "));
    }
    let wanted = if contexts.is_empty() { &known } else { contexts };
    if wanted.is_empty() {
        bail!("{} has no context", file.display());
    }
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for context in wanted {
        let Some(name) = domain::name::suggest(context) else {
            bail!("context {context:?} gives no cluster name: rename it with kubectl config rename-context");
        };
        if let Some(other) = names.insert(name.clone(), context) {
            bail!("contexts {other:?} and {context:?} would both be cluster {name:?}: rename one of them");
        }
    }
    let found =
        |(name, context): (String, &str)| Found { name, context: context.to_owned(), config: config.clone() };
    Ok(names.into_iter().map(found).collect())
}

impl Found {
    /// A client for it. Does not connect: a cluster that can't be reached holds nobody up.
    ///
    /// # Errors
    /// The context names what is not there, such as a certificate's file.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        let options =
            KubeConfigOptions { context: Some(self.context.clone()), ..KubeConfigOptions::default() };
        let config = kube::Config::from_custom_kubeconfig(self.config.clone(), &options).await?;
        Ok(kube::Client::try_from(config)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers:\n- name: u\n  user: {}\ncontexts:\n- name: Prod/EU\n  context: {cluster: c, user: u}\n- name: dev\n  context: {cluster: c, user: u}\n";

    fn names(contexts: &[&str]) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), FILE).unwrap();
        let contexts: Vec<String> = contexts.iter().map(|&name| name.to_owned()).collect();
        let found = read(file.path(), &contexts).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|found| found.name).collect())
    }

    #[test]
    fn every_context_becomes_a_cluster_with_a_name_that_names_can_have() {
        assert_eq!(names(&[]), Ok(vec!["dev".to_owned(), "prod-eu".to_owned()]));
        assert_eq!(names(&["Prod/EU"]), Ok(vec!["prod-eu".to_owned()]));
    }

    #[test]
    fn a_context_that_is_not_there_is_named_with_those_that_are() {
        let error = names(&["prod"]).unwrap_err();
        assert!(error.contains("no context \"prod\"") && error.contains("Prod/EU, dev"), "{error}");
    }

    #[tokio::test]
    async fn a_client_is_made_without_reaching_the_cluster() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), FILE).unwrap();
        for found in read(file.path(), &[]).unwrap() {
            assert!(found.client().await.is_ok());
        }
    }
}

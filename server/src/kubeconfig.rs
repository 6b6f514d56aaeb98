//! Clusters of this machine's kubeconfig: one per context.
//!
//! The file belongs to the administrator, so it may refer to files and run credential helpers (`exec`). An uploaded
//! kubeconfig must not; uploads are not supported.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// One context of the file.
pub struct KubeContext {
    /// The cluster's name: the context's, converted to a valid name.
    pub name: String,
    context: String,
    config: Kubeconfig,
}

/// Reads the contexts with these names; all if none are given.
///
/// # Errors
/// The file can't be read, a context is missing, or two would have the same name.
pub fn read_contexts(file: &Path, contexts: &[String]) -> anyhow::Result<Vec<KubeContext>> {
    let config = Kubeconfig::read_from(file).with_context(|| format!("can't read {}", file.display()))?;
    let known: Vec<String> = config.contexts.iter().map(|context| context.name.clone()).collect();
    if let Some(missing) = contexts.iter().find(|name| !known.contains(name)) {
        bail!("{} has no context {missing:?}; it has {}", file.display(), known.join(", "));
    }
    let selected = if contexts.is_empty() { &known } else { contexts };
    if selected.is_empty() {
        bail!("{} has no context", file.display());
    }
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for context in selected {
        let Some(name) = domain::name::suggest_label(context) else {
            bail!(
                "context {context:?} can't be converted to a cluster name: rename it with kubectl config rename-context"
            );
        };
        if let Some(other) = names.insert(name.clone(), context) {
            bail!(
                "contexts {other:?} and {context:?} would both become cluster {name:?}: rename one of them with kubectl config rename-context"
            );
        }
    }
    let found = |(name, context): (String, &str)| KubeContext {
        name,
        context: context.to_owned(),
        config: config.clone(),
    };
    Ok(names.into_iter().map(found).collect())
}

impl KubeContext {
    /// Creates a client. Does not connect, so that an unreachable cluster does not block the others.
    ///
    /// # Errors
    /// The context refers to something missing, such as a certificate file.
    pub async fn create_client(&self) -> anyhow::Result<kube::Client> {
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
        let found = read_contexts(file.path(), &contexts).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|found| found.name).collect())
    }

    #[test]
    fn every_context_becomes_a_cluster_with_a_valid_name() {
        assert_eq!(names(&[]), Ok(vec!["dev".to_owned(), "prod-eu".to_owned()]));
        assert_eq!(names(&["Prod/EU"]), Ok(vec!["prod-eu".to_owned()]));
    }

    #[test]
    fn a_missing_context_is_reported_with_the_existing_ones() {
        let error = names(&["prod"]).unwrap_err();
        assert!(error.contains("no context \"prod\"") && error.contains("Prod/EU, dev"), "{error}");
    }

    #[tokio::test]
    async fn a_client_is_created_without_connecting() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), FILE).unwrap();
        for found in read_contexts(file.path(), &[]).unwrap() {
            assert!(found.create_client().await.is_ok());
        }
    }
}

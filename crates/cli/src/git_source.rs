//! Flags of a Git repository or an OCI artifact as the source of a workload.

use clap::Args;
use domain::remote::{OnNewCommit, RemoteSource};
use domain::workload::Source;

use crate::failure::Failure;

/// The Git flags.
#[derive(Args, Debug, Default, Clone)]
pub struct GitSourceArgs {
    /// A Git repository: https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH; its newest commit is pinned
    #[arg(long, value_name = "URL", conflicts_with_all = ["filename", "chart", "chart_version"])]
    pub git: Option<String>,
    /// An OCI artifact: oci://REGISTRY/PATH; the newest artifact of its tag is pinned
    #[arg(long, value_name = "URL", value_parser = parse_oci_url, conflicts_with_all = ["git", "filename", "chart", "chart_version"])]
    pub oci: Option<String>,
    /// Branch, tag, or commit with all 40 digits; tag or digest of an artifact [default: unchanged; the default branch, or latest]
    #[arg(long = "ref", value_name = "REF", conflicts_with_all = ["filename", "chart", "chart_version"])]
    pub reference: Option<String>,
    /// Folder or file in the repository [default: unchanged; the whole repository]
    #[arg(long, value_name = "PATH", conflicts_with_all = ["filename", "chart", "chart_version"])]
    pub path: Option<String>,
    /// What happens when the ref moves: draft, firstWave or all [default: unchanged; draft]
    #[arg(long, value_name = "POLICY", value_parser = parse_policy, conflicts_with_all = ["filename", "chart", "chart_version"])]
    pub on_new_commit: Option<OnNewCommit>,
}

/// The Git source of a draft, with what is left unchanged as `None`.
#[derive(Debug, Default, Clone)]
pub struct GitChange {
    flags: GitSourceArgs,
    values: Option<String>,
    release_name: Option<String>,
}

/// The policy with this name.
///
/// # Errors
/// There is no such policy.
pub fn parse_policy(text: &str) -> Result<OnNewCommit, String> {
    let found = OnNewCommit::ALL.iter().find(|policy| policy.as_str().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| "write draft, firstWave or all".to_owned())
}

/// The URL of an OCI artifact, which begins with its scheme.
///
/// # Errors
/// It does not.
pub fn parse_oci_url(text: &str) -> Result<String, String> {
    let is_oci = domain::remote::is_oci_url(text);
    if is_oci { Ok(text.to_owned()) } else { Err("write oci://REGISTRY/PATH".to_owned()) }
}

impl GitSourceArgs {
    /// Whether a flag is set.
    pub fn is_set(&self) -> bool {
        self.url().is_some()
            || self.reference.is_some()
            || self.path.is_some()
            || self.on_new_commit.is_some()
    }

    /// The repository or the artifact.
    fn url(&self) -> Option<&String> {
        self.git.as_ref().or(self.oci.as_ref())
    }

    /// The change, with the values and the name of the release for a chart.
    pub fn into_change(self, values: Option<String>, release_name: Option<String>) -> GitChange {
        GitChange { flags: self, values, release_name }
    }
}

impl GitChange {
    /// The last part of path or URL, as a name for a new workload.
    pub fn suggested_name(&self) -> Option<String> {
        let url = self.flags.url()?.trim_end_matches('/');
        let path = self.flags.path.as_deref().unwrap_or_default().trim_matches(['/', '.']);
        // The short form over SSH has a path behind a colon.
        let last =
            |text: &str| text.rsplit(['/', ':']).next().map(str::to_owned).filter(|name| !name.is_empty());
        let is_file = [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
        let of_path = if is_file { None } else { last(path) };
        of_path.or_else(|| last(url.trim_end_matches(".git")))
    }

    /// The source with this change. The server sets its commit to the newest one.
    pub fn apply_to(&self, current: Option<&RemoteSource>) -> Result<Source, Failure> {
        let mut source = current.cloned().unwrap_or_default();
        let set = |field: &mut String, value: Option<&String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        set(&mut source.repository, self.flags.url());
        set(&mut source.reference, self.flags.reference.as_ref());
        set(&mut source.path, self.flags.path.as_ref());
        set(&mut source.values, self.values.as_ref());
        set(&mut source.release_name, self.release_name.as_ref());
        source.on_new_commit = self.flags.on_new_commit.unwrap_or(source.on_new_commit);
        source.normalize();
        source.pinned = None;
        if source.repository.is_empty() {
            return Err(Failure::usage(
                "The workload has no Git repository and no OCI artifact yet.",
                "Name it: --git https://HOST/PATH, or --oci oci://REGISTRY/PATH.",
            ));
        }
        Ok(Source::from(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(git: Option<&str>, path: Option<&str>) -> GitChange {
        let flags = GitSourceArgs {
            git: git.map(str::to_owned),
            path: path.map(str::to_owned),
            ..GitSourceArgs::default()
        };
        flags.into_change(None, None)
    }

    #[test]
    fn flags_change_only_what_they_name() {
        let current = RemoteSource {
            repository: "https://a.test/b.git".into(),
            reference: "main".into(),
            on_new_commit: OnNewCommit::All,
            ..RemoteSource::default()
        };
        let changed = change(None, Some("deploy/")).apply_to(Some(&current)).ok().unwrap();
        assert_eq!(changed, Source::Git(Box::new(RemoteSource { path: "deploy".into(), ..current })));
        assert!(change(None, Some("deploy")).apply_to(None).is_err(), "a path alone names no repository");
        assert_eq!(parse_policy("firstwave"), Ok(OnNewCommit::FirstWave));
        assert!(parse_policy("always").is_err());
    }

    #[test]
    fn a_new_workload_is_named_by_its_folder_or_its_repository() {
        let named = |path| change(Some("https://a.test/acme/shop.git"), path).suggested_name().unwrap();
        assert_eq!((named(None), named(Some("deploy/web/"))), ("shop".into(), "web".into()));
        assert_eq!((named(Some(".")), named(Some("deploy/web.yaml"))), ("shop".into(), "shop".into()));
        assert_eq!(change(Some("git@a.test:shop.git"), None).suggested_name().unwrap(), "shop");
    }
}

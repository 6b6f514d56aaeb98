//! The program that renders charts, and the clients that read repositories of charts and of Git.

use std::time::Duration;

use hub::Hub;
use source::RemoteAccess;
use source::git::GitClient;
use source::helm::Helm;
use source::kustomize::Kustomize;
use source::repository::RepositoryClient;
use source::sandbox;

use crate::args::{ChartArgs, RepositoryArg};

/// Finds Helm and gives it to the hub. Without it, workloads with charts wait, the console says why, and everything else works.
pub async fn find_helm(hub: &Hub, args: &ChartArgs) {
    let server = match std::env::current_exe() {
        Ok(server) => server,
        Err(error) => {
            tracing::warn!(%error, "charts can't be rendered: the path of this program is unknown");
            return;
        }
    };
    match Helm::find(args.helm.as_deref(), vec![server.into(), sandbox::COMMAND.into()]).await {
        Ok(helm) => {
            let protections = helm.protections();
            tracing::info!(
                version = helm.version(),
                files = protections.files,
                network = protections.network,
                "charts are rendered by helm; its files and network are restricted where true"
            );
            hub.set_helm(helm);
        }
        Err(unavailable) => tracing::warn!("charts can't be rendered: {unavailable}"),
    }
}

/// Finds kustomize and gives it to the hub. Without it, sources with a kustomization wait, and everything else works.
pub async fn find_kustomize(hub: &Hub, args: &ChartArgs) {
    let server = match std::env::current_exe() {
        Ok(server) => server,
        Err(error) => {
            tracing::warn!(%error, "kustomizations can't be rendered: the path of this program is unknown");
            return;
        }
    };
    match Kustomize::find(args.kustomize.as_deref(), vec![server.into(), sandbox::COMMAND.into()]).await {
        Ok(kustomize) => {
            tracing::info!(version = kustomize.version(), "kustomizations are rendered by kustomize");
            hub.set_kustomize(kustomize);
        }
        Err(unavailable) => tracing::warn!("kustomizations can't be rendered: {unavailable}"),
    }
}

/// Gives the hub the client that reads repositories of charts. Without it, only charts that are stored can be used.
pub fn set_repository_client(hub: &Hub, args: &ChartArgs) {
    let Some(access) = remote_access(args.chart_repositories) else { return };
    match RepositoryClient::new(access) {
        Ok(client) => hub.set_repository_client(client),
        Err(error) => tracing::warn!(%error, "repositories of charts can't be read"),
    }
}

/// Gives the hub the client that reads Git repositories. Without it, only commits that are stored can be used.
pub fn set_git_client(hub: &Hub, args: &ChartArgs) {
    hub.set_git_check_interval(Duration::from_secs(args.git_check_seconds));
    let Some(access) = remote_access(args.git_repositories) else { return };
    match GitClient::new(access) {
        Ok(client) => hub.set_git_client(client),
        Err(error) => tracing::warn!(%error, "Git repositories can't be read"),
    }
}

/// The servers that the option allows; `None` if it is off.
pub const fn remote_access(arg: RepositoryArg) -> Option<RemoteAccess> {
    match arg {
        RepositoryArg::Https => Some(RemoteAccess::Https),
        RepositoryArg::PrivateHttps => Some(RemoteAccess::PrivateHttps),
        RepositoryArg::PrivateHttp => Some(RemoteAccess::PrivateHttp),
        RepositoryArg::Off => None,
    }
}

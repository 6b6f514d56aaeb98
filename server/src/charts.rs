//! The program that renders charts, and the client that reads their repositories.

use hub::Hub;
use source::helm::Helm;
use source::repository::{RepositoryAccess, RepositoryClient};
use source::sandbox;

use crate::args::{ChartArgs, ChartRepositoryArg};

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

/// Gives the hub the client that reads repositories of charts. Without it, only charts that are stored can be used.
pub fn set_repository_client(hub: &Hub, args: &ChartArgs) {
    let access = match args.chart_repositories {
        ChartRepositoryArg::Https => RepositoryAccess::Https,
        ChartRepositoryArg::PrivateHttps => RepositoryAccess::PrivateHttps,
        ChartRepositoryArg::PrivateHttp => RepositoryAccess::PrivateHttp,
        ChartRepositoryArg::Off => return,
    };
    match RepositoryClient::new(access) {
        Ok(client) => hub.set_repository_client(client),
        Err(error) => tracing::warn!(%error, "repositories of charts can't be read"),
    }
}

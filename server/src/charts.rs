//! The program that renders charts.

use hub::Hub;
use source::helm::Helm;
use source::sandbox;

use crate::args::ChartArgs;

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

//! The programs that render charts and kustomizations, and the clients that read repositories of charts and of Git.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use hub::Hub;
use source::RemoteAccess;
use source::git::{GitClient, SshProgram};
use source::helm::Helm;
use source::kustomize::Kustomize;
use source::repository::RepositoryClient;
use source::sandbox::{self, Sandbox};
use source::scratch::ScratchFolder;

use crate::args::{ChartArgs, RepositoryArg};

/// The folder of renderings below the data folder.
const SCRATCH_FOLDER: &str = "scratch";

/// Gives the hub the renderers and clients that there are. Without one of them, the workloads that need it wait, the console says why,
/// and everything else works. `data` is the data folder of the server, if it has one.
///
/// # Errors
/// The folder for renderings can't be created.
pub async fn set_up(hub: &Hub, args: &ChartArgs, data: Option<&Path>) -> anyhow::Result<()> {
    let parent = data.map_or_else(ScratchFolder::default_parent, |data| data.join(SCRATCH_FOLDER));
    let failed = || format!("can't prepare the folder for renderings {}", parent.display());
    let scratch = ScratchFolder::open(&parent).with_context(failed)?;
    set_renderers(hub, args, scratch.clone()).await;
    set_repository_client(hub, args);
    set_git_client(hub, args, scratch);
    Ok(())
}

async fn set_renderers(hub: &Hub, args: &ChartArgs, scratch: ScratchFolder) {
    let server = match std::env::current_exe() {
        Ok(server) => server,
        Err(error) => {
            tracing::warn!(%error, "nothing can be rendered: the path of this program is unknown");
            return;
        }
    };
    let command = vec![server.into(), sandbox::COMMAND.into()];
    let sandbox = Sandbox::measure(command, args.renderer_sandbox.into(), scratch).await;
    let status = sandbox.status();
    match status.problem.as_deref() {
        Some(problem) => tracing::error!(sandbox = status.describe(), "{problem}"),
        None if !status.is_closed() => {
            tracing::warn!(
                sandbox = status.describe(),
                "charts are rendered in a sandbox that is not closed"
            );
        }
        None => tracing::info!(sandbox = status.describe(), "the sandbox of renderers is closed"),
    }
    hub.set_renderer_sandbox(sandbox.clone());
    match Helm::find(args.helm.as_deref(), sandbox.clone()).await {
        Ok(helm) => {
            tracing::info!(version = helm.version(), "charts are rendered by helm");
            hub.set_helm(helm);
        }
        Err(unavailable) => tracing::warn!("charts can't be rendered: {unavailable}"),
    }
    match Kustomize::find(args.kustomize.as_deref(), sandbox).await {
        Ok(kustomize) => {
            tracing::info!(version = kustomize.version(), "kustomizations are rendered by kustomize");
            hub.set_kustomize(kustomize);
        }
        Err(unavailable) => tracing::warn!("kustomizations can't be rendered: {unavailable}"),
    }
}

/// Without this client, only charts that are stored can be used.
fn set_repository_client(hub: &Hub, args: &ChartArgs) {
    let Some(access) = remote_access(args.chart_repositories) else { return };
    match RepositoryClient::new(access) {
        Ok(client) => hub.set_repository_client(client),
        Err(error) => tracing::warn!(%error, "repositories of charts can't be read"),
    }
}

/// Without this client, only commits that are stored can be used.
fn set_git_client(hub: &Hub, args: &ChartArgs, scratch: ScratchFolder) {
    hub.set_git_check_interval(Duration::from_secs(args.git_check_seconds));
    let Some(access) = remote_access(args.git_repositories) else { return };
    let ssh = find_ssh(args);
    match GitClient::new(access, scratch) {
        Ok(client) => hub.set_git_client(client.with_ssh(ssh)),
        Err(error) => tracing::warn!(%error, "Git repositories can't be read"),
    }
}

/// The program for Git over SSH, which ends with this server.
fn find_ssh(args: &ChartArgs) -> Option<SshProgram> {
    let wrapper = match std::env::current_exe() {
        Ok(server) => vec![server.into(), sandbox::COMMAND.into()],
        Err(error) => {
            tracing::warn!(%error, "Git is not read over SSH: the path of this program is unknown");
            return None;
        }
    };
    let found = SshProgram::find(args.ssh.as_deref(), wrapper);
    match &found {
        Some(ssh) => {
            tracing::info!(program = %ssh.path().display(), "Git repositories over SSH are read by ssh")
        }
        None => tracing::info!("Git repositories over SSH can't be read: there is no program ssh"),
    }
    found
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

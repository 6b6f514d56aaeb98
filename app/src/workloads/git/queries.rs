//! What the fields of a Git source show and do.

use domain::git_status::GitSourceStatus;
use domain::remote::PinnedCommit;
use leptos::prelude::*;

use crate::errors::AppResult;

/// The newest commit of an address that is being entered; nothing is stored in the draft.
#[server(prefix = "/api/fn", endpoint = "git_preview_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn git_preview_read(
    repository: String,
    reference: String,
    path: String,
) -> AppResult<PinnedCommit> {
    use crate::host;
    let source = domain::remote::RemoteSource {
        repository,
        reference,
        path,
        ..domain::remote::RemoteSource::default()
    };
    host::into_app_result(host::hub()?.preview_git_source(&host::actor()?, source).await)
}

/// The Git source of a workload, as it is stored.
#[server(prefix = "/api/fn", endpoint = "git_source_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn git_source_read(name: String) -> AppResult<GitSourceStatus> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.get_git_source(&name).await)
}

/// Checks the ref of a workload's Git source now.
#[server(prefix = "/api/fn", endpoint = "git_source_check")]
pub async fn git_source_check(name: String) -> AppResult<GitSourceStatus> {
    use crate::host;
    host::into_app_result(host::hub()?.check_git_source(&host::actor()?, &name).await)
}

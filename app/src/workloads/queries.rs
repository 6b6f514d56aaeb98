//! The draft of a workload, which several forms read.

use domain::workload::Workload;
use leptos::prelude::*;

use crate::errors::AppResult;

/// Reads a workload with its whole draft, for the forms.
#[server(prefix = "/api/fn", endpoint = "draft_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_read(name: String) -> AppResult<Workload> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(host::into_app_result(hub.get_workload(&name).await)?.workload)
}

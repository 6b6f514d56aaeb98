//! The query of the frame.

use domain::Timestamp;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// The data of the frame.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameData {
    /// Name of the signed-in user.
    pub user_name: String,
    /// Number of workloads.
    pub workloads: u32,
    /// Number of clusters.
    pub clusters: u32,
    /// What the database does not do now, if it is in an outage in which it can be read.
    pub outage: Option<String>,
    /// When this was read.
    pub at: Timestamp,
}

/// The frame's query.
#[server(prefix = "/api/fn", endpoint = "frame_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn frame_read() -> AppResult<FrameData> {
    use crate::host;
    let user_name = host::actor()?.name;
    let hub = host::hub()?;
    let (workloads, clusters) = host::into_app_result(hub.count_fleet().await)?;
    let outage = hub.subscribe_outage().borrow().map(|outage| outage.to_string());
    Ok(FrameData { user_name, workloads, clusters, outage, at: hub.clock().now() })
}

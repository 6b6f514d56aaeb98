//! The query of the frame.

use domain::Timestamp;
use domain::role::Role;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// The data of the frame.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameData {
    /// Name of the signed-in user.
    pub user_name: String,
    /// The role of the user.
    pub role: Option<Role>,
    /// Number of workloads.
    pub workloads: u32,
    /// Number of clusters.
    pub clusters: u32,
    /// Number of open incidents.
    #[serde(default)]
    pub incidents: u32,
    /// Number of open entries of the drift inbox, at most 1 000.
    #[serde(default)]
    pub drift: u32,
    /// What the database does not do now, if it is in an outage in which it can be read.
    pub outage: Option<String>,
    /// When this was read.
    pub at: Timestamp,
}

/// The frame's query.
#[server(prefix = "/api/fn", endpoint = "frame_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn frame_read() -> AppResult<FrameData> {
    use crate::host;
    let actor = host::actor()?;
    let hub = host::hub()?;
    let (workloads, clusters) = host::into_app_result(hub.count_fleet().await)?;
    let incidents = host::into_app_result(hub.count_open_incidents().await)?;
    let drift = host::into_app_result(hub.count_open_drift().await)?;
    let outage = hub.subscribe_outage().borrow().map(|outage| outage.to_string());
    let (user_name, role) = (actor.name, Some(actor.role));
    Ok(FrameData { user_name, role, workloads, clusters, incidents, drift, outage, at: hub.clock().now() })
}

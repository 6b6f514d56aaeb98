//! The server functions of the drift inbox: what is decided about an entry.

use domain::Digest;
use domain::drift::DriftVerb;
use leptos::prelude::*;

use super::DriftFilter;
use crate::errors::AppResult;

/// The actions of the page.
#[derive(Clone, Copy)]
pub(super) struct InboxActions {
    /// Changes the draft.
    pub decide: ServerAction<DriftDecide>,
    /// Applies the values of the workload again.
    pub revert: ServerAction<DriftRevert>,
    /// Hides an entry, or shows it again.
    pub snooze: ServerAction<DriftSnooze>,
}

impl InboxActions {
    pub(super) fn new() -> Self {
        Self { decide: ServerAction::new(), revert: ServerAction::new(), snooze: ServerAction::new() }
    }

    /// Changes with everything that is decided on this page.
    pub(super) fn version(self) -> usize {
        self.decide.version().get() + self.revert.version().get() + self.snooze.version().get()
    }
}

/// Writes live values of these fields into the draft, or a rule that ignores them, and redirects to the review of the draft; or requests
/// the cluster to write these fields back, and stays in the inbox. `version` is the resource version of the workload that the page shows.
#[server(prefix = "/api/fn", endpoint = "drift_decide")]
pub async fn drift_decide(
    id: String,
    decision: DriftVerb,
    #[server(default)] fields: Vec<String>,
    version: i64,
    digest: Digest,
) -> AppResult<()> {
    use crate::{errors::AppError, host};
    use domain::drift::{AdoptTarget, DriftAdoptRequest, DriftIgnoreRequest, DriftRevertRequest};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let id = host::into_app_result(parse_id(&id))?;
    let refuse = |message: &str, hint: &str| {
        Err(host::with_status(AppError::from_finding(domain::Finding::error("Drift", message, hint))))
    };
    if fields.is_empty() {
        return refuse("No field is selected.", "Select the fields that the decision is about.");
    }
    let digest = Some(digest);
    let changed = match decision {
        DriftVerb::AdoptBase => {
            let request = DriftAdoptRequest { into: AdoptTarget::Base, fields, digest };
            hub.adopt_drift(&actor, id, &request, Some(version)).await
        }
        DriftVerb::AdoptOverride => {
            let request = DriftAdoptRequest { into: AdoptTarget::Override, fields, digest };
            hub.adopt_drift(&actor, id, &request, Some(version)).await
        }
        DriftVerb::Ignore => {
            let request = DriftIgnoreRequest { fields, digest };
            hub.ignore_drift_of(&actor, id, &request, Some(version)).await
        }
        DriftVerb::Revert => {
            let request = DriftRevertRequest { fields, digest };
            let item = host::into_app_result(hub.revert_drift_fields(&actor, id, &request).await)?;
            leptos_axum::redirect(&crate::paths::drift_of(&item.workload, &item.cluster));
            return Ok(());
        }
        DriftVerb::Snooze => {
            return refuse("This decision does not change the draft.", "Use its own button.");
        }
    };
    let workload = host::into_app_result(changed)?;
    leptos_axum::redirect(&crate::paths::publish(&workload.name));
    Ok(())
}

/// Requests the cluster of an entry to apply the workload again now.
#[server(prefix = "/api/fn", endpoint = "drift_revert")]
pub async fn drift_revert(id: String, #[server(default)] filter: DriftFilter) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let id = host::into_app_result(parse_id(&id))?;
    host::into_app_result(hub.revert_drift(&actor, id).await)?;
    leptos_axum::redirect(&filter.address());
    Ok(())
}

/// Hides an entry for some days, unless its fields change before; 0 days show it again.
#[server(prefix = "/api/fn", endpoint = "drift_snooze")]
pub async fn drift_snooze(
    id: String,
    days: u32,
    digest: Digest,
    #[server(default)] filter: DriftFilter,
) -> AppResult<()> {
    use crate::host;
    use domain::drift::DriftSnoozeRequest;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let id = host::into_app_result(parse_id(&id))?;
    let millis = i64::from(days) * 86_400_000;
    let until = (days > 0).then(|| hub.clock().now().plus_millis(millis));
    let request = DriftSnoozeRequest { until, digest: Some(digest) };
    host::into_app_result(hub.snooze_drift(&actor, id, &request).await)?;
    leptos_axum::redirect(&filter.address());
    Ok(())
}

#[cfg(feature = "ssr")]
fn parse_id(text: &str) -> Result<domain::DriftId, hub::Error> {
    let shown = text.chars().take(80).collect::<String>();
    text.parse().map_err(|_| hub::Error::NotFound { what: "drift".into(), name: shown })
}

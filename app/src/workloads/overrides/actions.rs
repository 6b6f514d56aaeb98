//! Server functions of the overrides: read, save and remove.

use domain::workload::Workload;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::form::OverrideForm;
use crate::errors::AppResult;
use crate::workloads::placement::candidates::Candidates;

/// Data of the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverridesData {
    /// The workload with its whole draft.
    pub workload: Workload,
    /// The fleet.
    pub candidates: Candidates,
}

/// Reads the data of the editor.
#[server(prefix = "/api/fn", endpoint = "overrides_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn overrides_read(name: String) -> AppResult<OverridesData> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let (workload, fleet) = host::into_app_result(hub.get_draft_with_placement_inputs(&name).await)?;
    let candidates = Candidates::new(fleet.clusters, fleet.groups, &fleet.current);
    Ok(OverridesData { workload, candidates })
}

/// Saves one override in the draft; with `now` also in the published revision. A blank form stores nothing. Returns the name of
/// the override; empty if nothing was stored.
#[server(prefix = "/api/fn", endpoint = "override_save")]
pub async fn override_save(
    name: String,
    form: OverrideForm,
    #[server(default)] now: bool,
    #[server(default)] then: String,
) -> AppResult<String> {
    use crate::workloads::wizard::{WizardStep, redirect_after};
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut saved = String::new();
    if !form.is_blank() {
        let read = form.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
        saved.clone_from(&read.name);
        let content = domain::request::OverridePut {
            target: read.target,
            priority: read.priority,
            patches: read.patches,
        };
        let edit = hub::OverrideEdit { name: read.name, content, publish_now: now };
        host::into_app_result(hub.put_override(&actor, &name, edit).await)?;
    }
    redirect_after(&name, WizardStep::Overrides, &then);
    Ok(saved)
}

/// Removes one override from the draft; with `now` also from the published revision. Returns its name.
#[server(prefix = "/api/fn", endpoint = "override_remove")]
pub async fn override_remove(
    name: String,
    override_name: String,
    #[server(default)] now: bool,
) -> AppResult<String> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.delete_override(&actor, &name, &override_name, now).await)?;
    Ok(override_name)
}

//! How a draft stands: what the frame of the wizard shows of it.

use domain::Finding;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::Step;
use crate::errors::Answer;

/// How a draft stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Namespace for objects that name none.
    pub namespace: String,
    /// Number of the published revision.
    pub published: Option<u32>,
    /// Whether it may be edited now.
    pub editable: bool,
    /// What the guard rails say of the whole draft.
    pub findings: Vec<Finding>,
}

impl Standing {
    /// The findings that are mended in a step; the review has all.
    pub fn in_step(&self, step: Step) -> Vec<Finding> {
        let here = |finding: &&Finding| step == Step::Review || Step::of(finding) == step;
        self.findings.iter().filter(here).cloned().collect()
    }
}

/// How the stored draft stands. A workload that is not there, not yet or not any more, has no standing: that it is not
/// there is for the page of the step to say.
#[server(prefix = "/api/fn", endpoint = "standing_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn standing_read(name: String) -> Answer<Standing> {
    use crate::host;
    if name.is_empty() {
        return Ok(Standing::default());
    }
    let hub = host::hub_for_reader()?;
    let workload = match hub.workload_view(&name).await {
        Ok(view) => view.workload,
        Err(hub::Error::NotFound { .. }) => return Ok(Standing::default()),
        Err(error) => return host::answer(Err(error)),
    };
    let checked = host::answer(hub.workload_check(&name, &workload.draft).await)?;
    Ok(Standing {
        namespace: workload.draft.namespace.clone(),
        published: workload.published,
        editable: domain::can::edit(&workload).is_ok(),
        findings: checked.findings,
    })
}

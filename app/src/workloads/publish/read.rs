//! The review's one query: the draft's standing, and the plan if the address names one.

use std::collections::BTreeMap;

use domain::cluster::Reach;
use domain::placement::Decision;
use domain::plan::{BlastRadius, Effect, EffectGroup};
use domain::rollout::WaveOutlook;
use domain::workload::WorkloadView;
use domain::{Digest, Finding, Timestamp};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::Answer;

/// Everything the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The workload; without the texts of its files.
    pub view: WorkloadView,
    /// What the guard rails say, without the clusters.
    pub checked: Vec<Finding>,
    /// Where it would go.
    pub decision: Decision,
    /// Of the clusters it would go to, those that are not heard from as they should be.
    pub away: BTreeMap<String, Reach>,
    /// The waves it would go in; none if it would go everywhere at once.
    pub waves: Vec<WaveOutlook>,
    /// Objects per cluster, before overrides.
    pub objects: u32,
    /// Why it can't be published now, whatever it says.
    pub refusal: Option<String>,
    /// The plan.
    pub plan: Option<Planned>,
    /// Whether the address names a plan that is not there any more.
    pub gone: bool,
    /// The server's time.
    pub at: Timestamp,
}

impl Review {
    /// The plan's findings, which hold the clusters' own, or those of the guard rails.
    pub fn findings(&self) -> &[Finding] {
        self.plan.as_ref().map_or(&self.checked, |plan| &plan.findings)
    }

    /// Whether it could be planned and is not.
    pub const fn is_unplanned(&self) -> bool {
        self.plan.is_none() && self.refusal.is_none()
    }
}

/// A plan as the page shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Its hash.
    pub hash: Digest,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Timestamp,
    /// What the guard rails and the clusters say.
    pub findings: Vec<Finding>,
    /// What it takes away.
    pub radius: BlastRadius,
    /// Clusters with the same effect together.
    pub groups: Vec<Changed>,
    /// Who was heard.
    pub heard: Heard,
}

/// How many clusters said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Answered.
    pub answered: usize,
    /// Not asked, or asked in vain.
    pub not_asked: usize,
    /// Still asked.
    pub open: usize,
}

/// Clusters on which the same would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Which and how many; at most so many names as a page can show.
    pub group: EffectGroup,
    /// How many clusters.
    pub count: usize,
    /// What would happen there; `None` for small groups far down the list.
    pub effect: Option<Effect>,
}

/// How long one question waits for clusters.
#[cfg(feature = "ssr")]
const WAIT: std::time::Duration = std::time::Duration::from_secs(5);
/// Names shown per group.
#[cfg(feature = "ssr")]
const NAMES: usize = 40;
/// Groups shown with their fields.
#[cfg(feature = "ssr")]
const OPEN: usize = 12;

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "review_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn review_read(name: String, plan: Option<String>) -> Answer<Review> {
    use crate::host;
    use crate::workloads::source::without_texts;
    use domain::manifest;
    let hub = host::hub_for_reader()?;
    let mut view = host::answer(hub.workload_view(&name).await)?;
    let plan = match plan {
        None => None,
        Some(id) => Some(planned(&hub, &name, &id).await?),
    };
    let checked = host::answer(hub.workload_check(&name, &view.workload.draft).await)?;
    let objects = manifest::parse(view.workload.draft.source.files()).manifests.len();
    let blank = view.workload.draft.source.is_blank();
    without_texts(&mut view.workload.draft.source);
    if let Some(revision) = &mut view.published_revision {
        without_texts(&mut revision.spec.source);
    }
    let refusal = match domain::can::publish(&view.workload) {
        Err(why) => Some(why.to_string()),
        Ok(()) if blank => Some("The manifests are still empty: write or upload one first.".to_owned()),
        Ok(()) => None,
    };
    Ok(Review {
        view,
        checked: checked.findings,
        decision: checked.decision,
        away: checked.away,
        waves: checked.waves,
        objects: u32::try_from(objects).unwrap_or(u32::MAX),
        refusal,
        gone: plan.as_ref().is_some_and(Option::is_none),
        plan: plan.flatten(),
        at: hub.clock().now(),
    })
}

/// The plan with this id, if it is there and of this workload.
#[cfg(feature = "ssr")]
async fn planned(hub: &hub::Hub, name: &str, id: &str) -> Answer<Option<Planned>> {
    let Ok(id) = id.parse::<domain::PlanId>() else { return Ok(None) };
    match hub.plan_wait(id, WAIT).await {
        Ok(plan) if plan.workload == name => Ok(Some(shown(plan))),
        Ok(_) | Err(hub::Error::NotFound { .. }) => Ok(None),
        Err(error) => crate::host::answer(Err(error)),
    }
}

/// What of a plan a page can show.
#[cfg(feature = "ssr")]
fn shown(plan: domain::plan::Plan) -> Planned {
    let (answered, not_asked, open) = plan.heard();
    let changed = |(at, mut group): (usize, EffectGroup)| {
        let count = group.clusters.len();
        group.clusters.truncate(NAMES);
        let effect = group.effect.as_ref().filter(|_| at < OPEN).and_then(|digest| plan.effects.get(digest));
        Changed { count, effect: effect.cloned(), group }
    };
    Planned {
        groups: plan.groups().into_iter().enumerate().map(changed).collect(),
        heard: Heard { answered, not_asked, open },
        hash: plan.hash,
        created_at: plan.created_at,
        expires_at: plan.expires_at,
        findings: plan.findings,
        radius: plan.blast_radius,
    }
}

//! What the hub asks for its plans: what would this goal do here? Each question is answered once, from a dry run.

use std::collections::HashMap;
use std::sync::Arc;

use domain::bundle::Bundle;
use domain::guard::{Availability, unavailable};
use domain::plan::{Ask, Effect};
use domain::report::{Goal, Wants};
use domain::{Digest, Finding, PlanId};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::connect::Backoff;
use crate::link::{Link, LinkError};
use crate::run::Agent;

/// Questions worked on at once: a dry run costs the API server as much as an apply.
const AT_ONCE: usize = 2;

/// Answers what the newest list asks. A question that is no longer in the list is dropped, whatever its answer.
pub(crate) async fn run<L: Link>(agent: &Arc<Agent<L>>, mut newest: watch::Receiver<Option<Wants>>) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut known: HashMap<PlanId, AbortOnDropHandle<()>> = HashMap::new();
    while newest.changed().await.is_ok() {
        let asks = newest.borrow_and_update().as_ref().map(|list| list.asks.clone()).unwrap_or_default();
        known.retain(|plan, _| asks.iter().any(|ask| ask.plan == *plan));
        for ask in asks {
            known.entry(ask.plan).or_insert_with(|| {
                AbortOnDropHandle::new(tokio::spawn(answer(agent.clone(), room.clone(), ask)))
            });
        }
    }
}

/// Works out one answer and hands it over, trying for as long as the hub asks.
async fn answer<L: Link>(agent: Arc<Agent<L>>, room: Arc<Semaphore>, ask: Ask) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        match once(&agent, &room, &ask).await {
            Ok(()) => return,
            Err(error) => backoff.wait_for(&agent.link, "a question of a plan waits", &error).await,
        }
    }
}

async fn once<L: Link>(agent: &Agent<L>, room: &Semaphore, ask: &Ask) -> Result<(), LinkError> {
    let bundle = match &ask.goal {
        Goal::Present { bundle: digest, .. } => {
            let bytes = agent.link.planned_bundle(ask.plan, digest).await?;
            read(&bytes, digest)?
        }
        Goal::Absent { .. } => Bundle::default(),
    };
    let tried = async {
        // Never closed.
        let _place = room.acquire().await;
        agent.engine.effect(ask.release, &ask.goal, &bundle).await
    };
    // A slow registry holds up no other question.
    let (mut effect, about_images): (Effect, _) = tokio::join!(tried, images(agent, &bundle));
    effect.findings.extend(about_images);
    agent.link.answer(ask.plan, effect).await
}

/// What cannot be pulled, if there is somebody to ask.
async fn images<L: Link>(agent: &Agent<L>, bundle: &Bundle) -> Vec<Finding> {
    let Some(registries) = &agent.options.registries else { return Vec::new() };
    let known = registries.availability(bundle).await;
    let offers = known.values().any(|said| matches!(said, Availability::Offered(_)));
    let facts = if offers { agent.engine.facts().await.ok() } else { None };
    unavailable(bundle, &known, &facts.map(|facts| facts.node_pools).unwrap_or_default())
}

/// The agent trusts no bytes that do not have the digest it was told (S0-7).
fn read(bytes: &[u8], digest: &Digest) -> Result<Bundle, LinkError> {
    if Digest::of(bytes) != *digest {
        return Err(LinkError::Unreachable(format!(
            "what came for bundle {} has another hash",
            digest.short()
        )));
    }
    Bundle::from_bytes(bytes).map_err(|why| LinkError::Refused(why.to_string()))
}

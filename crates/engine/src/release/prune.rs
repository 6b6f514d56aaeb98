//! Objects of the record that the bundle no longer has go, once everything that is wanted is there (S3-13).

use domain::object::ObjectRef;
use domain::release::{StageName, StageState};

use super::pass::{Flow, Pass};
use super::remove::{Swept, sweep};
use crate::record::Entry;

/// Removes leftovers.
pub(crate) async fn run(pass: &mut Pass<'_>) -> Flow {
    let leftovers = leftovers(pass);
    if leftovers.is_empty() {
        let generation = pass.order.want.generation;
        let state = if pass.memory.pruned == Some(generation) {
            StageState::Done
        } else {
            StageState::Skipped { message: "There was nothing to prune.".to_owned() }
        };
        pass.stage(StageName::Pruned, state);
        return Flow::Go;
    }
    if !pass.policies.prune {
        let message = format!("Pruning is off; {} objects of earlier revisions stay.", leftovers.len());
        pass.stage(StageName::Pruned, StageState::Skipped { message });
        return Flow::Go;
    }
    pass.memory.pruned = Some(pass.order.want.generation);
    let Swept { remaining, state } = sweep(pass, &leftovers).await;
    let gone = |entry: &Entry| {
        leftovers.iter().any(|left| left.object == entry.object)
            && !remaining.iter().any(|left| left.object == entry.object)
    };
    pass.entries.retain(|entry| !gone(entry));
    pass.stage(StageName::Pruned, state.clone());
    if pass.is_outdated() {
        return Flow::Again;
    }
    if state.is_over() { Flow::Go } else { Flow::Stop }
}

fn leftovers(pass: &Pass<'_>) -> Vec<Entry> {
    let is_wanted = |entry: &&Entry| {
        let wanted = |object: &ObjectRef| object.same_object(&entry.object) && !pass.is_read_only(object);
        pass.prepared.objects.iter().any(|one| wanted(&one.object))
    };
    pass.entries.iter().filter(|entry| !is_wanted(entry)).cloned().collect()
}

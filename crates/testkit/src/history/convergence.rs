//! I4: when faults end, applied equals desired.

use std::collections::BTreeMap;

use super::{Action, FinalState, History, Publish, publishes, revision_reads};

pub(super) fn check(history: &History) -> Vec<String> {
    let finals: Vec<&FinalState> = history
        .entries
        .iter()
        .filter_map(|entry| match &entry.action {
            Action::Final(state) => Some(state),
            _ => None,
        })
        .collect();
    let mut faults: Vec<String> = finals.iter().filter_map(|state| state_fault(state)).collect();
    for publish in newest_publishes(history) {
        for (cluster, expected) in publish.contents {
            let workload = publish.workload;
            let found = finals.iter().find(|state| state.workload == workload && &state.cluster == cluster);
            match found {
                None => faults.push(format!(
                    "{workload} on {cluster} was not read at the end: the history is not complete"
                )),
                Some(state) if state.content.as_ref() != Some(expected) => faults.push(format!(
                    "{workload} on {cluster} has the content {:?}; publish {:?} is the newest and has {expected:?}",
                    state.content, publish.message
                )),
                Some(_) => {}
            }
        }
    }
    faults
}

fn state_fault(state: &FinalState) -> Option<String> {
    let FinalState { workload, cluster, .. } = state;
    if state.state != "Healthy" {
        return Some(format!("{workload} on {cluster} is {:?} at the end", state.state));
    }
    (state.desired.is_none() || state.desired != state.applied).then(|| {
        format!(
            "{workload} on {cluster} is Healthy at the end with the bundle {:?}, and {:?} is desired",
            state.applied, state.desired
        )
    })
}

/// The publish of the newest revision of each workload, by the last read.
fn newest_publishes(history: &History) -> Vec<Publish<'_>> {
    let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
    for read in revision_reads(history) {
        if let Some(last) = read.revisions.iter().max_by_key(|shown| shown.number) {
            newest.insert(read.workload, &last.message);
        }
    }
    publishes(history)
        .into_iter()
        .filter(|publish| newest.get(publish.workload) == Some(&publish.message))
        .collect()
}

//! I1: an accepted revision is never lost, a rejected one never appears, and a repeated request creates one.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, Outcome, Publish, RevisionRead, publishes, revision_reads};

/// The publishes of each workload by message.
type PublishesByMessage<'h> = BTreeMap<&'h str, BTreeMap<&'h str, &'h Publish<'h>>>;

pub(super) fn check(history: &History) -> Vec<String> {
    let (publishes, reads) = (publishes(history), revision_reads(history));
    let mut faults = order_faults(&publishes);
    let mut by_message: PublishesByMessage<'_> = BTreeMap::new();
    for publish in &publishes {
        by_message.entry(publish.workload).or_default().entry(publish.message).or_insert(publish);
    }
    let none = BTreeMap::new();
    for read in &reads {
        let of_workload = by_message.get(read.workload).unwrap_or(&none);
        faults.extend(missing_faults(read, of_workload.values().copied()));
        faults.extend(unexpected_faults(read, of_workload));
    }
    faults.extend(unread_faults(&publishes, &reads));
    faults.extend(change_faults(&reads));
    faults
}

/// The revision of an accepted publish, and the position of its response.
fn accepted(publish: &Publish<'_>) -> Option<(usize, u32)> {
    match publish.completed {
        Some((position, Outcome::Accepted { revision })) => Some((position, *revision)),
        _ => None,
    }
}

/// A publish that begins after another one was accepted has a higher number.
fn order_faults(publishes: &[Publish<'_>]) -> Vec<String> {
    let mut last: BTreeMap<&str, (usize, u32)> = BTreeMap::new();
    let mut faults = Vec::new();
    for publish in publishes {
        let Some((completed, revision)) = accepted(publish) else { continue };
        if let Some((before, number)) = last.get(publish.workload)
            && *before < publish.invoked
            && *number >= revision
        {
            faults.push(format!(
                "publish {:?} of {} was accepted as revision {revision}, and revision {number} had been accepted before it began",
                publish.message, publish.workload
            ));
        }
        last.insert(publish.workload, (completed, revision));
    }
    faults
}

/// Revisions that were accepted before the read began and that it does not contain.
fn missing_faults<'h>(
    read: &RevisionRead<'_>,
    of_workload: impl Iterator<Item = &'h Publish<'h>>,
) -> Vec<String> {
    let expected = of_workload.filter_map(|publish| {
        let (completed, revision) = accepted(publish)?;
        (completed < read.invoked).then_some((publish.message, revision))
    });
    let shown: BTreeSet<(&str, u32)> =
        read.revisions.iter().map(|shown| (&*shown.message, shown.number)).collect();
    let is_shown = |message, number| shown.contains(&(message, number));
    expected
        .filter(|(message, number)| !is_shown(message, *number))
        .map(|(message, number)| {
            format!("revision {number} of {} ({message:?}) was accepted and is lost", read.workload)
        })
        .collect()
}

/// Revisions that no publish explains, and publishes with more than one revision.
fn unexpected_faults(read: &RevisionRead<'_>, of_workload: &BTreeMap<&str, &Publish<'_>>) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut messages, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for shown in read.revisions {
        let workload = read.workload;
        if !numbers.insert(shown.number) {
            faults.push(format!("{workload} has two revisions {}", shown.number));
        }
        if !messages.insert(&*shown.message) {
            faults.push(format!("publish {:?} of {workload} created two revisions", shown.message));
        }
        let publish = of_workload.get(&*shown.message).copied();
        let publish = publish.filter(|publish| publish.invoked < read.completed);
        match publish {
            None => faults.push(format!("revision {} of {workload} was never published", shown.number)),
            Some(Publish { completed: Some((_, Outcome::Rejected { reason })), message, .. }) => {
                faults.push(format!(
                    "publish {message:?} of {workload} was rejected ({reason}), and its revision {} exists",
                    shown.number
                ))
            }
            Some(publish) => {
                let other = accepted(publish).filter(|(_, number)| *number != shown.number);
                faults.extend(other.map(|(_, number)| {
                    format!(
                        "publish {:?} of {workload} was accepted as {number} and is shown as {}",
                        shown.message, shown.number
                    )
                }));
            }
        }
    }
    faults
}

/// A history without a read after the last publish proves nothing about it.
fn unread_faults(publishes: &[Publish<'_>], reads: &[RevisionRead<'_>]) -> Vec<String> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for publish in publishes {
        let at = publish.completed.map_or(publish.invoked, |(position, _)| position);
        last.insert(publish.workload, at);
    }
    let is_read =
        |workload: &str, at: usize| reads.iter().any(|read| read.workload == workload && read.invoked > at);
    last.into_iter()
        .filter(|(workload, at)| !is_read(workload, *at))
        .map(|(workload, _)| {
            format!("the revisions of {workload} were never read after its last publish: the history is not complete")
        })
        .collect()
}

/// A revision that one read shows is shown by every read that begins later.
fn change_faults(reads: &[RevisionRead<'_>]) -> Vec<String> {
    let mut faults = BTreeSet::new();
    for earlier in reads {
        let later =
            reads.iter().find(|read| read.workload == earlier.workload && read.invoked > earlier.completed);
        let Some(later) = later else { continue };
        for shown in earlier.revisions.iter().filter(|shown| !later.revisions.contains(shown)) {
            faults.insert(format!(
                "revision {} of {} ({:?}) was shown and is lost",
                shown.number, earlier.workload, shown.message
            ));
        }
    }
    faults.into_iter().collect()
}

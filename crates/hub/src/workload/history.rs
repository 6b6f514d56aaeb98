//! The history of a workload: its revisions, what each changed and what came of it.

use domain::operation::Operation;
use domain::page::{ListQuery, Page};
use domain::plan::list_changed_names;
use domain::rollup::ReleaseCounts;
use domain::workload::{Intent, Revision};
use store::Tx;

use crate::operation::list_publish_operations;
use crate::{Error, Hub};

/// One page of the history of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionHistory {
    /// The revisions, newest first.
    pub page: Page<RevisionEntry>,
    /// The number of the revision that should run now; `None` while nothing is published.
    pub current: Option<u32>,
    /// The releases by state now.
    pub counts: ReleaseCounts,
}

/// A revision in the history.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionEntry {
    /// The revision.
    pub revision: Revision,
    /// The number of the revision before it; `None` for the first.
    pub previous: Option<u32>,
    /// The files and parts that changed since the revision before it, in words.
    pub changed: Vec<String>,
    /// The newest earlier revision on this page with the same content: this one is a rollback to it.
    pub same_as: Option<u32>,
    /// The next revision, if that has the content of one before this: it rolled this one back.
    pub rolled_back_by: Option<u32>,
    /// Its publish with the outcome per cluster; `None` if it was published before operations were recorded.
    pub operation: Option<Operation>,
}

impl Hub {
    /// One page of the revisions of a workload with their changes and outcomes, newest first, from one read transaction.
    pub async fn list_history(&self, name: &str, query: &ListQuery) -> Result<RevisionHistory, Error> {
        let mut tx = self.read().await?;
        let view = self.load_workload_view(&mut tx, name).await?;
        let workload = &view.workload;
        let Page { items, next, total } = store::revision::list(&mut tx, workload.id, query).await?;
        let numbers: Vec<u32> = items.iter().map(|revision| revision.number).collect();
        let operations = list_publish_operations(&mut tx, workload.id, &numbers).await?;
        let oldest = load_previous(&mut tx, items.last()).await?;
        let find = |number| operations.iter().find(|one| one.revision == Some(number)).cloned();
        let mut entries = Vec::with_capacity(items.len());
        for (at, revision) in items.iter().enumerate() {
            let earlier = items.get(at + 1..).unwrap_or_default();
            let previous = earlier.first().or(oldest.as_ref());
            let changed = previous.map(|previous| list_changed_names(&previous.spec, &revision.spec));
            let same_as = earlier.iter().find(|other| other.spec == revision.spec);
            entries.push(RevisionEntry {
                previous: previous.map(|previous| previous.number),
                changed: changed.unwrap_or_default(),
                same_as: same_as.map(|other| other.number),
                rolled_back_by: find_rollback(items.get(..at).unwrap_or_default(), earlier),
                operation: find(revision.number),
                revision: revision.clone(),
            });
        }
        let current = workload.published.filter(|_| workload.intent == Intent::Published);
        Ok(RevisionHistory { page: Page { items: entries, next, total }, current, counts: view.counts })
    }
}

/// The number of the revision after this one, if it has the content of one before it.
fn find_rollback(later: &[Revision], earlier: &[Revision]) -> Option<u32> {
    let next = later.last()?;
    earlier.iter().any(|other| other.spec == next.spec).then_some(next.number)
}

/// The revision before this one, if there is one.
async fn load_previous(tx: &mut Tx, revision: Option<&Revision>) -> Result<Option<Revision>, Error> {
    match revision {
        Some(revision) if revision.number > 1 => {
            Ok(store::revision::get(tx, revision.workload, revision.number - 1).await?)
        }
        _ => Ok(None),
    }
}

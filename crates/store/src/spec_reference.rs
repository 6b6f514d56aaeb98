//! What specs refer to: an encrypted spec can't be searched by SQL.
//!
//! Written with every draft and revision. Specs that are still in clear text are searched as before, because a server of the
//! previous release writes no references.

use std::collections::BTreeSet;

use domain::WorkloadId;
use domain::workload::{Source, WorkloadSpec};

use crate::sealed::columns::{REVISION_SPEC, WORKLOAD_DRAFT};
use crate::sealed::{RowKey, SealedColumn};
use crate::sql::{check_key_length, sql};
use crate::{Error, Tx};

/// The revision of references of a draft.
pub(crate) const DRAFT: u32 = 0;

/// References per statement; with five parameters each, below the parameter limit of both engines.
const REFERENCES_PER_STATEMENT: usize = 100;

/// A reference: kind, name, detail.
type Reference = (&'static str, String, String);

/// Kind of a reference to a cluster group.
pub(crate) const GROUP: &str = "group";
/// Kind of a reference to a chart; the detail is its version.
pub(crate) const CHART: &str = "chart";
/// Kind of a reference to a commit.
pub(crate) const COMMIT: &str = "commit";
/// Kind of a reference to a workload that has to be operational before.
pub(crate) const WORKLOAD: &str = "workload";
/// Kind of the references of a spec that can't be read: it may refer to anything.
pub(crate) const UNKNOWN: &str = "unknown";

/// The cluster groups that a spec refers to, in a placement, an override or a rollout, by name.
pub(crate) fn list_groups(spec: &WorkloadSpec) -> Vec<String> {
    let references = list_references(spec).into_iter();
    references.filter(|(kind, ..)| *kind == GROUP).map(|(_, name, _)| name).collect()
}

fn list_references(spec: &WorkloadSpec) -> BTreeSet<Reference> {
    let placement = spec.placement.predicates.iter().map(|predicate| &predicate.groups);
    let overrides = spec.overrides.iter().map(|one| &one.target.groups);
    let waves = spec.rollout.waves.iter().map(|wave| &wave.target.groups);
    let groups = placement.chain(overrides).chain(waves).flatten();
    let mut references: BTreeSet<Reference> =
        groups.map(|group| (GROUP, group.clone(), String::new())).collect();
    let workloads = spec.depends_on.iter();
    references.extend(workloads.map(|one| (WORKLOAD, one.workload.clone(), String::new())));
    if let Source::Chart(source) = &spec.source {
        references.insert((CHART, source.chart.clone(), source.version.clone()));
    }
    if let Some(pinned) = spec.source.remote().and_then(|source| source.pinned.as_ref()) {
        references.insert((COMMIT, pinned.commit.clone(), String::new()));
    }
    references
}

/// Replaces the references of a draft ([`DRAFT`]) or a revision.
pub(crate) async fn replace(
    tx: &mut Tx,
    workload: WorkloadId,
    revision: u32,
    spec: &WorkloadSpec,
) -> Result<(), Error> {
    let references = list_references(spec);
    check_lengths(&references)?;
    write(tx, &workload.to_string(), revision, references).await
}

/// [`Error::TooLong`] for a reference that no index can have.
fn check_lengths(references: &BTreeSet<Reference>) -> Result<(), Error> {
    references.iter().try_for_each(|(kind, name, detail)| {
        let (name_of, detail_of) = match *kind {
            GROUP => ("the name of a cluster group", "its detail"),
            CHART => ("the name of the chart", "the version of the chart"),
            WORKLOAD => ("the name of a workload in dependsOn", "its detail"),
            _ => ("the commit", "its detail"),
        };
        check_key_length(name_of, name).and_then(|()| check_key_length(detail_of, detail))
    })
}

/// Replaces the references of a spec that is encrypted now, by the text that is stored in this column.
pub(crate) async fn replace_for_text(
    tx: &mut Tx,
    column: &SealedColumn,
    key: &RowKey,
    text: &str,
) -> Result<(), Error> {
    let revision = match key.get(1) {
        _ if *column == WORKLOAD_DRAFT => DRAFT,
        Some(number) if *column == REVISION_SPEC => number.parse().unwrap_or(u32::MAX),
        _ => return Ok(()),
    };
    let unknown = || BTreeSet::from([(UNKNOWN, String::new(), String::new())]);
    let references = serde_json::from_str(text).ok().map(|spec| list_references(&spec));
    // A spec of an earlier release may have references that are too long.
    let references = references.filter(|found| check_lengths(found).is_ok()).unwrap_or_else(unknown);
    write(tx, &key[0], revision, references).await
}

async fn write(
    tx: &mut Tx,
    workload: &str,
    revision: u32,
    references: BTreeSet<Reference>,
) -> Result<(), Error> {
    sql("DELETE FROM spec_reference WHERE workload_id = $1 AND revision = $2")
        .bind_text(workload)
        .bind(i64::from(revision))
        .execute(tx)
        .await?;
    let references: Vec<Reference> = references.into_iter().collect();
    for some in references.chunks(REFERENCES_PER_STATEMENT) {
        let start = sql("INSERT INTO spec_reference (workload_id, revision, kind, name, detail) VALUES ");
        let insert = some.iter().enumerate().fold(start, |insert, (n, (kind, name, detail))| {
            let insert =
                insert.push(if n == 0 { "(" } else { ", (" }).push_bind(workload.to_owned()).push(", ");
            let insert = insert.push_bind(i64::from(revision)).push(", ").push_bind((*kind).to_owned());
            insert.push(", ").push_bind(name.clone()).push(", ").push_bind(detail.clone()).push(")")
        });
        insert.execute(tx).await?;
    }
    Ok(())
}

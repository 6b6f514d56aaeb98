//! The drift inbox (E-9): which objects of which releases drift, and what people decide about each.

use domain::authorization::UserAction;
use domain::drift::{DriftField, DriftItem, DriftQuery, DriftVerb, DriftedObject, list_drifted_objects};
use domain::drift_actions::{check_verb, list_possibilities};
use domain::page::Page;
use domain::release::{DesiredValues, Release};
use domain::report::limits::{is_truncated_name, omitted_count};
use domain::report::{DriftedField, ReleaseReport};
use domain::secret_content::{ChartMarks, SecretContent as _};
use domain::{Digest, DriftId, ReleaseId};
use store::Tx;
use store::drift::DriftRow;

use crate::{Actor, ActorKind, Error, Hub};

mod adopt;
mod ignore;
mod revert;
mod snooze;

pub(crate) use revert::record_field_reverts;

impl Hub {
    /// One page of the inbox as this user may read it: contested entries first, then the oldest.
    ///
    /// # Errors
    /// The cursor is not of this list.
    pub async fn list_drift(&self, actor: &Actor, query: &DriftQuery) -> Result<Page<DriftItem>, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let page = store::drift::list(&mut tx, self.project(), query, self.clock().now()).await?;
        drop(tx);
        self.hide_secrets(actor, page.map(|row| show_item(actor, row))).await
    }

    /// Number of open entries, at most [`store::drift::MAX_COUNTED`].
    pub async fn count_open_drift(&self) -> Result<u32, Error> {
        let mut tx = self.read().await?;
        Ok(store::drift::count_open(&mut tx, self.project(), self.clock().now()).await?)
    }

    /// One entry as this user may read it, with all reported fields and their desired values.
    ///
    /// # Errors
    /// There is no such entry: the object does not drift any more.
    pub async fn get_drift(&self, actor: &Actor, id: DriftId) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::View)?;
        let item = show_item(actor, self.read_drift_row(id).await?);
        let item = self.load_drift_fields(item).await?;
        self.hide_secrets(actor, item).await
    }

    async fn read_drift_row(&self, id: DriftId) -> Result<DriftRow, Error> {
        let mut tx = self.read().await?;
        self.load_drift_row(&mut tx, id).await
    }

    async fn load_drift_row(&self, tx: &mut Tx, id: DriftId) -> Result<DriftRow, Error> {
        let found = store::drift::get(tx, self.project(), id, self.clock().now()).await?;
        found.ok_or_else(|| Error::not_found("drift", id.to_string()))
    }

    /// Reads all reported fields of an entry with their desired values. One whose release is gone meanwhile keeps those of the list.
    async fn load_drift_fields(&self, mut item: DriftItem) -> Result<DriftItem, Error> {
        let details = match Box::pin(self.get_release_details(&item.workload, &item.cluster)).await {
            Ok(details) => details,
            Err(Error::NotFound { .. }) => return Ok(item),
            Err(error) => return Err(error),
        };
        let mut resources = details.view.resources.into_iter();
        let Some(resource) = resources.find(|one| one.object.is_same_object(&item.object)) else {
            return Ok(item);
        };
        let is_desired = matches!(details.desired_values, DesiredValues::AsApplied);
        let reported = list_reported_fields(resource.list_drifted_fields());
        item.fields =
            reported.into_iter().map(|field| DriftField::from_reported(field, is_desired)).collect();
        if let DesiredValues::Other(desired) = &details.desired_values {
            for field in &mut item.fields {
                let found = desired
                    .iter()
                    .find(|one| one.path == field.path && one.object.is_same_object(&item.object));
                field.desired_known = found.is_some();
                field.desired = found.and_then(|one| one.value.clone());
            }
        }
        Ok(item)
    }

    /// The reported fields of an entry that a decision is about, with their values as they were reported: those with these paths, or all.
    async fn find_decided_fields(
        &self,
        tx: &mut Tx,
        row: &DriftRow,
        paths: &[String],
    ) -> Result<Vec<DriftedField>, Error> {
        let resources = store::release::get_resources(tx, row.release).await?;
        let resource = resources.into_iter().find(|one| one.object.is_same_object(&row.item.object));
        let all = resource.map(|resource| list_reported_fields(resource.list_drifted_fields()));
        let all = all.unwrap_or_default();
        if let Some(other) = paths.iter().find(|path| !all.iter().any(|field| field.path == **path)) {
            let shown: String = other.chars().take(200).collect();
            return Err(precondition(format!(
                "{shown} of {} does not drift on {} now. Read the entry again.",
                row.item.object, row.item.cluster
            )));
        }
        let mut decided = all;
        decided.retain(|field| paths.is_empty() || paths.contains(&field.path));
        if let Some(field) = decided.iter().find(|field| is_truncated_name(&field.path)) {
            return Err(precondition(format!(
                "{} of {} is a path that is too long to be reported as a whole: name the other fields, or change the draft by hand.",
                field.path, row.item.object
            )));
        }
        if decided.is_empty() {
            let DriftItem { object, cluster, .. } = &row.item;
            return Err(precondition(format!("No field of {object} drifts on {cluster} now.")));
        }
        Ok(decided)
    }

    /// Records which objects of a release drift. `is_changed` is whether the report may differ from the last one: without a change and
    /// without drift nothing is read.
    pub(crate) async fn record_drift(
        &self,
        tx: &mut Tx,
        release: &Release,
        report: &ReleaseReport,
        is_changed: bool,
    ) -> Result<(), Error> {
        let found = list_drifted_objects(report.sync, &report.resources);
        if found.is_empty() && !is_changed {
            return Ok(());
        }
        self.replace_drift(tx, release.id(), found).await
    }

    /// Replaces the entries of a release.
    pub(crate) async fn replace_drift(
        &self,
        tx: &mut Tx,
        release: ReleaseId,
        found: Vec<DriftedObject>,
    ) -> Result<(), Error> {
        let found: Vec<_> =
            found.into_iter().map(|object| (self.ids().generate(DriftId::from_parts), object)).collect();
        store::drift::replace(tx, release, &found, self.clock().now()).await?;
        Ok(())
    }
}

/// The fields without the last one that counts those that the report left out.
fn list_reported_fields(mut fields: Vec<DriftedField>) -> Vec<DriftedField> {
    fields.retain(|field| omitted_count(&field.path).is_none());
    fields
}

/// The entry with what this user can do about it.
fn show_item(actor: &Actor, row: DriftRow) -> DriftItem {
    let role = match actor.kind {
        ActorKind::System => None,
        ActorKind::Session(_) | ActorKind::Token(_) => Some(actor.role),
    };
    let mut item = row.item;
    item.can = list_possibilities(&item, &row.workload, row.origin, role);
    // The charts of the draft say nothing about what clusters report.
    item.hide_secrets(actor.role, &ChartMarks::default());
    item
}

/// Rejects a decision that is not possible, or that is about other values than the present ones.
fn check_decision(row: &DriftRow, verb: DriftVerb, digest: Option<&Digest>) -> Result<(), Error> {
    check_verb(&row.item, &row.workload, row.origin, verb)?;
    match digest {
        Some(digest) if *digest != row.item.digest => Err(precondition(format!(
            "{} has changed again on {} since you read it. Read the entry again and repeat your decision.",
            row.item.object, row.item.cluster
        ))),
        _ => Ok(()),
    }
}

fn precondition(why: String) -> Error {
    Error::FailedPrecondition(domain::actions::ActionUnavailable(why))
}

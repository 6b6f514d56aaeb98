//! Adopts drift: live values are written into the draft, which somebody reviews and publishes.

use domain::authorization::UserAction;
use domain::drift::{
    AdoptTarget, DriftAdoptRequest, DriftVerb, adopt_into_files, find_deciding_override,
    find_override_of_cluster, put_patch,
};
use domain::event::NewEvent;
use domain::overrides::ClusterSelector;
use domain::report::DriftedField;
use domain::request::OverridePut;
use domain::workload::{Source, Workload, WorkloadSpec};
use domain::{DriftId, OverrideId, actions};
use store::drift::DriftRow;

use super::{check_decision, precondition};
use crate::overrides::OverrideChange;
use crate::workload::check_if_match;
use crate::{Actor, Error, Hub, manifests};

impl Hub {
    /// Writes live values of an entry into the draft of its workload: into the manifests, or into the override of this cluster, which is
    /// created if there is none. Nothing is published, so the drift lasts until somebody reviews the draft and publishes it. `if_match` is
    /// the resource version of the workload that was read. All fields are adopted, or none.
    ///
    /// # Errors
    /// There is no such entry; a field does not drift now, or its value is not known as a whole; the manifests can't be edited there; the
    /// fields or the draft have changed since they were read.
    pub async fn adopt_drift(
        &self,
        actor: &Actor,
        id: DriftId,
        request: &DriftAdoptRequest,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut tx = self.read().await?;
        let row = self.load_drift_row(&mut tx, id).await?;
        let verb = match request.into {
            AdoptTarget::Base => DriftVerb::AdoptBase,
            AdoptTarget::Override => DriftVerb::AdoptOverride,
        };
        check_decision(&row, verb, request.digest.as_ref())?;
        let fields = self.find_decided_fields(&mut tx, &row, &request.fields).await?;
        let memory = match request.into {
            AdoptTarget::Base => {
                let source = Box::pin(self.load_workload(&mut tx, &row.workload.name)).await?.draft.source;
                drop(tx);
                Some(Box::pin(manifests::reserve_files(&source)).await?)
            }
            AdoptTarget::Override => {
                drop(tx);
                None
            }
        };
        let edit = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            check_if_match(before.revision, if_match)?;
            actions::check_edit(before)?;
            match request.into {
                AdoptTarget::Base => {
                    // The files of a draft may have megabytes.
                    store::run_blocking_in_place(|| adopt_into_draft(&mut workload.draft, &row, &fields))?;
                    Ok(None)
                }
                AdoptTarget::Override => {
                    let change = change_override(&before.draft, &row, &fields)?;
                    change.check()?;
                    let id = change.find_id(&before.draft);
                    let id = id.unwrap_or_else(|| self.ids().generate(OverrideId::from_parts));
                    change.apply_to(&mut workload.draft, id);
                    if workload.draft == before.draft {
                        return Ok(None);
                    }
                    change.check_limits(&workload.draft)?;
                    Ok(Some(change.event(actor, workload, self.clock().now())))
                }
            }
        };
        let edited = Box::pin(self.edit_read_workload(actor, &row.workload.name, edit)).await;
        drop(memory);
        edited
    }
}

fn adopt_into_draft(spec: &mut WorkloadSpec, row: &DriftRow, fields: &[DriftedField]) -> Result<(), Error> {
    let namespace = spec.namespace.clone();
    let (object, cluster) = (&row.item.object, &row.item.cluster);
    for path in fields.iter().map(|field| &field.path) {
        if let Some(over) = find_deciding_override(&spec.overrides, cluster, object, path) {
            return Err(precondition(format!(
                "The override {} sets {path} of {object} on {cluster}, whatever the manifests have: adopt into the override.",
                over.name
            )));
        }
    }
    let Source::Yaml { files } = &mut spec.source else {
        return Err(precondition(format!(
            "The draft of {} has no files: adopt into the override of {} instead.",
            row.workload.name, row.item.cluster
        )));
    };
    Ok(adopt_into_files(files, &namespace, object, fields)?)
}

/// The override of this cluster alone with the live values.
fn change_override(
    spec: &WorkloadSpec,
    row: &DriftRow,
    fields: &[DriftedField],
) -> Result<OverrideChange, Error> {
    let cluster = &row.item.cluster;
    let (name, mut content) = match find_override_of_cluster(&spec.overrides, cluster) {
        Some(found) => {
            let (target, values, patches) =
                (found.target.clone(), found.values.clone(), found.patches.clone());
            (found.name.clone(), OverridePut { target, priority: found.priority, values, patches })
        }
        None => {
            let target = ClusterSelector { clusters: vec![cluster.clone()], ..ClusterSelector::default() };
            (new_override_name(spec, cluster)?, OverridePut { target, ..OverridePut::default() })
        }
    };
    for field in fields {
        put_patch(&mut content.patches, &row.item.object, field)?;
    }
    Ok(OverrideChange::Save { name, content })
}

/// The name of the cluster, unless an override for other clusters has it.
fn new_override_name(spec: &WorkloadSpec, cluster: &str) -> Result<String, Error> {
    let names = [cluster.to_owned(), format!("{cluster}-only")];
    let is_free = |name: &String| !spec.overrides.iter().any(|one| one.name == *name);
    names.into_iter().find(is_free).ok_or_else(|| {
        precondition(format!(
            "The overrides {cluster} and {cluster}-only are for other clusters too: rename one of them first."
        ))
    })
}

//! Makes a draft. A draft may have findings; only publishing is refused for them (S0-1).

use domain::cluster::check_labels;
use domain::event::{EventKind, NewEvent};
use domain::name;
use domain::workload::{Intent, NewWorkload, Workload};
use domain::{Finding, WorkloadId};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Makes a draft. A draft may have findings; only publishing is refused for them (S0-1).
    pub async fn workload_create(&self, actor: &Actor, new: NewWorkload) -> Result<Workload, Error> {
        let refused = unnamable(&new);
        if !refused.is_empty() {
            return Err(Error::Invalid(refused));
        }
        let now = self.clock().now();
        let workload = Workload {
            id: self.ids().make(WorkloadId::from_parts),
            project: self.project(),
            name: new.name,
            labels: new.labels,
            draft: new.spec,
            intent: Intent::Draft,
            published: None,
            draft_changed: true,
            created_by: actor.name.clone(),
            created_at: now,
            updated_at: now,
            revision: 1,
        };
        let mut tx = self.write().await?;
        if store::workload::by_name(&mut tx, self.project(), &workload.name).await?.is_some() {
            return Err(exists(&workload.name));
        }
        store::workload::insert(&mut tx, &workload).await?;
        let event =
            NewEvent::new(EventKind::WorkloadCreated, &actor.name, format!("{} was created.", workload.name))
                .workload(workload.id, &workload.name);
        self.commit(tx, Done::with(event).answering(actor, 201, &workload)).await?;
        Ok(workload)
    }
}

/// What even a draft must get right, because it can't be changed later.
fn unnamable(new: &NewWorkload) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name::check_workload(&new.name).into_iter().collect();
    findings.extend(check_labels(&new.labels));
    findings
}

/// G102: the name is taken.
fn exists(name: &str) -> Error {
    Error::Exists(format!("A workload {name:?} already exists. Pick another name, or edit that one."))
}

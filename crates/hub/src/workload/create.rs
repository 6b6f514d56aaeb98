//! Makes a draft. A draft may have findings; only publishing is refused for them (S0-1).

use domain::cluster::check_labels;
use domain::event::{EventKind, NewEvent};
use domain::name;
use domain::workload::{Intent, NewWorkload, Workload};
use domain::{Finding, WorkloadId};

use super::CheckResult;
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
        if let Some(taken) = self.name_taken(&mut tx, &workload.name).await? {
            return Err(Error::Taken(Box::new(taken)));
        }
        match store::workload::insert(&mut tx, &workload).await {
            // Another server was faster.
            Err(unique @ store::Error::Unique { .. }) => {
                tx.rollback().await?;
                let taken = self.name_taken(&mut self.read().await?, &workload.name).await?;
                return Err(taken.map_or_else(|| unique.into(), |taken| Error::Taken(Box::new(taken))));
            }
            done => done?,
        }
        let event =
            NewEvent::new(EventKind::WorkloadCreated, &actor.name, format!("{} was created.", workload.name))
                .workload(workload.id, &workload.name);
        self.commit(tx, Done::with(event).answering(actor, 201, &workload)).await?;
        Ok(workload)
    }

    /// What making a workload would say and do, without doing it.
    ///
    /// # Errors
    /// The name is another workload's (G102).
    pub async fn workload_create_check(&self, new: &NewWorkload) -> Result<CheckResult, Error> {
        let taken = self.name_taken(&mut self.read().await?, &new.name).await?;
        match taken {
            Some(taken) => Err(Error::Taken(Box::new(taken))),
            None => self.workload_check(&new.name, &new.spec).await,
        }
    }

    /// G102: whose the name is, if it is somebody's.
    async fn name_taken(&self, tx: &mut store::Tx, name: &str) -> Result<Option<Finding>, Error> {
        let found = store::workload::by_name(tx, self.project(), name).await?;
        Ok(found.map(|found| name::taken(name, store::project::DEFAULT, &found.created_by)))
    }
}

/// What even a draft must get right, because it can't be changed later.
fn unnamable(new: &NewWorkload) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name::check_workload(&new.name).into_iter().collect();
    findings.extend(check_labels(&new.labels));
    findings
}

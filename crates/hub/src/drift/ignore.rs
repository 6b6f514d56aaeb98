//! Leaves drifted fields to others, by a rule in the policies of the draft.

use domain::DriftId;
use domain::authorization::UserAction;
use domain::drift::{DriftIgnoreRequest, DriftVerb};
use domain::object::ObjectRef;
use domain::overrides::ObjectSelector;
use domain::workload::Workload;

use super::check_decision;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Adds rules for fields of an entry to the policies of the draft ([`Hub::ignore_drift`]): they take effect with the next publish.
    /// `if_match` is the resource version of the workload that was read.
    ///
    /// # Errors
    /// There is no such entry; a field does not drift now; the fields or the draft have changed since they were read; there are too many
    /// rules.
    pub async fn ignore_drift_of(
        &self,
        actor: &Actor,
        id: DriftId,
        request: &DriftIgnoreRequest,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut tx = self.read().await?;
        let row = self.load_drift_row(&mut tx, id).await?;
        check_decision(&row, DriftVerb::Ignore, request.digest.as_ref())?;
        let fields = self.find_decided_fields(&mut tx, &row, &request.fields).await?;
        drop(tx);
        let ObjectRef { kind, name, namespace, .. } = row.item.object;
        let object = ObjectSelector { kind, name, namespace };
        let paths: Vec<String> = fields.into_iter().map(|field| field.path).collect();
        Box::pin(self.add_ignore_rules(actor, &row.workload.name, (&object, paths.as_slice()), if_match))
            .await
    }
}

//! A certificate is given out.

use domain::ClusterId;
use store::Tx;
use store::identity::Identity;

use super::AgentCertificate;
use crate::authority::Request;
use crate::{Authority, Error, Hub};

impl Hub {
    /// The certificate of this key for this cluster: the one given out before while it lasts, so that an answer that was
    /// lost costs nothing, otherwise a new one.
    pub(super) async fn issue(
        &self,
        tx: &mut Tx,
        authority: &Authority,
        request: &Request,
        cluster: ClusterId,
    ) -> Result<AgentCertificate, Error> {
        let until = authority.lasts_until();
        let found = store::cluster::by_id(tx, cluster).await?;
        let found = found.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        let kept = store::identity::lasting(tx, cluster, &request.fingerprint, until).await?;
        let identity = match kept {
            Some(kept) => kept,
            None => {
                let signed = authority.for_agent(request, cluster);
                let signed = signed.map_err(|error| Error::Internal(Box::new(error)))?;
                let made = Identity {
                    serial: signed.serial,
                    cluster,
                    fingerprint: request.fingerprint.clone(),
                    certificate: signed.pem,
                    created_at: self.clock().now(),
                    not_after: signed.not_after,
                    revoked_at: None,
                };
                store::identity::insert(tx, &made).await?;
                made
            }
        };
        Ok(AgentCertificate {
            cluster,
            certificate: identity.certificate,
            not_after: identity.not_after,
            lease_seconds: found.lease_seconds,
        })
    }
}

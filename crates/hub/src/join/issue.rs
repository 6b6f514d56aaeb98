//! Issues certificates.

use domain::ClusterId;
use store::Tx;
use store::certificate::CertificateRecord;

use super::AgentCertificate;
use crate::authority::CertificateRequest;
use crate::{Authority, Error, Hub};

impl Hub {
    /// The certificate of this key for this cluster: the one issued before while it is valid long enough, so that a lost
    /// response can be repeated; otherwise a new one.
    pub(super) async fn issue_certificate(
        &self,
        tx: &mut Tx,
        authority: &Authority,
        request: &CertificateRequest,
        cluster: ClusterId,
    ) -> Result<AgentCertificate, Error> {
        let until = authority.earliest_reusable_expiry();
        let found = store::cluster::get_by_id(tx, cluster).await?;
        let found = found.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        let existing = store::certificate::find_valid(tx, cluster, &request.fingerprint, until).await?;
        let identity = match existing {
            Some(existing) => existing,
            None => {
                let signed = authority.issue_agent_certificate(request, cluster);
                let signed = signed.map_err(|error| Error::Internal(Box::new(error)))?;
                let created = CertificateRecord {
                    serial: signed.serial,
                    cluster,
                    fingerprint: request.fingerprint.clone(),
                    certificate: signed.pem,
                    created_at: self.clock().now(),
                    not_after: signed.not_after,
                    revoked_at: None,
                };
                store::certificate::insert(tx, &created).await?;
                created
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

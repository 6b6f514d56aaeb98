//! Renews an agent's certificate; the old one stays valid until it expires, so that no connection is lost.

use domain::event::{EventDetail, EventSubject, NewEvent};

use super::{AgentCertificate, AuthenticatedAgent};
use crate::authority::CertificateRequest;
use crate::hub::CommitEffects;
use crate::{Authority, Error, Hub};

impl Hub {
    /// A new certificate for the cluster of the current one, whatever the request's subject is.
    pub async fn renew_agent_certificate(
        &self,
        authority: &Authority,
        agent: &AuthenticatedAgent,
        csr: &str,
    ) -> Result<AgentCertificate, Error> {
        let Some(request) = CertificateRequest::from_pem(csr) else {
            return Err(Error::Invalid(vec![domain::Finding::error(
                "CertificateRequest",
                "The certificate request can't be read.",
                "Send one for a P-256 key, as PEM.",
            )]));
        };
        let mut tx = self.write().await?;
        // Under the write lock: a revocation that was committed in the meantime wins.
        self.check_identity(&mut tx, agent).await?;
        let issued = self.issue_certificate(&mut tx, authority, &request, agent.cluster).await?;
        let name = store::cluster::get_by_id(&mut tx, agent.cluster).await?.map(|cluster| cluster.name);
        let name = name.unwrap_or_default();
        let detail = EventDetail::CertificateRenewed { not_after: issued.not_after };
        let subject = EventSubject::cluster(agent.cluster, &name);
        let event = NewEvent::from_detail(detail, "agent", subject, self.clock().now());
        self.commit(tx, CommitEffects::with_event(event)).await?;
        Ok(issued)
    }
}

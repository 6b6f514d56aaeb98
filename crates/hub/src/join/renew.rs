//! An agent that is in gets a new certificate; the old one holds until its own end, so that nothing is cut off.

use domain::event::{EventKind, NewEvent};

use super::{AgentCertificate, AgentId};
use crate::authority::Request;
use crate::hub::Done;
use crate::{Authority, Error, Hub};

impl Hub {
    /// A new certificate for the cluster that the old one names, whatever the request says.
    pub async fn agent_renew(
        &self,
        authority: &Authority,
        agent: &AgentId,
        csr: &str,
    ) -> Result<AgentCertificate, Error> {
        let Some(request) = Request::read(csr) else {
            return Err(Error::Invalid(vec![domain::Finding::error(
                "CertificateRequest",
                "The certificate request can't be read.",
                "Send one for a P-256 key, as PEM.",
            )]));
        };
        let mut tx = self.write().await?;
        // Under the writer's lock: a revocation that was committed meanwhile wins.
        self.admitted(&mut tx, agent).await?;
        let issued = self.issue(&mut tx, authority, &request, agent.cluster).await?;
        let name = store::cluster::by_id(&mut tx, agent.cluster).await?.map(|cluster| cluster.name);
        let name = name.unwrap_or_default();
        let message = format!("The agent of cluster {name} has a certificate until {}.", issued.not_after);
        let event = NewEvent::new(EventKind::ClusterRenewed, "agent", message).cluster(agent.cluster, &name);
        self.commit(tx, Done::with(event)).await?;
        Ok(issued)
    }
}

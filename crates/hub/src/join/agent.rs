//! How the agent of a registered cluster joined, and its certificate.

use domain::Timestamp;
use domain::cluster::Cluster;
use domain::join::{
    CertificateValidity, ClusterAgent, ClusterCertificate, JoinStatus, OnboardingRecords,
    evaluate_cluster_agent,
};
use store::Tx;
use store::certificate::CertificateRecord;

use crate::Error;

/// The agent of a cluster, from the records of the registration by which it joined. A later join token or registration of its name
/// belongs to it only when it is accepted.
pub(crate) async fn load_cluster_agent(
    tx: &mut Tx,
    cluster: &Cluster,
    joining: JoinStatus,
    now: Timestamp,
) -> Result<ClusterAgent, Error> {
    let newest = store::certificate::find_newest(tx, cluster.id).await?;
    let newest = newest.map(|found| summarize_certificate(found, now));
    let (registration, decided_at) =
        store::registration::find_newest_by_cluster(tx, cluster.id).await?.unzip();
    let mut records = OnboardingRecords {
        registration,
        decided_at: decided_at.flatten(),
        cluster: Some(cluster.clone()),
        joining: Some(joining),
        ..OnboardingRecords::default()
    };
    if let Some(registration) = &records.registration {
        records.token = store::join_token::get(tx, registration.token).await?.map(|(token, _)| token);
        let issued = store::certificate::find_first(tx, cluster.id, &registration.fingerprint).await?;
        records.certificate = issued.map(|issued| (issued.created_at, issued.not_after));
    }
    Ok(evaluate_cluster_agent(&cluster.name, records, newest, now))
}

fn summarize_certificate(found: CertificateRecord, now: Timestamp) -> ClusterCertificate {
    let validity = CertificateValidity {
        issued_at: found.created_at,
        expires_at: found.not_after,
        revoked_at: found.revoked_at,
    };
    ClusterCertificate::new(found.serial, found.fingerprint, validity, now)
}

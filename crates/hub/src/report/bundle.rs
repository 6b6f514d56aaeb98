//! The bytes of a bundle, for the cluster that may have it (S0-7).

use domain::release::Release;
use domain::{ClusterId, Digest, ReleaseId};

use crate::failpoint::failpoint;
use crate::hub::Done;
use crate::{Error, Hub};

impl Hub {
    /// The canonical bytes of a bundle, if this release on this cluster may have it.
    pub async fn bundle(
        &self,
        cluster: ClusterId,
        release: ReleaseId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        let mut tx = self.read().await?;
        let found = store::release::get(&mut tx, release).await?;
        let allowed =
            found.filter(|found| found.cluster == cluster && found.released.as_ref() == Some(digest));
        // A stranger's release and a missing one read the same.
        let missing = || Error::not_found("bundle", digest.short());
        let Some(release) = allowed else { return Err(missing()) };
        if let Some(bytes) = store::artifact::get(&mut tx, digest).await? {
            failpoint("bundle.served");
            return Ok(bytes);
        }
        drop(tx);
        self.render_again(&release).await?;
        Err(missing())
    }

    /// Bytes that were lost come back by rendering again: the same revision gives the same digest (S4-8, P32).
    async fn render_again(&self, release: &Release) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::queue::PLACER.mark(&mut tx, &[release.workload], self.clock().now()).await?;
        self.commit(tx, Done { dirty: true, ..Done::default() }).await
    }
}

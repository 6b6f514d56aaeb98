//! The bytes of a bundle, for the cluster it is released to (S0-7).

use domain::release::Release;
use domain::{ClusterId, Digest, ReleaseId};

use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// When an agent may request a bundle again that is being rendered again.
const RETRY_AFTER_SECONDS: u32 = 5;

impl Hub {
    /// The canonical bytes of a bundle, if it is released to this release on this cluster.
    ///
    /// # Errors
    /// It is not released to it; [`Error::BeingRestored`] if its bytes are lost.
    pub async fn get_bundle(
        &self,
        cluster: ClusterId,
        release: ReleaseId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        let mut tx = self.read().await?;
        let found = store::release::get(&mut tx, release).await?;
        let allowed = found.filter(|found| found.cluster() == cluster && found.released() == Some(digest));
        // Another cluster's release and a missing one give the same error.
        let missing = || Error::not_found("bundle", digest.short());
        let Some(release) = allowed else { return Err(missing()) };
        if let Some(bytes) = store::artifact::get(&mut tx, digest).await? {
            failpoint("bundle.served");
            return Ok(bytes);
        }
        drop(tx);
        self.render_again(&release).await?;
        // Not missing: the agent waits for it.
        Err(Error::BeingRestored {
            what: format!("bundle {}", digest.short()),
            retry_after_seconds: RETRY_AFTER_SECONDS,
        })
    }

    /// Restores lost bytes by rendering again: the same revision gives the same digest (S4-8, P32).
    async fn render_again(&self, release: &Release) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::queue::PLACER.mark(&mut tx, &[release.workload()], self.clock().now()).await?;
        self.commit(tx, CommitEffects { wake_placer: true, ..CommitEffects::default() }).await
    }
}

//! The bytes of a bundle, for the cluster that may have it (S0-7).

use domain::{ClusterId, Digest, ReleaseId};

use crate::failpoint::failpoint;
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
            found.is_some_and(|found| found.cluster == cluster && found.released.as_ref() == Some(digest));
        // A stranger's release and a missing one read the same.
        let bytes = if allowed { store::artifact::get(&mut tx, digest).await? } else { None };
        failpoint("bundle.served");
        bytes.ok_or_else(|| Error::not_found("bundle", digest.short()))
    }
}

//! Memory for the bundles of a request whose bytes are in memory at once.

use std::time::Duration;

use domain::Finding;
use source::client_shares::{ClientReservation, VALUES_OF_USERS};
use source::requester::current_turn;
use tokio::runtime::Handle;

use crate::Error;

/// How many times the memory for values of all requests the bundles of one request may have, if nobody else needs it.
const MAX_BUDGETS: u64 = 4;

/// Bytes of bundles that need no memory of their own: the largest one, and the largest one before it. What is reserved for manifests covers
/// them, so that a plan of equal bundles does not wait for anybody.
const COVERED_BYTES: u64 = 8 << 20;

/// Memory that grows with each distinct bundle. It is in the share of the user for values of requests, because the share for manifests has
/// a part for this request already; what is larger than that is alone in it. It never waits while it grows: two that grow would wait for
/// each other.
pub(crate) struct BundlesMemory {
    reserved: ClientReservation,
    bytes: u64,
    refusal: Option<Error>,
}

impl BundlesMemory {
    /// Memory in the share of the user of this request, none yet.
    ///
    /// # Errors
    /// Others wait for all of it.
    pub async fn reserve() -> Result<Self, Error> {
        let reserved = VALUES_OF_USERS.reserve(current_turn(), 0).await?;
        Ok(Self { reserved, bytes: 0, refusal: None })
    }

    /// Extends it by so many bytes.
    ///
    /// # Errors
    /// Others use the memory, or the bundles have more than one request may have (G111).
    pub async fn extend(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes as u64;
        let most = MAX_BUDGETS * self.reserved.budget().bytes();
        if self.bytes > most {
            return Err(Error::Invalid(vec![too_large(most)]));
        }
        let needed = self.bytes.saturating_sub(COVERED_BYTES);
        if needed > 0 {
            self.reserved.extend_in_full_within(needed, Duration::ZERO).await?;
        }
        Ok(())
    }

    /// The same on a thread for blocking work; false if it is refused, then and from then on.
    pub fn try_extend(&mut self, bytes: usize) -> bool {
        if self.refusal.is_none() {
            self.refusal = Handle::current().block_on(self.extend(bytes)).err();
        }
        self.refusal.is_none()
    }

    /// The reservation, once all bundles are in memory.
    ///
    /// # Errors
    /// It was refused: others use the memory, or the bundles have more than one request may have (G111).
    pub fn finish(self) -> Result<ClientReservation, Error> {
        match self.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(self.reserved),
        }
    }
}

/// G111: what differs on the clusters is too large together.
fn too_large(most: u64) -> Finding {
    let message = format!(
        "The bundles that the clusters have and would get differ on so many of them that they have more than {} MiB together, which is what \
         this server can plan at once.",
        most >> 20
    );
    let hint = "Split the workload, use fewer template expressions and overrides in large objects, or give the server more memory.";
    Finding::error("G111", message, hint)
}

/// Tests that reserve all of a share, or need what others may reserve, run one after the other: they are in one process.
#[cfg(test)]
pub(crate) static MEMORY_TESTS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::run_blocking;
    use crate::run_for_requester;

    /// Extends memory of this user by each of these sizes; how many were accepted, and what is reserved then.
    async fn extend(user: &str, sizes: Vec<usize>) -> (usize, Result<ClientReservation, Error>) {
        let reserve = run_for_requester(user.to_owned(), BundlesMemory::reserve());
        let mut memory = reserve.await.unwrap();
        let grow =
            move || (sizes.into_iter().filter(|size| memory.try_extend(*size)).count(), memory.finish());
        run_blocking(grow).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn p19_bundles_that_differ_have_memory_of_their_user_and_are_refused_beyond_it() {
        let _alone = MEMORY_TESTS.lock().await;
        let free = async || VALUES_OF_USERS.reserve("user bruno".to_owned(), 0).await.unwrap().free_bytes();
        let before = free().await;
        let (accepted, memory) = extend("bruno", vec![4 << 20, 4 << 20]).await;
        assert_eq!((accepted, before - free().await), (2, 0), "two bundles of the largest size");
        drop(memory.unwrap());
        let (accepted, memory) = extend("bruno", vec![8 << 20, 1 << 20, 1 << 20, 1 << 20]).await;
        let memory = memory.unwrap();
        assert_eq!((accepted, before - free().await), (4, 3 << 20));
        // Others of the user find nothing free.
        let in_use = VALUES_OF_USERS.reserve("user bruno".to_owned(), before - (3 << 20)).await.unwrap();
        let (accepted, refused) = extend("bruno", vec![8 << 20, 1 << 20, 1]).await;
        let refused = refused.unwrap_err();
        assert_eq!(accepted, 1);
        assert!(matches!(refused, Error::ServerBusy { .. }), "{refused}");
        drop((in_use, memory));
        assert_eq!(free().await, before);
        // More than one request may have, whatever is free.
        let most = usize::try_from(MAX_BUDGETS * VALUES_OF_USERS.share_bytes() * 2).unwrap();
        let (accepted, refused) = extend("bruno", vec![most + (1 << 20)]).await;
        let refused = refused.unwrap_err();
        assert_eq!(accepted, 0);
        let Error::Invalid(findings) = refused else { panic!("{refused}") };
        assert_eq!(findings[0].code, "G111");
    }
}

//! Faults of the database that tests inject, in debug builds only: in a release build nothing here exists.

use parking_lot::Mutex;

use crate::{DatabaseOutage, Error};

/// The transactions that fail.
#[derive(Debug, Default)]
pub(crate) struct InjectedFault(Mutex<Option<(DatabaseOutage, u64)>>);

impl InjectedFault {
    /// The transactions after the next `skipped` fail; `None` ends it.
    pub fn set(&self, fault: Option<(DatabaseOutage, u64)>) {
        *self.0.lock() = fault;
    }

    /// Fails if the transaction that begins now is one that fails.
    pub fn check(&self) -> Result<(), Error> {
        match &mut *self.0.lock() {
            Some((outage, 0)) => Err(Error::Unavailable(*outage, sqlx::Error::WorkerCrashed)),
            Some((_, skipped)) => {
                *skipped -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

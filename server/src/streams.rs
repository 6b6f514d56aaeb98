//! Open event streams, limited per user: each holds a connection and is written to after every change.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;
use domain::UserId;
use parking_lot::Mutex;

use crate::problem::ApiError;

/// Default of the streams that a user may have open: one per tab of the console and per waiting command.
pub const DEFAULT_STREAMS_PER_USER: usize = 64;
/// `Retry-After` of a refused stream, in seconds.
const RETRY_AFTER_SECONDS: u64 = 30;

/// The open streams of every user.
#[derive(Debug)]
pub struct StreamLimiter {
    max_per_user: usize,
    open: Arc<Mutex<HashMap<UserId, usize>>>,
}

impl StreamLimiter {
    /// A limiter without open streams.
    pub fn new(max_per_user: usize) -> Self {
        Self { max_per_user, open: Arc::default() }
    }

    /// Counts a stream of this user until the permit is dropped.
    ///
    /// # Errors
    /// The user has as many open as allowed.
    pub fn open_stream(&self, user: UserId) -> Result<StreamPermit, ApiError> {
        let mut open = self.open.lock();
        let streams = open.entry(user).or_default();
        if *streams >= self.max_per_user {
            let detail = format!(
                "You have {streams} open event streams, which is the limit. Close pages of the console or commands that wait, then retry after the time in the Retry-After header."
            );
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyStreams", detail);
            return Err(error.with_retry_after(RETRY_AFTER_SECONDS));
        }
        *streams += 1;
        Ok(StreamPermit { user, open: self.open.clone() })
    }
}

/// An open stream.
#[derive(Debug)]
pub struct StreamPermit {
    user: UserId,
    open: Arc<Mutex<HashMap<UserId, usize>>>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(streams) = open.get_mut(&self.user) {
            *streams -= 1;
            if *streams == 0 {
                open.remove(&self.user);
            }
        }
    }
}

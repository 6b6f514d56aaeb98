//! Work that takes longer than other tasks of the thread should wait, as the encryption, decryption and parsing of large values does.

use tokio::runtime::{Handle, RuntimeFlavor};

/// A value of more bytes is large.
const LARGE_BYTES: usize = 64 << 10;

/// Runs `work` on this thread, which hands its async tasks over to another one; for a caller that can't wait, such as a page that is being
/// rendered. A runtime with one thread has no other, and a thread for blocking work has no tasks to hand over: there `work` runs like any
/// other code.
pub fn run_blocking_in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Does the work on a value of this many bytes; on a large one with [`run_blocking_in_place`].
pub(crate) fn process_value<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LARGE_BYTES { run_blocking_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use parking_lot::Mutex;
    use serde::Deserialize;
    use serde::de::{Deserializer, IgnoredAny};

    use super::*;
    use crate::decode::decode_json;

    static RECEIVER: Mutex<Option<Receiver<()>>> = Mutex::new(None);

    /// A value that is decoded as soon as another task has run.
    struct AwaitedValue;

    impl<'de> Deserialize<'de> for AwaitedValue {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            IgnoredAny::deserialize(deserializer)?;
            let receiver = RECEIVER.lock().take().unwrap();
            receiver.recv_timeout(Duration::from_secs(60)).unwrap();
            Ok(Self)
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_of_the_thread_run_while_it_blocks() {
        let (sender, receiver) = channel();
        let work = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            run_blocking_in_place(|| receiver.recv_timeout(Duration::from_secs(60)))
        });
        assert_eq!(work.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_runs_it_like_other_code() {
        assert_eq!(run_blocking_in_place(|| 1), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn p20_other_tasks_of_the_thread_run_while_a_large_stored_value_is_decoded() {
        let text = format!("\"{}\"", "a".repeat(100 << 10));
        let decoding = tokio::spawn(async move {
            let (sender, receiver) = channel();
            *RECEIVER.lock() = Some(receiver);
            tokio::spawn(async move { sender.send(()) });
            decode_json::<AwaitedValue>("draft", &text).map(drop)
        });
        assert_eq!(decoding.await.unwrap(), Ok(()));
    }
}

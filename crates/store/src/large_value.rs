//! Work on large values, which are encrypted, decrypted and parsed for longer than other tasks of the thread should wait.

use tokio::runtime::{Handle, RuntimeFlavor};

/// A value of more bytes is large.
const LARGE_BYTES: usize = 64 << 10;

/// Does the work on a value of this many bytes. If it is large, this thread hands its other async tasks over to another one; a runtime with
/// one thread has no other, and a thread for blocking work has none to hand over.
pub(crate) fn run_beside_others<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes > LARGE_BYTES && has_threads() { tokio::task::block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use parking_lot::Mutex;
    use serde::Deserialize;
    use serde::de::{Deserializer, IgnoredAny};

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

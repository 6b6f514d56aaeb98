//! Points where a test aborts the process, to prove that nothing is lost (P1), stops it, to prove what is shown meanwhile
//! (P31), or panics, to prove that a panic ends nothing else.
//!
//! Debug builds only: `FLOTILLA_FAILPOINT=publish.after_commit` aborts the process at that point, as `kill -9` would. A file
//! with the name of a point, whose path is `FLOTILLA_STOP_FILE`, stops the process there once, until it gets SIGCONT; the
//! file is deleted before. `FLOTILLA_PANICPOINT=placer.decide:web` panics whenever that point is passed for `web`. In a release
//! build the functions are empty.

#[cfg(debug_assertions)]
use std::collections::BTreeSet;

/// Aborts or stops the process if this point, one of [`FAILPOINTS`] or [`ROLLBACK_FAILPOINTS`], is armed.
pub fn failpoint(name: &str) {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;
        static ARMED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("FLOTILLA_FAILPOINT").ok());
        static STOP_FILE: LazyLock<Option<std::ffi::OsString>> =
            LazyLock::new(|| std::env::var_os("FLOTILLA_STOP_FILE"));
        if ARMED.as_deref() == Some(name) {
            std::process::abort();
        }
        if let Some(file) = &*STOP_FILE
            && std::fs::read_to_string(file).is_ok_and(|point| point == name)
            && std::fs::remove_file(file).is_ok()
        {
            // Sent to this thread, which therefore does not return to this code before the process has been stopped and
            // continued. A signal to the process may be taken by a thread that waits for a CPU, while this one goes on.
            let stop = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
            debug_assert!(stop.is_ok(), "the process could not be stopped");
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Every point between the call to publish and the stored report of the last cluster.
pub const FAILPOINTS: [&str; 14] = [
    "publish.before_commit",
    "publish.after_commit",
    "placer.claimed",
    "placer.decided",
    "placer.before_commit",
    "placer.after_commit",
    "placer.settled",
    "rollouts.claimed",
    "rollouts.before_settle",
    "rollouts.after_commit",
    "desired_state.served",
    "bundle.served",
    "report.before_commit",
    "report.after_commit",
];

/// The points of a rollback of a rollout: before releases are rolled back in the database, and before the rollback ends there.
pub const ROLLBACK_FAILPOINTS: [&str; 2] = ["rollback.before_commit", "rollback.before_end"];

/// The idempotency keys whose requests end between their commit and their response.
#[cfg(debug_assertions)]
static LOST_RESPONSES: parking_lot::Mutex<BTreeSet<String>> = parking_lot::Mutex::new(BTreeSet::new());

/// Lets [`loses_response`] be true once for requests with this idempotency key. Debug builds only.
pub fn arm_lost_response(key: &str) {
    #[cfg(debug_assertions)]
    LOST_RESPONSES.lock().insert(key.to_owned());
    #[cfg(not(debug_assertions))]
    let _ = key;
}

/// Whether a test lets the server end, as by `kill -9`, after the transaction of the request with this idempotency key and before anything
/// else of its response is stored.
#[cfg(debug_assertions)]
pub fn loses_response(key: &str) -> bool {
    LOST_RESPONSES.lock().remove(key)
}

/// Whether a test loses the response: never in a release build.
#[cfg(not(debug_assertions))]
pub const fn loses_response(_: &str) -> bool {
    false
}

/// The armed panics: point, subject, and how often.
#[cfg(debug_assertions)]
static ARMED_PANICS: parking_lot::Mutex<Vec<(String, String, u32)>> = parking_lot::Mutex::new(Vec::new());

/// Lets [`panicpoint`] panic `times` times at this point for this subject; 0 disarms it. Debug builds only.
pub fn arm_panicpoint(point: &str, subject: &str, times: u32) {
    #[cfg(debug_assertions)]
    {
        let mut armed = ARMED_PANICS.lock();
        armed.retain(|(at, of, _)| (at.as_str(), of.as_str()) != (point, subject));
        armed.push((point.to_owned(), subject.to_owned(), times));
    }
    #[cfg(not(debug_assertions))]
    let _ = (point, subject, times);
}

/// Panics if a test armed this point for this subject.
pub(crate) fn panicpoint(point: &str, subject: &str) {
    #[cfg(debug_assertions)]
    {
        let mut armed = ARMED_PANICS.lock();
        let found = armed.iter_mut().find(|(at, of, left)| at == point && of == subject && *left > 0);
        if let Some((_, _, left)) = found {
            *left -= 1;
            drop(armed);
            std::panic::panic_any(format!("armed at {point} for {subject}"));
        }
        static ARMED_BY_VARIABLE: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        let variable = ARMED_BY_VARIABLE.get_or_init(|| std::env::var("FLOTILLA_PANICPOINT").ok());
        if variable.as_deref().and_then(|variable| variable.split_once(':')) == Some((point, subject)) {
            std::panic::panic_any(format!("armed at {point} for {subject}"));
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = (point, subject);
}

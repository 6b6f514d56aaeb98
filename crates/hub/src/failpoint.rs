//! Points where a test aborts the process, to prove that nothing is lost (P1).
//!
//! Debug builds only: `FLOTILLA_FAILPOINT=publish.after_commit` aborts the process at that point, as `kill -9` would. In a
//! release build the function is empty.

/// Aborts the process if `FLOTILLA_FAILPOINT` is this name, one of [`FAILPOINTS`].
pub fn failpoint(name: &str) {
    #[cfg(debug_assertions)]
    {
        static ARMED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        let armed = ARMED.get_or_init(|| std::env::var("FLOTILLA_FAILPOINT").ok());
        if armed.as_deref() == Some(name) {
            std::process::abort();
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Every point between the call to publish and the stored report of the last cluster.
pub const FAILPOINTS: [&str; 13] = [
    "publish.before_commit",
    "publish.after_commit",
    "placer.claimed",
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

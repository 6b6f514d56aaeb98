//! Places where a test may kill the process, to prove that nothing is lost (P1).
//!
//! Only debug builds have them: `FLOTILLA_FAILPOINT=publish.after_commit` aborts the process when it passes there, as
//! `kill -9` would. A release build compiles to nothing.

/// Aborts the process here if `FLOTILLA_FAILPOINT` names this place. The places are listed in [`FAILPOINTS`].
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

/// Every place between the call to publish and the stored confirmation of the last cluster.
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
    "wants.served",
    "bundle.served",
    "report.before_commit",
    "report.after_commit",
];

//! What can be wrong with a pod: an annotation that the stages of `kwok.yaml` look for.

use std::time::Duration;

/// What a simulated kubelet does with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// Containers exit with 1: `CrashLoopBackOff`, or a failed pod where the restart policy is `Never`.
    Crash,
    /// Containers are killed for want of memory: exit code 137, reason `OOMKilled`.
    OutOfMemory,
    /// No image can be pulled: `ErrImagePull`, then `ImagePullBackOff`.
    ImagePull,
    /// Containers run and fail their readiness probe for ever.
    NeverReady,
    /// Containers are being created for so long.
    SlowStart(Duration),
}

impl Ailment {
    /// The annotations that give this ailment to a pod.
    pub fn annotations(self) -> Vec<(&'static str, String)> {
        let name = match self {
            Ailment::Crash => "crash",
            Ailment::OutOfMemory => "out-of-memory",
            Ailment::ImagePull => "image-pull",
            Ailment::NeverReady => "never-ready",
            Ailment::SlowStart(_) => "slow-start",
        };
        let mut annotations = vec![("testkit/ailment", name.to_owned())];
        if let Ailment::SlowStart(time) = self {
            annotations.push(("testkit/after", format!("{}ms", time.as_millis())));
        }
        annotations
    }
}

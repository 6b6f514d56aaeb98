//! Faults of simulated pods, set by annotations that the stages of `kwok.yaml` match.

use std::time::Duration;

/// A fault that the simulated kubelet reports for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodFault {
    /// Containers exit with 1: `CrashLoopBackOff`, or a failed pod where the restart policy is `Never`.
    Crash,
    /// Containers exceed their memory limit: exit code 137, reason `OOMKilled`.
    OutOfMemory,
    /// Images can't be pulled: `ErrImagePull`, then `ImagePullBackOff`.
    ImagePull,
    /// Containers run and never pass their readiness probe.
    NeverReady,
    /// Containers take this long to be created.
    SlowStart(Duration),
}

impl PodFault {
    /// The pod annotations that cause this fault.
    pub fn annotations(self) -> Vec<(&'static str, String)> {
        let name = match self {
            PodFault::Crash => "crash",
            PodFault::OutOfMemory => "out-of-memory",
            PodFault::ImagePull => "image-pull",
            PodFault::NeverReady => "never-ready",
            PodFault::SlowStart(_) => "slow-start",
        };
        let mut annotations = vec![("testkit/pod-fault", name.to_owned())];
        if let PodFault::SlowStart(time) = self {
            annotations.push(("testkit/delay", format!("{}ms", time.as_millis())));
        }
        annotations
    }
}

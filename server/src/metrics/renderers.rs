//! Metrics of the sandbox of renderers.

use domain::server_status::{RendererSandbox, SandboxMode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{ModeLabels, UnsignedGauge};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProtectionLabels {
    protection: &'static str,
}

/// The state of the sandbox.
#[derive(Debug)]
pub struct RendererMetrics {
    mode: Family<ModeLabels, UnsignedGauge>,
    protections: Family<ProtectionLabels, UnsignedGauge>,
    blocked: UnsignedGauge,
}

impl RendererMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics =
            Self { mode: Family::default(), protections: Family::default(), blocked: Gauge::default() };
        registry.register(
            "renderer_sandbox_mode",
            "What happens if the kernel does not close the sandbox of renderers: nothing is rendered (strict), or it is (bestEffort)",
            metrics.mode.clone(),
        );
        registry.register(
            "renderer_sandbox_closed",
            "Whether the sandbox of renderers closes files and network",
            metrics.protections.clone(),
        );
        registry.register(
            "renderers_blocked",
            "Whether nothing is rendered because the sandbox is not closed",
            metrics.blocked.clone(),
        );
        metrics
    }

    /// Sets the metrics.
    pub fn update(&self, sandbox: &RendererSandbox) {
        for mode in SandboxMode::ALL {
            let gauge = self.mode.get_or_create(&ModeLabels { mode: mode.as_str() });
            gauge.set(u64::from(*mode == sandbox.mode));
        }
        for (protection, is_closed) in [("files", sandbox.files_closed), ("network", sandbox.network_closed)]
        {
            self.protections.get_or_create(&ProtectionLabels { protection }).set(u64::from(is_closed));
        }
        self.blocked.set(u64::from(sandbox.problem.is_some()));
    }
}

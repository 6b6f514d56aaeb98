//! Starts a control plane with three simulated nodes, prints how to reach it, and runs it until SIGINT.

use std::io::Write;

#[tokio::main]
async fn main() {
    if !testkit::is_available("control_plane") {
        return;
    }
    let plane = testkit::ControlPlane::start(testkit::ControlPlaneOptions::with_workloads()).await;
    // Standard output may be closed.
    let _ = writeln!(
        std::io::stdout(),
        "Kubernetes {} on {}\nexport KUBECONFIG={}",
        plane.version(),
        plane.url(),
        plane.kubeconfig_path().display()
    );
    let _ = tokio::signal::ctrl_c().await;
}

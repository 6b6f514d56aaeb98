//! Starts a control plane with three simulated nodes, says how to reach it, and keeps it until it is interrupted.

use std::io::Write;

#[tokio::main]
async fn main() {
    if !testkit::available("control_plane") {
        return;
    }
    let plane = testkit::ControlPlane::start(testkit::Options::full()).await;
    // Nobody is left to serve when the output is closed.
    let _ = writeln!(
        std::io::stdout(),
        "Kubernetes {} on {}\nexport KUBECONFIG={}",
        plane.version(),
        plane.url(),
        plane.kubeconfig_file().display()
    );
    let _ = tokio::signal::ctrl_c().await;
}

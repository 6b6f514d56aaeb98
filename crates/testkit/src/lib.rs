//! Real control planes for tests, the checker of histories of runs under faults ([`history`]), and an HTTP server whose responses
//! a test decides ([`HttpServer`]).
//!
//! Control planes: etcd and kube-apiserver, and for tests that run workloads also the controller manager,
//! the scheduler and kwok, which simulates the kubelets of any number of nodes.
//!
//! Every control plane listens on 127.0.0.1 only, on its own ports, with its own certificates, and stores its data in a
//! temporary directory. No process or file outlives the test process, even if that is killed: see [`guard`].
//!
//! `FLOTILLA_KUBE_BIN` names the directory of the programs; `cargo xtask test` builds them and sets it. [`is_available`]
//! decides what happens without it.
//!
//! # Starting one
//! ```no_run
//! # async fn example() {
//! if !testkit::is_available("this test") {
//!     return;
//! }
//! let plane = testkit::ControlPlane::start(testkit::ControlPlaneOptions::default()).await;
//! let client = plane.client();
//! # }
//! ```

mod control_plane;
mod etcd;
mod flags;
mod guard;
pub mod history;
mod http_server;
mod kubeconfig;
mod pki;
mod pod_fault;
mod program;
mod reserved_port;

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

pub use control_plane::{ControlPlane, ControlPlaneOptions};
pub use http_server::{HttpRequest, HttpResponse, HttpServer};
pub use pod_fault::PodFault;
pub use reserved_port::ReservedPort;

/// Environment variable with the directory of the programs.
pub const BIN_DIR_VAR: &str = "FLOTILLA_KUBE_BIN";

/// Whether real control planes can be started. If not, prints a line with the skipped test's name, which `cargo xtask test`
/// counts and which bypasses the output capture of the test harness.
pub fn is_available(test: &str) -> bool {
    let is_set = env::var_os(BIN_DIR_VAR).is_some_and(|folder| !folder.is_empty());
    if !is_set {
        print_line(&format!(
            "did not run, no control plane: {test} ({BIN_DIR_VAR} is not set; `cargo xtask setup --kube` builds the programs)"
        ));
    }
    is_set
}

/// A command from the directory of programs, like `kubectl`; check [`is_available`] first.
pub fn command(name: &str) -> Command {
    Command::new(bin_dir().join(name))
}

fn bin_dir() -> PathBuf {
    let directory = env::var_os(BIN_DIR_VAR)
        .unwrap_or_else(|| panic!("{BIN_DIR_VAR} is not set: check testkit::is_available() first"));
    PathBuf::from(directory)
}

/// Writes a line to standard error. The test harness captures `println!` and `eprintln!`, but not this.
fn print_line(line: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

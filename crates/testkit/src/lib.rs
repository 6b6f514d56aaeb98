//! Real control planes for tests, the checker of histories of runs under faults ([`history`]), an HTTP server whose responses
//! a test decides ([`HttpServer`]), a mail server ([`SmtpServer`]), and processes of the own server program ([`StartedServer`]).
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
//! # Another version of Kubernetes
//! The programs decide the version; nothing else names one. `KUBEBUILDER_ASSETS` names a folder with all four of one release
//! (`kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kubectl`) for `cargo xtask test`: programs that are not there are of
//! the version in `xtask/src/setup/kube.rs`, and a controller manager that is newer than its API server is not supported.
//! Without xtask, with a folder that also has `etcd` and `kwok`:
//! `FLOTILLA_KUBE_BIN=FOLDER cargo test -p engine --test agreement real::`. The simulated cluster and the schema of kinds are those of one
//! release, so tests that compare them with a server of another release may find what that release changed.
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
mod corpus;
mod etcd;
mod flags;
mod guard;
pub mod history;
mod http_server;
mod kubeconfig;
mod pki;
mod pod_fault;
mod processes;
mod program;
mod reserved_port;
mod smtp_server;
mod started_server;

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub use control_plane::{ControlPlane, ControlPlaneOptions};
pub use corpus::{CORPUS_VAR, find_corpus};
pub use http_server::{HttpRequest, HttpResponse, HttpServer};
pub use pki::create_certificate_request;
pub use pod_fault::PodFault;
pub use processes::{RunningProcess, find_processes};
pub use reserved_port::ReservedPort;
pub use smtp_server::{ReceivedEmail, SmtpMode, SmtpServer};
pub use started_server::StartedServer;

/// Environment variable with the directory of the programs.
pub const BIN_DIR_VAR: &str = "FLOTILLA_KUBE_BIN";

/// How long a test waits for what has to happen. A deadline costs nothing when the test passes, so that it is far above what
/// a busy machine needs.
pub const fn patience() -> Duration {
    Duration::from_secs(300)
}

/// Whether real control planes can be started. If the run was asked to go without them, with `none` for the directory, prints
/// a line with the skipped test's name, which `cargo xtask test` counts and which bypasses the output capture of the test
/// harness.
///
/// # Panics
/// If the variable is not set: a test that lacks its programs must not pass unnoticed.
pub fn is_available(test: &str) -> bool {
    let is_asked_for = bin_dir().as_os_str() != "none";
    if !is_asked_for {
        print_line(&format!("did not run, no control plane: {test} ({BIN_DIR_VAR} is none)"));
    }
    is_asked_for
}

/// A command from the directory of programs, like `kubectl`; check [`is_available`] first.
pub fn command(name: &str) -> Command {
    Command::new(bin_dir().join(name))
}

fn bin_dir() -> PathBuf {
    let directory = env::var_os(BIN_DIR_VAR).filter(|directory| !directory.is_empty()).unwrap_or_else(|| {
        panic!(
            "set {BIN_DIR_VAR} to the directory of the programs, which `cargo xtask setup --kube` builds, or to `none` to run \
             without control planes"
        )
    });
    PathBuf::from(directory)
}

/// Writes a line to standard error. The test harness captures `println!` and `eprintln!`, but not this.
fn print_line(line: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

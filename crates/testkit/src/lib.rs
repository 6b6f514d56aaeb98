//! Real control planes for tests: etcd and kube-apiserver, and where a test needs workloads to come alive also the
//! controller manager, the scheduler and kwok, which plays the kubelets of as many nodes as are wanted.
//!
//! Everything listens on 127.0.0.1 only, on ports of its own, with certificates made for it, and keeps its data in a
//! temporary folder. Nothing outlives the test program, also when that is killed: see [`guard`].
//!
//! The programs are found in the folder that `FLOTILLA_KUBE_BIN` names; `cargo xtask test` builds them and sets it.
//! [`available`] is the one place that decides what happens without it.
//!
//! # Starting one
//! ```no_run
//! # async fn example() {
//! if !testkit::available("this test") {
//!     return;
//! }
//! let plane = testkit::ControlPlane::start(testkit::Options::default()).await;
//! let client = plane.client();
//! # }
//! ```

mod ailment;
mod control_plane;
mod etcd;
mod flags;
mod guard;
mod kubeconfig;
mod pki;
mod program;

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

pub use ailment::Ailment;
pub use control_plane::{ControlPlane, Options};

/// The variable that names the folder of programs.
pub const BIN: &str = "FLOTILLA_KUBE_BIN";

/// Whether real control planes can be started. If not, it says which test did not run, also to somebody whose test
/// harness swallows the output of tests, and in words that `cargo xtask test` counts.
pub fn available(test: &str) -> bool {
    let there = env::var_os(BIN).is_some_and(|folder| !folder.is_empty());
    if !there {
        tell(&format!(
            "did not run, no control plane: {test} ({BIN} is not set; `cargo xtask setup --kube` builds the programs)"
        ));
    }
    there
}

/// A program from the folder, like `kubectl`; ask [`available`] first.
pub fn program(name: &str) -> Command {
    Command::new(folder().join(name))
}

fn folder() -> PathBuf {
    let folder =
        env::var_os(BIN).unwrap_or_else(|| panic!("{BIN} is not set: ask testkit::available() first"));
    PathBuf::from(folder)
}

/// The test harness swallows what `println!` and `eprintln!` print, but not this.
fn tell(line: &str) {
    // Nobody is left to tell when it is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

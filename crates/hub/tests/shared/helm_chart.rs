//! A chart that the real helm renders without a sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use domain::server_status::SandboxMode;
use flate2::Compression;
use flate2::write::GzEncoder;
use hub::Hub;
use source::helm::Helm;
use source::sandbox::Sandbox;
use source::scratch::ScratchFolder;

/// Runs the program without a sandbox: the charts are those of the tests.
const RUN_PROGRAM: &str = "[ \"$1\" = --probe ] && echo files open, network open && exit 0; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";

/// Lets a server render charts.
pub async fn set_helm(hub: &Hub, scratch: &ScratchFolder) {
    let program = std::env::var_os("FLOTILLA_HELM").map(PathBuf::from);
    let program = program.expect("FLOTILLA_HELM names helm; cargo xtask test sets it");
    let run: Vec<OsString> = ["/bin/sh", "-c", RUN_PROGRAM, "sh"].map(OsString::from).into();
    let sandbox = Sandbox::measure(run, SandboxMode::BestEffort, scratch.clone()).await;
    hub.set_helm(Helm::find(Some(&program), sandbox).await.unwrap());
}

/// The chart `web` 1.0.0 with this template.
pub fn pack_chart(template: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let description = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    for (path, text) in [("web/Chart.yaml", description), ("web/templates/web.yaml", template)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

//! What a rendering leaves behind: nothing (P34).

use std::time::{Duration, Instant};

use domain::server_status::SandboxMode;
use source::sandbox::Sandbox;
use source::scratch::ScratchFolder;
use testkit::find_processes;

use super::{chart, helm_in, inputs, render_archive, sandbox_command};

/// CPU time well below the limit at which the kernel would kill it.
const LIMIT_SECONDS: u64 = 15;
/// More than the limit on CPU time, and little memory.
const BUSY: &str =
    "{{ range until 3000 }}{{ range until 3000 }}{{ range until 3000 }}{{ end }}{{ end }}{{ end }}";

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < testkit::patience(), "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn p34_a_rendering_whose_request_is_gone_is_killed_and_its_folder_deleted() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(parent.path()).unwrap();
    let sandbox = Sandbox::measure(sandbox_command(""), SandboxMode::Strict, scratch.clone()).await;
    let helm = helm_in(sandbox).await;
    let archive = chart(&[("templates/a.yaml", BUSY)]);
    let rendering =
        tokio::spawn(async move { render_archive(&helm, &archive, &inputs("password: x\n")).await });
    let path = scratch.path().to_str().unwrap().to_owned();
    let has_folders = || std::fs::read_dir(scratch.path()).unwrap().next().is_some();
    wait_until("helm runs", || !find_processes(&path).is_empty()).await;
    let process = find_processes(&path)[0];
    assert!(has_folders() && !rendering.is_finished());
    rendering.abort();
    let mut used = 0;
    let started = Instant::now();
    while let Some(seconds) = process.cpu_seconds() {
        used = seconds;
        assert!(started.elapsed() < testkit::patience(), "helm runs on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(used < LIMIT_SECONDS, "helm was not killed before its limit: {used} s");
    wait_until("its folder is deleted", || !has_folders()).await;
}

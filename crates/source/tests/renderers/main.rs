//! The real helm and kustomize in the sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use domain::Digest;
use domain::chart::ChartInputs;
use domain::server_status::SandboxMode;
use flate2::Compression;
use flate2::write::GzEncoder;
use source::helm::{Helm, PreparedChart, RenderFailed, RenderedChart};
use source::kustomize::Kustomize;
use source::sandbox::Sandbox;
use source::scratch::ScratchFolder;
use tar::{Builder, Header};

mod helm;
mod leftovers;
mod messages;
mod sandbox;

fn helm_program() -> PathBuf {
    find_program("FLOTILLA_HELM")
}

fn find_program(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{variable} names the program; cargo xtask test sets it"))
}

/// The program that enters the sandbox without these layers.
fn sandbox_command(without: &str) -> Vec<OsString> {
    let program = env!("CARGO_BIN_EXE_flotilla-sandbox").into();
    if without.is_empty() { vec![program] } else { vec![program, "--without".into(), without.into()] }
}

fn scratch() -> ScratchFolder {
    ScratchFolder::open(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("scratch")).unwrap()
}

async fn measure_sandbox(without: &str, mode: SandboxMode) -> Sandbox {
    Sandbox::measure(sandbox_command(without), mode, scratch()).await
}

async fn helm() -> Helm {
    helm_in(measure_sandbox("", SandboxMode::Strict).await).await
}

async fn helm_in(sandbox: Sandbox) -> Helm {
    Helm::find(Some(&helm_program()), sandbox).await.unwrap()
}

/// Renders a packed chart.
async fn render_archive(
    helm: &Helm,
    archive: &[u8],
    inputs: &ChartInputs,
) -> Result<RenderedChart, RenderFailed> {
    helm.render(PreparedChart::read(archive, inputs)?, inputs).await
}

async fn kustomize_in(sandbox: Sandbox) -> Kustomize {
    Kustomize::find(Some(&find_program("FLOTILLA_KUSTOMIZE")), sandbox).await.unwrap()
}

fn inputs(values: &str) -> ChartInputs {
    ChartInputs {
        chart: Digest::compute(b""),
        release_name: "web".into(),
        namespace: "shop".into(),
        values: values.into(),
        kubernetes_version: "v1.36.3".into(),
        api_versions: Vec::new(),
        is_upgrade: false,
        skip_schema_validation: false,
    }
}

/// A chart named `web` with these files beside Chart.yaml.
fn chart(files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    pack_chart("web", &files)
}

fn pack_chart(name: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let description = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    for (path, bytes) in [("Chart.yaml", description.as_bytes())].iter().chain(files) {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{name}/{path}"), *bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

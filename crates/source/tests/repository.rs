//! Repositories as the real helm writes them: `helm package` and `helm repo index`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use source::RemoteAccess;
use source::repository::{ChartRequest, Repository, RepositoryClient, RepositoryOptions};
use tempfile::TempDir;
use testkit::{HttpResponse, HttpServer};

fn run_helm(folder: &Path, args: &[&str]) {
    let helm = std::env::var_os("FLOTILLA_HELM").expect("FLOTILLA_HELM names helm; cargo xtask test sets it");
    let output = Command::new(helm).args(args).current_dir(folder).env("HOME", folder).output().unwrap();
    assert!(output.status.success(), "helm {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Packs three versions of a chart, and copies the charts of the corpus beside them.
fn fill_repository(folder: &Path) {
    fs::create_dir_all(folder.join("src/web")).unwrap();
    for version in ["0.9.0", "1.2.0+build.7", "2.0.0-rc.1"] {
        let text = format!(
            "apiVersion: v2\nname: web\nversion: {version}\nappVersion: \"1.10\"\ndescription: A chart\n"
        );
        fs::write(folder.join("src/web/Chart.yaml"), text).unwrap();
        run_helm(folder, &["package", "src/web", "--destination", "."]);
    }
    let corpus = testkit::find_corpus("the index of the real charts");
    for entry in corpus.into_iter().flat_map(|corpus| corpus.join("charts").read_dir().unwrap()) {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "tgz") {
            fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }
    run_helm(folder, &["repo", "index", "."]);
}

async fn serve(folder: PathBuf) -> HttpServer {
    HttpServer::start(move |_, request| {
        fs::read(folder.join(&request.path[1..])).map_or(HttpResponse::status(404), HttpResponse::ok)
    })
    .await
}

#[tokio::test]
async fn every_chart_of_an_index_that_helm_wrote_is_fetched_with_its_digest() {
    let folder = TempDir::new().unwrap();
    fill_repository(folder.path());
    let server = serve(folder.path().to_owned()).await;
    let client = RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap();
    let options = RepositoryOptions { url: &server.url("/"), ..RepositoryOptions::default() };
    let repository = Repository::new(options).unwrap();
    let index = client.fetch_index(&repository).await.unwrap();
    assert_eq!(index.rejected(), []);
    let web: Vec<&str> =
        index.versions("web").unwrap().iter().map(|version| version.version.as_str()).collect();
    assert_eq!(web, ["2.0.0-rc.1", "1.2.0+build.7", "0.9.0"]);
    let newest = index.charts().find(|chart| chart.name == "web").unwrap().newest;
    assert_eq!(
        (&*newest.version, &*newest.app_version, &*newest.description),
        ("1.2.0+build.7", "1.10", "A chart")
    );
    for chart in index.charts() {
        for version in index.versions(chart.name).unwrap() {
            let request = ChartRequest { name: chart.name, version: &version.version, expected: None };
            let fetched = client.fetch_chart(&repository, request).await.unwrap();
            let packed =
                fs::read(folder.path().join(format!("{}-{}.tgz", chart.name, version.version))).unwrap();
            assert_eq!(
                (fetched.archive == packed, Some(&fetched.digest)),
                (true, version.digest.as_ref()),
                "{}",
                chart.name
            );
        }
    }
}

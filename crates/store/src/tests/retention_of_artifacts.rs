//! Charts, their renderings and indexes, and contents of commits are retained as long as something refers to them.

use domain::chart::ChartVersion;
use domain::chart_repository::RepositoryStatus;
use domain::remote::{GitContent, PinnedCommit, RemoteSource};
use domain::workload::{Revision, Source, WorkloadSpec};
use domain::{Digest, generated_values::GeneratedFields};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, project_id, workload_id};
use crate::chart::ChartRendering;
use crate::chart_repository::ChartRepositoryRow;
use crate::git::GitPath;
use crate::retention::{RetainedTable, delete_batch};
use crate::{Tx, artifact, chart, chart_repository, git, revision};

const DAY: i64 = 24 * 3_600_000;
const URL: &str = "https://git.example.com/deploy.git";

async fn put(tx: &mut Tx, text: &str) -> Digest {
    let digest = Digest::compute(text.as_bytes());
    artifact::put(tx, &digest, text.as_bytes(), at(0)).await.unwrap();
    digest
}

/// Deletes what has expired after a month, in the order of the hub.
async fn delete_expired(tx: &mut Tx) {
    for table in [RetainedTable::ChartRendering, RetainedTable::GitSnapshot, RetainedTable::Artifact] {
        delete_batch(tx, table, at(30 * DAY), 100).await.unwrap();
    }
}

/// Which of these artifacts exist.
async fn list_existing(tx: &mut Tx, texts: &[&'static str]) -> Vec<&'static str> {
    let mut existing = Vec::new();
    for &text in texts {
        if artifact::exists(tx, &Digest::compute(text.as_bytes())).await.unwrap() {
            existing.push(text);
        }
    }
    existing
}

fn chart_version(version: &str, digest: &Digest) -> ChartVersion {
    ChartVersion {
        repository: "local".to_owned(),
        name: "web".to_owned(),
        version: version.to_owned(),
        digest: digest.clone(),
        size: 7,
        app_version: String::new(),
        description: String::new(),
        kubernetes_range: String::new(),
        uses_capabilities: false,
        uses_release_phase: false,
        created_by: "ana".to_owned(),
        created_at: at(0),
    }
}

/// Stores a rendering of a chart with these files.
async fn put_rendering(tx: &mut Tx, inputs: &str, chart: &Digest, files: &str) -> Digest {
    let files = put(tx, files).await;
    let inputs = Digest::compute(inputs.as_bytes());
    let rendering = ChartRendering {
        inputs: inputs.clone(),
        chart: chart.clone(),
        files,
        helm_version: "4.2.4".to_owned(),
        findings: Vec::new(),
        generated: GeneratedFields::default(),
    };
    chart::put_rendering(tx, &rendering, at(0)).await.unwrap();
    inputs
}

#[tokio::test]
async fn an_archive_stays_with_its_chart_and_what_was_rendered_from_it_as_long_as_the_chart_is_stored() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let archive = put(&mut tx, "archive").await;
        chart::insert(&mut tx, project_id(), &chart_version("1.0.0", &archive)).await.unwrap();
        let delivered = put_rendering(&mut tx, "delivered", &archive, "delivered files").await;
        put_rendering(&mut tx, "tried", &archive, "tried files").await;
        chart::mark_renderings_used(&mut tx, &[delivered]).await.unwrap();
        put(&mut tx, "archive of nothing").await;

        let all = ["archive", "delivered files", "tried files", "archive of nothing"];
        delete_expired(&mut tx).await;
        assert_eq!(list_existing(&mut tx, &all).await, ["archive", "delivered files"]);
        // No draft and no revision names the chart any more: the hub deletes only such a version.
        assert!(chart::delete(&mut tx, project_id(), "local", "web", "1.0.0").await.unwrap());
        delete_expired(&mut tx).await;
        assert_eq!(list_existing(&mut tx, &all).await, [""; 0]);
    })
    .await;
}

fn pinned(commit: char, digest: &Digest) -> PinnedCommit {
    PinnedCommit {
        commit: commit.to_string().repeat(40),
        tree: "t".repeat(40),
        digest: digest.clone(),
        content: GitContent::Chart,
        files: 1,
        author: "Ada".to_owned(),
        subject: "Change it".to_owned(),
        committed_at: at(0),
    }
}

#[tokio::test]
async fn the_content_of_a_commit_stays_with_what_was_rendered_from_it_as_long_as_a_revision_names_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let mut tx = store.write().await.unwrap();
        let path = GitPath { project: project_id(), url: URL, path: "deploy" };
        for (commit, content, files) in [('a', "named", "named files"), ('b', "passed by", "other files")] {
            let digest = put(&mut tx, content).await;
            let pinned = pinned(commit, &digest);
            git::put_snapshot(&mut tx, &path, &pinned, at(0)).await.unwrap();
            let inputs = put_rendering(&mut tx, content, &digest, files).await;
            chart::mark_renderings_used(&mut tx, &[inputs]).await.unwrap();
            if commit == 'a' {
                let source = RemoteSource {
                    repository: URL.to_owned(),
                    path: "deploy".to_owned(),
                    pinned: Some(pinned),
                    ..RemoteSource::default()
                };
                let row = Revision {
                    workload: workload_id(1),
                    number: 1,
                    spec: WorkloadSpec { source: Source::Git(Box::new(source)), ..WorkloadSpec::default() },
                    author: "ana".to_owned(),
                    message: String::new(),
                    created_at: at(0),
                    helm_versions: Vec::new(),
                };
                revision::insert(&mut tx, &row).await.unwrap();
            }
        }
        delete_expired(&mut tx).await;
        // The rendering is deleted in the pass after that of the commit's content.
        delete_expired(&mut tx).await;
        let all = ["named", "named files", "passed by", "other files"];
        assert_eq!(list_existing(&mut tx, &all).await, ["named", "named files"]);
    })
    .await;
}

#[tokio::test]
async fn the_index_of_a_repository_stays_until_another_one_was_read() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let mut row = ChartRepositoryRow {
            project: project_id(),
            name: "acme".to_owned(),
            url: "https://charts.example.com".to_owned(),
            url_identity: None,
            plain_http: false,
            credentials: None,
            created_by: "ana".to_owned(),
            created_at: at(0),
            revision: 1,
            index: Some(put(&mut tx, "first index").await),
            etag: None,
            last_modified: None,
            status: RepositoryStatus::default(),
        };
        chart_repository::insert(&mut tx, &row).await.unwrap();
        let second = put(&mut tx, "second index").await;
        let all = ["first index", "second index"];
        assert_eq!(list_existing(&mut tx, &all).await, all);
        row.index = Some(second);
        assert!(chart_repository::update(&mut tx, &row, 1).await.unwrap());
        delete_expired(&mut tx).await;
        assert_eq!(list_existing(&mut tx, &all).await, ["second index"]);
    })
    .await;
}

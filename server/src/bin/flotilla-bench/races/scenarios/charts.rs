//! Charts beside the publishes that use them.

use anyhow::{bail, ensure};
use domain::Digest;
use domain::chart::ChartSource;
use domain::chart_repository::NewChartRepository;
use domain::deployment::DeploymentRequest;
use domain::workload::{Intent, NewWorkload, Source};
use flate2::Compression;
use flate2::write::GzEncoder;
use hub::{Error, PublishOptions};
use tar::{Builder, Header};
use testkit::{HttpResponse, HttpServer};
use tokio::time::Instant;

use super::groups::deployment_request;
use crate::races::agent::ReportingAgent;
use crate::races::race::{Race, spec_on_cluster};

/// The chart of deployments, which no scenario deletes.
pub const REFERENCE: &str = "local/web";
pub const VERSION: &str = "1.0.0";

/// A packed chart with one ConfigMap.
pub fn pack_chart(name: &str, version: &str, content: &str) -> anyhow::Result<Vec<u8>> {
    let description = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let template = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ .Release.Name }}}}}}\ndata: {{content: {content}}}\n"
    );
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in [("Chart.yaml", description), ("templates/config.yaml", template)] {
        let mut header = Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{name}/{path}"), text.as_bytes())?;
    }
    Ok(builder.into_inner()?.finish()?)
}

/// The URL of a repository of charts that nothing serves: it is refused at once, without a name to be resolved.
pub fn unused_url(path: &str) -> String {
    format!("http://127.0.0.1:1/{path}")
}

/// Uploads the chart of deployments; the same archive again is no change.
pub async fn upload_once(race: &Race) -> anyhow::Result<()> {
    race.one.upload_chart(&race.actor, pack_chart("web", VERSION, "a")?).await?;
    Ok(())
}

/// A chart that is deleted while a workload with it is published: one of both is refused.
pub async fn delete_chart_in_use(race: &Race) -> anyhow::Result<()> {
    let version = format!("3.0.{}", race.round);
    race.one.upload_chart(&race.actor, pack_chart("used", &version, "a")?).await?;
    let cluster = race.name("c");
    ReportingAgent::register(&race.one, &cluster).await?;
    let name = race.name("a");
    let mut spec = spec_on_cluster(String::new(), &cluster);
    spec.source = Source::Chart(ChartSource {
        chart: "local/used".to_owned(),
        version: version.clone(),
        ..ChartSource::default()
    });
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    let publish = async {
        race.one.create_workload(&race.actor, new).await?;
        race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await
    };
    let delete = race.other.delete_chart(&race.actor, "local", "used", &version);
    let (published, deleted) = race.send_both(publish, delete).await;
    ensure!(published.is_ok() || deleted.is_ok(), "both were refused: {published:?} {deleted:?}");
    let is_published = match race.one.get_workload(&name).await {
        Ok(found) => found.workload.intent == Intent::Published,
        Err(Error::NotFound { .. }) => false,
        Err(error) => bail!(error),
    };
    let charts = race.other.list_charts(Some("used")).await?;
    let is_stored = charts.iter().any(|chart| chart.version == version);
    ensure!(is_stored || !is_published, "{name} is published with local/used {version}, which was deleted");
    ensure!(is_stored == deleted.is_err(), "the deletion answered {deleted:?}, stored: {is_stored}");
    race.clean_up(&["a"], &["c"]).await?;
    Ok(())
}

/// A repository of charts that is removed while a deployment of one of its charts is created: one of both is refused, and nothing is left
/// of a deployment that is refused.
pub async fn delete_repository_in_use(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let packed = pack_chart("web", VERSION, "a")?;
    let server = HttpServer::start(move |_, request| serve_chart(&packed, &request.path)).await;
    let repository = race.name("r");
    let new = NewChartRepository {
        name: repository.clone(),
        url: server.url("/charts"),
        ..NewChartRepository::default()
    };
    one.create_chart_repository(actor, new).await?;
    let cluster = race.name("c");
    ReportingAgent::register(one, &cluster).await?;
    let group = race.create_group("g", &cluster).await?.name;
    let name = race.name("a");
    let request = DeploymentRequest { name: format!("{repository}/web"), ..deployment_request(&name) };
    // It fetches and renders the chart, so that the race is about the writes.
    let dry_run = DeploymentRequest { dry_run: true, ..request.clone() };
    Box::pin(one.create_deployment(actor, &group, dry_run, Instant::now())).await?;
    let create = one.create_deployment(actor, &group, request, Instant::now());
    let remove = other.remove_chart_repository(actor, &repository);
    let (created, removed) = race.send_both(create, remove).await;
    ensure!(created.is_ok() != removed.is_ok(), "one is refused: {created:?} {removed:?}");
    let repositories = other.list_chart_repositories().await?;
    let is_stored = repositories.iter().any(|found| found.name == repository);
    ensure!(is_stored == removed.is_err(), "the removal answered {removed:?}, stored: {is_stored}");
    match one.get_workload(&name).await {
        Ok(_) => ensure!(created.is_ok(), "{name} was refused and is stored: {created:?}"),
        Err(Error::NotFound { .. }) => ensure!(created.is_err(), "{name} is not stored: {created:?}"),
        Err(error) => bail!(error),
    }
    race.clean_up(&["a"], &["c"]).await?;
    race.clean_up_groups(&["g"]).await?;
    let remove = async || Box::pin(one.remove_chart_repository(actor, &repository)).await;
    race.delete(&repository, remove).await
}

/// A repository with one chart.
fn serve_chart(packed: &[u8], path: &str) -> HttpResponse {
    let file = format!("web-{VERSION}.tgz");
    if path == "/charts/index.yaml" {
        let digest = Digest::compute(packed);
        let digest = digest.as_str().trim_start_matches("sha256:");
        let entry = format!("  - {{name: web, version: {VERSION}, digest: {digest}, urls: [{file}]}}");
        return HttpResponse::ok(format!("apiVersion: v1\nentries:\n  web:\n{entry}\n"));
    }
    if path == format!("/charts/{file}") { HttpResponse::ok(packed) } else { HttpResponse::status(404) }
}

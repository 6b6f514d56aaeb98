//! Charts beside the publishes that use them.

use anyhow::{bail, ensure};
use domain::chart::ChartSource;
use domain::workload::{Intent, NewWorkload, Source};
use flate2::Compression;
use flate2::write::GzEncoder;
use hub::{Error, PublishOptions};
use tar::{Builder, Header};

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

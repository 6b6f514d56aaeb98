//! The demo's sample workload.

use domain::OverrideId;
use domain::finding::Finding;
use domain::overrides::{ClusterSelector, ObjectSelector, Override, Patch, PatchOp};
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Hub, PublishOptions};
use serde_json::json;

/// Its name.
const NAME: &str = "lighthouse";

/// Creates and publishes it, if the demo has no workload of this name. A deleted sample workload is created again at the
/// next start.
///
/// # Errors
/// The hub rejects it.
pub async fn publish_once(hub: &Hub, actor: &Actor) -> Result<(), hub::Error> {
    let labels = [("team".to_owned(), "harbor".to_owned())].into();
    match hub
        .create_workload(
            actor,
            NewWorkload { name: NAME.to_owned(), labels, owners: Vec::new(), spec: sample_spec(hub) },
        )
        .await
    {
        Ok(_) => {}
        Err(hub::Error::NameTaken(_)) => return Ok(()),
        Err(error) => return Err(error),
    }
    let published = hub.publish_workload(actor, NAME, "First light", PublishOptions::default()).await?;
    for Finding { code, message, .. } in &published.findings {
        tracing::debug!(%code, "the sample workload: {message}");
    }
    Ok(())
}

/// Placed on every production cluster, with more replicas on gold clusters.
fn sample_spec(hub: &Hub) -> WorkloadSpec {
    let on = |selector: &str| selector.parse().unwrap_or_default();
    WorkloadSpec {
        namespace: "harbor".to_owned(),
        source: Source::Yaml {
            files: vec![SourceFile {
                name: "lighthouse.yaml".to_owned(),
                text: include_str!("sample/lighthouse.yaml").to_owned(),
            }],
        },
        placement: Placement {
            predicates: vec![Predicate { label_selector: on("env=prod"), ..Predicate::default() }],
            ..Placement::default()
        },
        overrides: vec![Override {
            id: OverrideId::from_parts(u64::try_from(hub.clock().now().millis()).unwrap_or_default(), 1),
            name: "gold-replicas".to_owned(),
            target: ClusterSelector { selector: Some(on("tier=gold")), ..ClusterSelector::default() },
            priority: domain::overrides::DEFAULT_PRIORITY,
            values: String::new(),
            patches: vec![Patch {
                object: ObjectSelector { kind: "Deployment".to_owned(), ..ObjectSelector::default() },
                op: PatchOp::Set { path: "/spec/replicas".to_owned(), value: json!(4) },
            }],
        }],
        ..WorkloadSpec::default()
    }
}

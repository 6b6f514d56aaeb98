//! The workload that runs from the start, so that the first page is alive.

use domain::OverrideId;
use domain::finding::Finding;
use domain::overrides::{ObjectSelector, Override, Patch, PatchOp, Target};
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Hub, Terms};
use serde_json::json;

/// Its name.
const NAME: &str = "lighthouse";

/// Makes and publishes it, if the demo has no workload of this name. Once it was deleted it stays deleted only until
/// the next start; that is what a demo is for.
///
/// # Errors
/// The hub refuses it.
pub async fn publish_once(hub: &Hub, actor: &Actor) -> Result<(), hub::Error> {
    let labels = [("team".to_owned(), "harbor".to_owned())].into();
    match hub.workload_create(actor, NewWorkload { name: NAME.to_owned(), labels, spec: spec(hub) }).await {
        Ok(_) => {}
        Err(hub::Error::Taken(_)) => return Ok(()),
        Err(error) => return Err(error),
    }
    let published = hub.workload_publish(actor, NAME, "First light", Terms::default()).await?;
    for Finding { code, message, .. } in &published.findings {
        tracing::debug!(%code, "the sample workload: {message}");
    }
    Ok(())
}

/// On every production cluster; the gold ones run more of it.
fn spec(hub: &Hub) -> WorkloadSpec {
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
            target: Target { selector: Some(on("tier=gold")), ..Target::default() },
            priority: domain::overrides::DEFAULT_PRIORITY,
            patches: vec![Patch {
                object: ObjectSelector { kind: "Deployment".to_owned(), ..ObjectSelector::default() },
                op: PatchOp::Set { path: "/spec/replicas".to_owned(), value: json!(4) },
            }],
        }],
        ..WorkloadSpec::default()
    }
}

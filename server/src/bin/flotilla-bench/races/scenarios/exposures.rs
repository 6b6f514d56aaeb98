//! Routes and node ports that one workload has on a cluster.

use anyhow::{bail, ensure};
use domain::workload::Intent;
use hub::{Error, PublishOptions};

use crate::races::race::Race;

/// Of two workloads that are published with one node port (G303) or with one host and path (G305) one is refused.
pub async fn expose_once(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?;
    let (code, text) = if race.round.is_multiple_of(2) {
        ("G305", route(&format!("shop-{}.example.com", race.round)))
    } else {
        ("G303", node_port(31_000 + race.round % 1_000))
    };
    for part in ["a", "b"] {
        race.create_draft(part, text.clone(), &cluster.name).await?;
    }
    let (first, second) = (race.name("a"), race.name("b"));
    let refused = race
        .send_rivals(
            race.one.publish_workload(&race.actor, &first, "", PublishOptions::default()),
            race.other.publish_workload(&race.actor, &second, "", PublishOptions::default()),
        )
        .await?;
    match refused {
        Error::Invalid(findings) if findings.iter().any(|finding| finding.code == code) => {}
        other => bail!("the refusal is not {code}: {other:?}"),
    }
    let mut published = 0;
    for name in [first, second] {
        let workload = race.one.get_workload(&name).await?.workload;
        published += usize::from(workload.intent == Intent::Published);
    }
    ensure!(published == 1, "{published} workloads are published");
    race.clean_up(&["a", "b"], &["c"]).await?;
    Ok(())
}

fn route(host: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: front}}\nspec:\n  rules:\n  - host: {host}\n    \
         http:\n      paths:\n      - {{path: /, pathType: Prefix, backend: {{service: {{name: front, port: {{number: 80}}}}}}}}\n"
    )
}

/// A Service with this node port.
pub fn node_port(port: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: front}}\nspec:\n  type: NodePort\n  selector: {{app: front}}\n  \
         ports: [{{port: 80, nodePort: {port}}}]\n"
    )
}

//! Values of charts that expressions make long on every cluster need a bounded amount of memory, before they are refused and while they wait
//! for their rendering (P19).

use domain::OverrideId;
use domain::chart::ChartSource;
use domain::cluster::ClusterFacts;
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, Override};
use domain::report::ReportBatch;
use domain::workload::{Source, WorkloadSpec};
use tokio::task::JoinSet;
use wire::ValidateRequest;
use wire::agent::SessionRequest;

use crate::budgets::small_chart;
use crate::server_process::{ServerProcess, workload_spec};

const MIB: u64 = 1024;
/// The clusters that have reported what charts are rendered for.
const CLUSTERS: [&str; 5] = ["eu-0", "eu-1", "eu-2", "eu-3", "eu-4"];
/// Checks at the same time.
const CHECKS: usize = 16;
/// How much the peak may grow by all of them, in KiB, in a debug build. If the values of all clusters were in memory at once, as values and
/// as the text of a rendering that waits, they would need more than 1 GiB.
const MAX_GROWTH: u64 = 300 * MIB;

/// Values of so many keys, each of which is 512 KiB long on each of the clusters.
fn long_values(layer: &str, keys: usize) -> String {
    let filters = " | map(\"{}{}\")".repeat(17);
    (0..keys).map(|key| format!("{layer}{key}: '${{{{ cluster.name{filters} }}}}'\n")).collect()
}

/// A draft with so many layers of so many long values.
fn chart_spec(number: usize, layers: usize, keys: usize) -> WorkloadSpec {
    let over = |at: usize| Override {
        id: OverrideId::from_parts(1, at as u128),
        name: format!("over-{at}"),
        target: ClusterSelector {
            clusters: CLUSTERS.map(str::to_owned).to_vec(),
            ..ClusterSelector::default()
        },
        priority: DEFAULT_PRIORITY + u32::try_from(at).unwrap(),
        values: long_values(&format!("layer{at}-"), keys),
        patches: Vec::new(),
    };
    let source = ChartSource {
        chart: "local/small".to_owned(),
        version: "1.0.0".to_owned(),
        values: format!("number: {number}\n"),
        ..ChartSource::default()
    };
    WorkloadSpec {
        source: Source::Chart(source),
        overrides: (0..layers).map(over).collect(),
        ..workload_spec(String::new(), &CLUSTERS)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_values_that_expressions_make_long_on_every_cluster_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    server.client.upload_chart(small_chart()).await.unwrap();
    for name in CLUSTERS {
        let agent = server.join_agent(name).await;
        let incarnation = agent.start_session(&SessionRequest::default()).await.unwrap().incarnation;
        let facts = ClusterFacts { kubernetes_version: "v1.36.3".to_owned(), ..ClusterFacts::default() };
        let batch = ReportBatch {
            incarnation,
            seq: 1,
            facts: Some(facts),
            schema: None,
            leftovers: None,
            releases: Vec::new(),
        };
        assert!(agent.send_reports(&batch).await.unwrap().accepted);
    }
    let before = server.memory_kib("VmHWM");
    let mut checks = JoinSet::new();
    for number in 0..CHECKS {
        let client = server.client.clone();
        // Every second one is allowed, and waits for its rendering. The others are refused.
        let is_allowed = number % 2 == 0;
        let (layers, keys) = if is_allowed { (1, 1) } else { (4, 3) };
        checks.spawn(async move {
            let spec = chart_spec(number, layers, keys);
            let request = ValidateRequest { name: format!("web-{number}"), spec };
            (is_allowed, client.validate_workload(&request).await)
        });
    }
    let mut refused = 0;
    for (is_allowed, checked) in checks.join_all().await {
        match checked {
            // What waits too long is refused, and the client has given up after some attempts.
            Err(error) => assert_eq!(error.code(), "ServerBusy", "{error}"),
            Ok(checked) => {
                let codes: Vec<&str> = checked.findings.iter().map(|finding| &*finding.code).collect();
                let is_refused = codes.iter().any(|code| matches!(*code, "G111" | "G115"));
                assert_eq!(is_refused, !is_allowed, "{codes:?}");
                refused += usize::from(is_refused);
            }
        }
    }
    assert!(refused > 0);
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB");
}

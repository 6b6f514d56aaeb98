//! Nested JSON, which needs a hundred times its text when it is parsed, for a server that may use 1 GiB.

use domain::page::ListQuery;
use domain::report::DriftedField;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use wire::{AgentClient, ClusterPatch};

use crate::largest_inputs::batch_of;
use crate::server_process::ServerProcess;

/// Levels of each value; less than an object may have.
const LEVELS: usize = 50;
/// Maps in patches of 1 MiB, which are refused by the memory that they need, and in patches that are refused by their number.
const MAPS: [usize; 2] = [200_000, 20_000];
/// Maps in a report of an agent: more than all messages may need, and a part of that.
const TOO_MANY_MAPS: usize = 150_000;
const MANY_MAPS: usize = 60_000;
/// Requests of each kind at the same time.
const REQUESTS: usize = 8;
/// Lists of clusters at the same time: decoded, their values need ten times what all requests may have for such values.
const READS: usize = 32;
/// Clusters whose values are as many as are accepted.
const WIDE_CLUSTERS: usize = 15;

/// A list with so many maps, each of them in another one.
fn nested(maps: usize) -> String {
    let item = format!("{}0{}", r#"{"":"#.repeat(LEVELS), "}".repeat(LEVELS));
    format!("[{}]", vec![item; maps / LEVELS].join(","))
}

/// The status of a request to create a workload with this value in a patch.
async fn create(console: String, token: String, value: String) -> String {
    let patch = format!(r#"{{"object":{{}},"op":"merge","value":{{"data":{value}}}}}"#);
    let over = format!(
        r#"{{"id":"01J00000000000000000000000","name":"wide","target":{{"clusters":["offline-0"]}},"patches":[{patch}]}}"#
    );
    let body = format!(r#"{{"name":"nested","spec":{{"namespace":"default","overrides":[{over}]}}}}"#);
    let head = format!(
        "POST /api/v1/projects/default/workloads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(&console).await else { return String::new() };
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).chars().skip("HTTP/1.1 ".len()).take(3).collect()
}

/// Patches that nest values. None is stored.
pub async fn create_with_nested_patches(server: &ServerProcess) {
    for maps in MAPS {
        let mut requests = JoinSet::new();
        for _ in 0..REQUESTS {
            requests.spawn(create(server.console.clone(), server.token.clone(), nested(maps)));
        }
        let statuses = requests.join_all().await;
        // A refusal before the body has arrived may close the connection without an answer.
        let is_refused = |status: &String| ["413", "422", "503", ""].contains(&status.as_str());
        assert!(statuses.iter().all(is_refused), "{statuses:?}");
        assert!(statuses.iter().any(|status| ["413", "422"].contains(&status.as_str())), "{statuses:?}");
    }
}

/// Reports of two agents whose drifted fields have nested values.
pub async fn report_nested_values(agents: &[AgentClient]) {
    let batch = |maps: usize| {
        let value: Value = serde_json::from_str(&nested(maps)).unwrap();
        batch_of(vec![DriftedField { applied: Some(value), ..DriftedField::default() }])
    };
    let refused = Box::pin(agents[0].send_reports(&batch(TOO_MANY_MAPS))).await.unwrap_err();
    assert!(refused.to_string().contains("may need 64 MiB on this server"), "{refused}");
    let many = batch(MANY_MAPS);
    let mut reports = JoinSet::new();
    for number in 0..REQUESTS {
        let (agent, batch) = (agents[number % agents.len()].clone(), many.clone());
        // It is of a session that the server does not know: it is parsed, and then refused.
        reports.spawn(async move { agent.send_reports(&batch).await.map(drop) });
    }
    drop(reports.join_all().await);
}

/// Clusters with as many nested values as are accepted, and lists of them by many requests at once.
pub async fn read_clusters_with_nested_values(server: &ServerProcess) {
    let list: Value = serde_json::from_str(&nested(950)).unwrap();
    let values: Map<String, Value> = [("list".to_owned(), list)].into_iter().collect();
    let patch = ClusterPatch { values: Some(values), ..ClusterPatch::default() };
    for number in 0..WIDE_CLUSTERS {
        let name = format!("offline-{number}");
        Box::pin(server.client.patch_cluster(&name, &patch, None)).await.unwrap();
    }
    let mut reads = JoinSet::new();
    for _ in 0..READS {
        let client = server.client.clone();
        reads.spawn(async move { client.list_clusters(&ListQuery::default()).await.map(drop) });
    }
    drop(reads.join_all().await);
}

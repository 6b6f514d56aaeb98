//! Charts whose files have a million values need a bounded amount of memory, whatever is read of them: a nested list of two bytes needs
//! hundreds of bytes as a value (P19).

use domain::api_token::NewApiToken;
use domain::chart::ChartSource;
use domain::role::Role;
use domain::workload::{NewWorkload, Source, WorkloadSpec};
use tokio::task::JoinSet;
use wire::{Client, ValidateRequest};

use crate::budgets::{make_noise, pack_chart};
use crate::responses::{read, sign_in};
use crate::server_process::{ServerProcess, workload_spec};

const MIB: u64 = 1024;
/// Charts that are read at the same time, each of them five times. The schema of one would need 300 MiB, and its words and default values
/// 35 MiB: without a bound all reads together need more than 3 GiB.
const CHARTS: usize = 2;
/// Reads and checks of each chart.
const READS: usize = 2;
/// How much the peak may grow by all of them, in KiB: what is unpacked, and its share of values, in a debug build.
const MAX_GROWTH: u64 = 700 * MIB;
/// Lists, maps and numbers in the schema, five for each item: 20 times as many as are read.
const SCHEMA_ITEMS: usize = 200_000;
/// Default values, and words in a template: twice as many as are compared.
const DEFAULT_VALUES: usize = 40_000;
const WORDS: usize = 150_000;

/// A chart of a million values in its schema, and with many default values and words in a template.
fn nested_chart(number: usize) -> Vec<u8> {
    let description = format!("apiVersion: v2\nname: nested\nversion: 1.0.{number}\n");
    let schema = format!("{{\"x\":[{}0]}}", "[[[{\"\":0}]]],".repeat(SCHEMA_ITEMS));
    let defaults = format!("a: [{}]\n", vec!["[]"; DEFAULT_VALUES].join(","));
    let words: String = (0..WORDS).map(|word| format!("w{word:06} ")).collect();
    let template = format!("{{{{/* {words} */}}}}");
    pack_chart([
        ("nested/Chart.yaml", description.as_bytes()),
        ("nested/values.schema.json", schema.as_bytes()),
        ("nested/values.yaml", defaults.as_bytes()),
        ("nested/templates/words.yaml", template.as_bytes()),
        ("nested/noise", make_noise(number, 256 << 10).as_slice()),
    ])
}

fn nested_spec(number: usize) -> WorkloadSpec {
    let source = ChartSource {
        chart: "local/nested".to_owned(),
        version: format!("1.0.{number}"),
        values: "visible: visible-value\n".to_owned(),
        ..ChartSource::default()
    };
    WorkloadSpec { source: Source::Chart(source), ..workload_spec(String::new(), &[]) }
}

/// Uploads the charts, and stores a workload of each; returns a client of the role viewer.
pub async fn upload_nested_charts(server: &ServerProcess) -> Client {
    for number in 0..CHARTS {
        server.client.upload_chart(nested_chart(number)).await.unwrap();
        let name = format!("nested-{number}");
        let new = NewWorkload { name, spec: nested_spec(number), ..NewWorkload::default() };
        server.client.create_workload(&new).await.unwrap();
    }
    let token = NewApiToken { role: Some(Role::Viewer), ..NewApiToken::new("viewer", 1) };
    let token = server.client.create_token(&token).await.unwrap().secret;
    Client::new(&format!("http://{}", server.console), &token).unwrap()
}

/// Reads the workloads as a viewer, whose values are hidden by the schemas, checks their values, and opens their forms; all at the same time.
/// Returns what viewers have read, and the answers with the forms.
pub async fn read_nested_charts(
    server: &ServerProcess,
    viewer: &Client,
    cookie: &str,
) -> (Vec<String>, Vec<String>) {
    let (mut hidden, mut checks) = (JoinSet::new(), JoinSet::new());
    for number in 0..CHARTS {
        for _ in 0..READS {
            let viewer = viewer.clone();
            hidden.spawn(async move {
                let read = viewer.get_workload(&format!("nested-{number}")).await;
                read.map(|view| serde_json::to_string(&view.workload.draft.source).unwrap())
            });
            let (client, spec) = (server.client.clone(), nested_spec(number));
            checks.spawn(async move {
                let request = ValidateRequest { name: format!("nested-{number}"), spec };
                client.validate_workload(&request).await.map(drop)
            });
        }
    }
    let open_form = |number: usize| {
        let path = format!("/api/fn/chart_values_read?chart=local%2Fnested&version=1.0.{number}");
        async move { read(server, &path, cookie).await }
    };
    let forms = futures::future::join_all((0..CHARTS).map(open_form)).await;
    let hidden = hidden.join_all().await;
    let checks = checks.join_all().await;
    // What waits too long is refused, and the client has given up after some attempts.
    let refused = checks.iter().filter_map(|checked| checked.as_ref().err());
    for error in refused.chain(hidden.iter().filter_map(|read| read.as_ref().err())) {
        assert!(matches!(error.code(), "ServerBusy" | "Timeout"), "{error}");
    }
    (hidden.into_iter().filter_map(Result::ok).collect(), forms)
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_charts_with_a_million_values_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let cookie = sign_in(&server).await;
    let viewer = upload_nested_charts(&server).await;
    let before = server.memory_kib("VmHWM");
    let (hidden, forms) = read_nested_charts(&server, &viewer, &cookie).await;
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB");
    assert!(!hidden.is_empty());
    for source in hidden {
        assert!(source.contains("(hidden)") && !source.contains("visible-value"), "{source}");
    }
    for form in &forms {
        assert!(form.starts_with("HTTP/1.1 200") || form.starts_with("HTTP/1.1 503"), "{form:.500}");
    }
    assert!(forms.iter().any(|form| form.contains("\"isSchemaTooLarge\":true")), "{:.500}", forms[0]);
}

//! `HelmChart` of K3s and RKE2, with the `HelmChartConfig` of its name.

use serde_json::{Map, Value, json};

use super::address::{OCI_SCHEME, read_oci_url, read_version};
use super::object_list::ObjectList;
use super::object_reader::{ObjectReader, Reasons};
use super::values::{
    ValueItem, check_text, find_set_notation, merge_texts, parse_set_key, parse_set_value, set_items,
    with_line_end,
};
use super::{ChartAddress, UnwrappedChart, refuse};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::text::finding::Finding;

const CREDENTIALS: &str = "Credentials belong to the repository of charts: flotilla chart repo add.";
const NO_JOB: &str = "The server renders the chart, and no job of Helm runs on the cluster.";
const REASONS: &Reasons = &[
    ("/spec/bootstrap", "Nothing is applied before the agent runs on its cluster."),
    ("/spec/repoCA", "The server verifies repositories with its own trusted certificates."),
    ("/spec/repoCAConfigMap", "The server verifies repositories with its own trusted certificates."),
    ("/spec/insecureSkipTLSVerify", "The server always verifies the certificates of repositories."),
    ("/spec/plainHTTP", "It is an option of the repository of charts."),
    ("/spec/authSecret", CREDENTIALS),
    ("/spec/authPassCredentials", CREDENTIALS),
    ("/spec/dockerRegistrySecret", CREDENTIALS),
    (
        "/spec/valuesSecrets",
        "Values are not read from Secrets of a cluster: write them in the values of the workload.",
    ),
    ("/spec/helmVersion", NO_JOB),
    ("/spec/jobImage", NO_JOB),
    ("/spec/backOffLimit", NO_JOB),
    ("/spec/podSecurityContext", NO_JOB),
    ("/spec/securityContext", NO_JOB),
    ("/spec/timeout", "Health is observed in any case, and nothing is aborted after a time."),
    ("/spec/failurePolicy", "A cluster that fails is retried, and a user rolls it back."),
];

pub(super) fn read(object: &Value, list: &mut ObjectList<'_>) -> Result<UnwrappedChart, Box<Finding>> {
    let mut reader = ObjectReader::new(object);
    let label = reader.describe();
    let address = read_address(&mut reader)?;
    let own_namespace = reader.text("/metadata/namespace").to_owned();
    let release_name = reader.text("/metadata/name").to_owned();
    let target = reader.text("/spec/targetNamespace");
    let namespace = if target.is_empty() { own_namespace.clone() } else { target.to_owned() };
    let mut policies = Map::new();
    if let Some(create) = reader.flag("/spec/createNamespace") {
        policies.insert("createNamespace".to_owned(), create.into());
    }
    if reader.flag("/spec/takeOwnership") == Some(true) {
        policies.insert("conflict".to_owned(), json!("force"));
    }
    let mut values = read_values(&mut reader, &label)?;
    let mut not_carried = Vec::new();
    let config = list.find(("helm.cattle.io", "HelmChartConfig"), (&own_namespace, &release_name));
    if let Some(config) = config {
        let mut reader = ObjectReader::new(config);
        let label = reader.describe();
        let over = read_values(&mut reader, &label)?;
        values = merge_texts(&values, &over);
        not_carried = reader.list_not_carried(REASONS);
    }
    let values = set_items(&values, &read_set(&mut reader));
    check_text(&format!("The values of {label}"), &values)?;
    not_carried.splice(0..0, reader.list_not_carried(REASONS));
    Ok(UnwrappedChart { object: label, address, release_name, namespace, values, policies, not_carried })
}

fn read_address(reader: &mut ObjectReader<'_>) -> Result<ChartAddress, Box<Finding>> {
    const UPLOAD: &str =
        "Upload the packed chart: flotilla chart push FILE.tgz; then make it the source of the workload.";
    if !reader.text("/spec/chartContent").is_empty() {
        return Err(refuse("The object contains a packed chart.", UPLOAD));
    }
    let (chart, url) = (reader.text("/spec/chart").to_owned(), reader.text("/spec/repo").to_owned());
    let version = read_version(reader, "/spec/version");
    if chart.starts_with(OCI_SCHEME) {
        return read_oci_url(&chart, version);
    }
    if chart.contains("://") {
        return Err(refuse("The object names a packed chart by its URL, and no repository.", UPLOAD));
    }
    if chart.is_empty() || url.is_empty() {
        let what = if chart.is_empty() { "chart" } else { "repository of its chart" };
        return Err(refuse(format!("The object names no {what}."), "Set spec.chart and spec.repo."));
    }
    Ok(ChartAddress::Repository { url, chart, version })
}

/// The text of the values.
fn read_values(reader: &mut ObjectReader<'_>, label: &str) -> Result<String, Box<Finding>> {
    match reader.value("/spec/valuesContent") {
        None => Ok(String::new()),
        Some(Value::String(text)) => {
            check_text(&format!("The values of {label}"), text)?;
            Ok(with_line_end(text))
        }
        Some(_) => Err(refuse(
            format!("The valuesContent of {label} is not a text."),
            "Write it as a text: valuesContent: |-",
        )),
    }
}

/// The values of `set`, which K3s passes as `--set` if they are numbers, true, false or null, and as `--set-string` otherwise.
fn read_set(reader: &mut ObjectReader<'_>) -> Vec<ValueItem> {
    let Some(Value::Object(set)) = reader.peek("/spec/set") else { return Vec::new() };
    let mut sorted: Vec<(&String, &Value)> = set.iter().collect();
    // The order in which K3s passes them.
    sorted.sort_by_key(|(key, _)| *key);
    let (mut typed, mut texts) = (Vec::new(), Vec::new());
    for (key, value) in sorted {
        let path = format!("/spec/set/{}", escape_pointer_token(key));
        let is_typed =
            |text: &String| ["true", "false", "null"].iter().any(|word| text.eq_ignore_ascii_case(word));
        let (items, value) = match value {
            Value::Number(_) => (&mut typed, value.clone()),
            Value::String(text) if is_typed(text) => (&mut typed, parse_set_value(text)),
            Value::String(text) => {
                if let Some(why) = find_set_notation(text) {
                    reader.leave(&path, why);
                    continue;
                }
                (&mut texts, value.clone())
            }
            _ => {
                reader.leave(&path, "It is neither a text nor a number.");
                continue;
            }
        };
        match parse_set_key(key) {
            Some(keys) => {
                reader.value(&path);
                items.push((keys, value));
            }
            None => reader.leave(&path, "It sets an item of a list: write the whole list in the values."),
        }
    }
    // Helm sets those of `--set-string` last.
    typed.extend(texts);
    typed
}

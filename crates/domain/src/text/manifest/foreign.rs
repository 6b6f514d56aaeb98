//! Files of other formats and tools: scripts, web pages, binaries, kustomize, Helm. Each has its own hint.

use serde_json::Value;

use super::documents::split_documents;
use super::location::LocatedValue;
use super::parser;
use crate::text::finding::{Finding, SourceLocation};
use crate::text::source_file::SourceFile;

/// The hint for Helm templates.
pub(super) const TEMPLATE_HINT: &str =
    "Render the chart first (helm template …) and use its output, or remove the template file.";

/// A file that is not YAML at all.
pub(super) fn check_file(file: &SourceFile) -> Option<Finding> {
    let head = file.text.trim_start_matches('\u{feff}').trim_start();
    let (what, hint) = if is_binary(&file.text) {
        ("binary data", "Add text files with Kubernetes objects; unpack an archive first.")
    } else if head.starts_with("#!") {
        ("a script", "Remove the script; if it generates manifests, run it and add its output.")
    } else if head.starts_with("<?xml") || is_web_page(head) {
        (
            "a web page or XML",
            "Download the raw file: a web page is often saved in place of the file it shows.",
        )
    } else if head.starts_with("-----BEGIN ") {
        ("a certificate or key", "Put it into a Secret, and remove the file.")
    } else if has_template(&file.text) {
        ("a Helm template", TEMPLATE_HINT)
    } else {
        return None;
    };
    let message = format!("{:?} is {what}, not a Kubernetes manifest.", file.name);
    let place = SourceLocation { file: file.name.clone(), line: 1, column: 1 };
    Some(Finding::error("G109", message, hint).with_location(Some(place)))
}

/// A map that another tool reads: `kustomization.yaml`, `Chart.yaml`, `values.yaml`.
pub(super) fn check_map(value: &Value, file: &SourceFile) -> Option<Finding> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let base = base_name(file);
    let bare = value.get("kind").is_none();
    let (what, hint) = if is_kustomize(text("apiVersion")) || (bare && base.starts_with("kustomization")) {
        (
            "a kustomize file",
            "Remove it and keep the manifests it lists, or render it first (kubectl kustomize …) and use the output.",
        )
    } else if bare && (base.starts_with("chart.") || is_chart(value)) {
        ("the description of a Helm chart", "Render the chart first (helm template …) and use its output.")
    } else if bare && base.starts_with("values") && value.get("apiVersion").is_none() {
        ("a file of Helm values", "Render the chart with it first (helm template -f …) and use the output.")
    } else {
        return None;
    };
    let message = format!("{:?} is {what}, not a Kubernetes object; no cluster would accept it.", file.name);
    Some(Finding::error("G109", message, hint))
}

/// Whether a file holds data of another tool beside manifests: valid YAML or JSON, and no document of it has an `apiVersion` or a
/// `kind`. A file that can't be read, a kustomization and the description of a chart are none: what they would change is unknown.
///
/// `nodes_left` is the number of values that may still be read of all files; without any a file is no data.
pub(super) fn is_data(file: &SourceFile, nodes_left: &mut usize) -> bool {
    let mut has_content = false;
    for document in split_documents(&file.text) {
        let Ok(LocatedValue { value, nodes, duplicates, .. }) =
            parser::parse_document(&document, *nodes_left)
        else {
            *nodes_left = nodes_left.saturating_sub(parser::cost_of_failure(document.text));
            return false;
        };
        *nodes_left = nodes_left.saturating_sub(nodes);
        let is_object = value.get("apiVersion").is_some() || value.get("kind").is_some();
        if is_object || !duplicates.is_empty() || is_tool_description(&value, file) {
            return false;
        }
        has_content |= !value.is_null();
    }
    has_content
}

fn is_tool_description(value: &Value, file: &SourceFile) -> bool {
    let base = base_name(file);
    base.starts_with("kustomization") || base.starts_with("chart.") || is_chart(value)
}

fn base_name(file: &SourceFile) -> String {
    file.name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether the text has expressions that only Helm renders. Expressions of other tools are values in valid YAML.
pub(super) fn has_template(text: &str) -> bool {
    let marks = [".Values", ".Release.", ".Chart.", "include \"", "define \"", "template \""];
    let mut expressions = text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or(rest));
    expressions.any(|expression| marks.iter().any(|mark| expression.contains(mark)))
}

fn is_kustomize(api_version: &str) -> bool {
    api_version.starts_with("kustomize.config.k8s.io/")
}

fn is_chart(value: &Value) -> bool {
    matches!(value["apiVersion"].as_str(), Some("v1" | "v2"))
        && value["name"].is_string()
        && value["version"].is_string()
}

fn is_web_page(head: &str) -> bool {
    let start: String = head.chars().take(9).flat_map(char::to_lowercase).collect();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

/// Whether a text begins like an archive or an image, with control characters or replaced bytes.
fn is_binary(text: &str) -> bool {
    let odd = |c: &char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}')) || *c == '\u{fffd}';
    text.chars().take(512).filter(odd).count() > 4 || text.chars().take(512).any(|c| c == '\0')
}

//! Addresses of charts as the objects of other tools write them.

use super::object_reader::ObjectReader;
use super::{ChartAddress, refuse};
use crate::model::chart_repository::parse_version;
use crate::text::finding::Finding;

/// How the address of an OCI registry begins.
pub(super) const OCI_SCHEME: &str = "oci://";

/// Whether two URLs name one repository: they may differ in the case of the host, the usual port, and slashes at the end.
pub(super) fn is_same_url(one: &str, other: &str) -> bool {
    normalize(one) == normalize(other)
}

fn normalize(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (scheme, host) = (scheme.to_lowercase(), host.to_lowercase());
    let port = if scheme == "http" { ":80" } else { ":443" };
    format!("{scheme}://{}{path}", host.strip_suffix(port).unwrap_or(&host))
}

/// The address of a chart whose URL in a registry has its name at the end: `oci://ghcr.io/org/charts/web`.
pub(super) fn read_oci_url(url: &str, version: String) -> Result<ChartAddress, Box<Finding>> {
    let named = url.trim_end_matches('/').rsplit_once('/');
    let (parent, chart) = named.filter(|(parent, _)| parent.len() > OCI_SCHEME.len()).ok_or_else(|| {
        let shown: String = url.chars().take(200).collect();
        refuse(format!("{shown:?} does not name a chart in a registry."), "Write oci://REGISTRY/PATH/CHART.")
    })?;
    Ok(ChartAddress::Repository { url: parent.to_owned(), chart: chart.to_owned(), version })
}

/// The version at a path. A range is named, because a version of a workload is exact: the draft has the text of it, which is a finding
/// until a version is chosen.
pub(super) fn read_version(reader: &mut ObjectReader<'_>, path: &str) -> String {
    let version = reader.text(path).to_owned();
    if version.is_empty() || parse_version(&version).is_some() {
        return version;
    }
    // Marked as read by `text`, so it is named by hand.
    if version == "*" {
        reader.name(path, "The newest version is set when the draft is saved; later ones are not followed.");
        return String::new();
    }
    reader.name(
        path,
        "A range of versions is not followed: choose one version in the draft before it is published.",
    );
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_the_same_in_every_spelling_of_the_host() {
        assert!(is_same_url("https://Charts.example.com:443/a/", "https://charts.example.com/a"));
        assert!(is_same_url("oci://ghcr.io/a", " oci://GHCR.io/a/"));
        assert!(!is_same_url("https://charts.example.com/a", "https://charts.example.com/A"));
        assert!(!is_same_url("http://charts.example.com", "https://charts.example.com"));
    }

    #[test]
    fn the_name_of_a_chart_is_the_last_part_of_its_url_in_a_registry() {
        let read = read_oci_url("oci://ghcr.io/org/charts/web/", "1.0.0".to_owned()).unwrap();
        let (url, chart) = ("oci://ghcr.io/org/charts".to_owned(), "web".to_owned());
        assert_eq!(read, ChartAddress::Repository { url, chart, version: "1.0.0".to_owned() });
        assert!(read_oci_url("oci://web", String::new()).is_err());
    }
}

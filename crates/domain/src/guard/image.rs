//! Images of containers (G201, G202).

use super::scene::{Scene, quoted};
use crate::finding::Finding;
use crate::fix::Fix;

/// G201: every container has an image, and its reference can be read.
pub(super) fn references(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let name = quoted(container.name);
        let path = format!("{}/image", container.path);
        match container.value["image"].as_str() {
            Some(image) => {
                if let Err(why) = Reference::parse(image) {
                    let message = format!("Image {} of container {name} is not valid: {why}.", quoted(image));
                    let fix = lower_case(image)
                        .and_then(|lower| pod.owner.manifest.replaced(&path, image, &lower))
                        .map(Fix::replace);
                    findings.push(pod.owner.error("G201", &path, message, &better(image)).mended(fix));
                }
            }
            None => {
                let message = format!("Container {name} has no image, so there is nothing to run.");
                findings.push(pod.owner.error(
                    "G201",
                    &path,
                    message,
                    "Add one, such as \"image: nginx:1.29\".",
                ));
            }
        }
    }
    findings
}

/// G202: no tag, or one that moves.
pub(super) fn mutable_tags(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = Reference::parse(image) else { continue };
        if reference.digest || !matches!(reference.tag, None | Some("latest")) {
            continue;
        }
        let message = format!(
            "Container {} uses {}, which means whatever is newest: two clusters may run different versions, and going back cannot work.",
            quoted(container.name),
            quoted(image)
        );
        let hint = "Pin a version, best with its @sha256 digest.";
        findings.push(pod.owner.warning("G202", &format!("{}/image", container.path), message, hint));
    }
    findings
}

/// What the rules want to know of an image reference.
pub(super) struct Reference<'a> {
    /// The host, with its port.
    pub registry: &'a str,
    pub tag: Option<&'a str>,
    pub digest: bool,
}

/// The registry of images that name none.
const USUAL_REGISTRY: &str = "docker.io";

impl<'a> Reference<'a> {
    /// Reads `[host[:port]/]path[:tag][@digest]`; the error completes "is not valid: …".
    pub(super) fn parse(image: &'a str) -> Result<Self, &'static str> {
        if image.contains("{{") {
            return Err("it holds a template expression that nobody has filled in");
        }
        if image.is_empty() || image.contains(char::is_whitespace) {
            return Err("it must be one word without spaces");
        }
        let (rest, digest) =
            image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err("the digest reads sha256: and 64 hex digits");
        }
        // A colon after the last slash begins the tag; one before it is a port.
        let tag_at = rest.rfind(':').filter(|at| !rest[*at..].contains('/'));
        let (name, tag) = tag_at.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err("a tag has at most 128 letters, digits, \"_\", \".\" and \"-\"");
        }
        let registry = host(name);
        check_name(name, registry)?;
        Ok(Self { registry: registry.unwrap_or(USUAL_REGISTRY), tag, digest: digest.is_some() })
    }
}

/// The first part of a name, if it is a host.
fn host(name: &str) -> Option<&str> {
    let (first, _) = name.split_once('/')?;
    (first.contains(['.', ':', '[']) || first == "localhost").then_some(first)
}

fn check_name(name: &str, host: Option<&str>) -> Result<(), &'static str> {
    let path = host.map_or(name, |host| &name[host.len() + 1..]);
    if name.contains("://") {
        return Err("it is no URL: leave https:// out");
    }
    if path.chars().any(|c| c.is_ascii_uppercase()) {
        return Err("repository names are lower case");
    }
    if path.is_empty() || !path.split('/').all(is_component) {
        return Err(
            "a repository name has lower-case letters and digits, with single \".\", \"_\" or \"-\" between them",
        );
    }
    Ok(())
}

fn is_component(part: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = part.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'))
        && !part.contains("..")
        && !part.contains("___")
}

fn is_tag(tag: &str) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let bytes = tag.as_bytes();
    bytes.len() <= 128
        && bytes.first().is_some_and(word)
        && bytes.iter().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        let wanted = if algorithm == "sha256" { hex.len() == 64 } else { hex.len() >= 32 };
        !algorithm.is_empty() && wanted && hex.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The reference with its repository in lower case, if that is all that is wrong. A tag may have capitals.
fn lower_case(image: &str) -> Option<String> {
    let name = image.split('@').next().unwrap_or(image);
    let end = name.rfind(':').filter(|at| !name[*at..].contains('/')).unwrap_or(name.len());
    let lower = format!("{}{}", image[..end].to_ascii_lowercase(), &image[end..]);
    (lower != image && Reference::parse(&lower).is_ok()).then_some(lower)
}

/// The reference in lower case if that makes it right, else an example.
fn better(image: &str) -> String {
    if let Some(lower) = lower_case(image) {
        return format!("Try {}.", quoted(&lower));
    }
    let lower = image.to_ascii_lowercase();
    let trimmed = lower.trim().trim_start_matches("https://").trim_start_matches("http://");
    if trimmed != image && Reference::parse(trimmed).is_ok() {
        format!("Try {}.", quoted(trimmed))
    } else {
        "Write it as registry/name:version, such as \"registry.example.com/team/web:1.4.2\".".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g201_references_are_read_as_registries_read_them() {
        for good in [
            "nginx",
            "nginx:1.29",
            "library/nginx",
            "localhost/web",
            "localhost:5000/web:a",
            "reg.example.com:443/a/b__c/d--e:V_1.0-x",
            "gcr.io/google_containers/cassandra:v14",
            "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "Reg.Example.com/web:1",
        ] {
            assert!(Reference::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Nginx",
            "a b",
            "https://a.b/c",
            "a:",
            "a:-x",
            "a@sha256:12",
            "a/",
            "/a",
            "-a",
            "a..b",
            "x:{{ .tag }}",
        ] {
            assert!(Reference::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(better("Nginx:1.25"), "Try \"nginx:1.25\".");
    }
}

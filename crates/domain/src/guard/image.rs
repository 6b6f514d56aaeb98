//! Images of containers (G201, G202).

use super::scene::{Scene, quoted};
use crate::finding::Finding;
use crate::fix::Fix;
use crate::image::Reference;

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
        if reference.digest.is_some() || !matches!(reference.tag, None | Some("latest")) {
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
    fn g201_the_better_one_is_in_lower_case() {
        assert_eq!(better("Nginx:1.25"), "Try \"nginx:1.25\".");
    }
}

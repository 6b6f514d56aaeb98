//! Images of containers (G201, G202).

use super::rule_context::{RuleContext, quote};
use crate::kubernetes::image::ImageReference;
use crate::text::finding::{Finding, Fix};

/// G201: every container has an image with a valid reference.
pub(super) fn references(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let name = quote(container.name);
        let path = format!("{}/image", container.path);
        match container.value["image"].as_str() {
            Some(image) => {
                if let Err(error) = ImageReference::parse(image) {
                    let message =
                        format!("Image {} of container {name} is not valid: {error}.", quote(image));
                    let fix = lower_case_reference(image)
                        .and_then(|lower| pod.owner.manifest.replacement_edit(&path, image, &lower))
                        .map(Fix::replacement);
                    findings
                        .push(pod.owner.error("G201", &path, message, &correction_hint(image)).with_fix(fix));
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

/// G202: no tag, or the tag `latest`.
pub(super) fn mutable_tags(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = ImageReference::parse(image) else { continue };
        if reference.digest.is_some() || !matches!(reference.tag, None | Some("latest")) {
            continue;
        }
        let message = format!(
            "Container {} uses {}, which always means the newest image: two clusters may run different versions, and a rollback can't restore the old one.",
            quote(container.name),
            quote(image)
        );
        let hint = "Pin a version, best with its @sha256 digest.";
        findings.push(pod.owner.warning("G202", &format!("{}/image", container.path), message, hint));
    }
    findings
}

/// The reference with its repository in lower case, if that makes it valid. A tag may contain upper-case letters.
fn lower_case_reference(image: &str) -> Option<String> {
    let name = image.split('@').next().unwrap_or(image);
    let end = name.rfind(':').filter(|at| !name[*at..].contains('/')).unwrap_or(name.len());
    let lower = format!("{}{}", image[..end].to_ascii_lowercase(), &image[end..]);
    (lower != image && ImageReference::parse(&lower).is_ok()).then_some(lower)
}

/// The hint: a corrected reference if there is one, else an example.
fn correction_hint(image: &str) -> String {
    if let Some(lower) = lower_case_reference(image) {
        return format!("Try {}.", quote(&lower));
    }
    let lower = image.to_ascii_lowercase();
    let trimmed = lower.trim().trim_start_matches("https://").trim_start_matches("http://");
    if trimmed != image && ImageReference::parse(trimmed).is_ok() {
        format!("Try {}.", quote(trimmed))
    } else {
        "Write it as registry/name:version, such as \"registry.example.com/team/web:1.4.2\".".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g201_the_hint_suggests_lower_case() {
        assert_eq!(correction_hint("Nginx:1.25"), "Try \"nginx:1.25\".");
    }
}

//! G204: images exist in their registry, as far as the cluster's agent can check.
//!
//! A warning, never an error: nodes may use a mirror or have the image in their cache, and the agent can see neither.

use std::collections::{BTreeSet, HashMap};

use super::rule_context::{self, quote};
use crate::kubernetes::object::object_ref;
use crate::model::bundle::Bundle;
use crate::model::cluster::NodePool;
use crate::text::finding::Finding;

/// Whether an image can be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageAvailability {
    /// Its registry reports that it does not exist.
    Missing,
    /// It exists, for these operating systems and architectures, such as `linux/arm64`.
    Available(BTreeSet<String>),
    /// Not known: the registry was not reachable, requires credentials, or did not report the platforms of the image.
    Unknown,
}

/// The images of all pods of a bundle, without duplicates.
pub fn list_images(bundle: &Bundle) -> BTreeSet<&str> {
    image_uses(bundle).into_iter().map(|image_use| image_use.image).collect()
}

/// G204: images of a bundle that can't be pulled on a cluster with these nodes (empty if they are not known).
pub fn check_images(
    bundle: &Bundle,
    availability: &HashMap<String, ImageAvailability>,
    nodes: &[NodePool],
) -> Vec<Finding> {
    let platforms: BTreeSet<String> =
        nodes.iter().map(|pool| format!("{}/{}", pool.os, pool.architecture)).collect();
    let finding = |image_use: ImageUse<'_>| {
        let (message, hint) = match availability.get(image_use.image)? {
            ImageAvailability::Missing => (
                format!(
                    "Image {} of container {} does not exist in its registry, so its pods can't start.",
                    quote(image_use.image),
                    quote(image_use.container)
                ),
                "Push the image, or correct its name or tag.",
            ),
            ImageAvailability::Available(offered)
                if !platforms.is_empty() && platforms.is_disjoint(offered) =>
            {
                (
                    format!(
                        "Image {} of container {} exists only for {}, and the nodes are {}.",
                        quote(image_use.image),
                        quote(image_use.container),
                        join_platforms(offered),
                        join_platforms(&platforms)
                    ),
                    "Build the image for the platform of the nodes too, or exclude these clusters.",
                )
            }
            ImageAvailability::Available(_) | ImageAvailability::Unknown => return None,
        };
        Some(Finding::warning("G204", message, hint).with_object(image_use.object).with_path(image_use.path))
    };
    image_uses(bundle).into_iter().filter_map(finding).collect()
}

fn join_platforms(platforms: &BTreeSet<String>) -> String {
    platforms.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// An image reference of a container.
struct ImageUse<'a> {
    image: &'a str,
    container: &'a str,
    /// The object, as `Kind namespace/name`.
    object: String,
    /// JSON pointer of the image.
    path: String,
}

fn image_uses(bundle: &Bundle) -> Vec<ImageUse<'_>> {
    let mut all = Vec::new();
    for object in bundle.objects.iter().chain(&bundle.hooks) {
        let name = object_ref(object);
        let Some(template) = rule_context::pod_template_pointer(&name) else { continue };
        let Some(spec) = object.pointer(&format!("{template}/spec")) else { continue };
        for container in rule_context::list_containers(spec, template) {
            let Some(image) = container.value["image"].as_str() else { continue };
            let path = format!("{}/image", container.path);
            all.push(ImageUse { image, container: container.name, object: name.to_string(), path });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle() -> Bundle {
        let pod = json!({"initContainers": [{"name": "prepare", "image": "busybox:1.36"}],
            "containers": [{"name": "web", "image": "shop/web:2"}]});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"}, "spec": {"template": {"spec": pod}}});
        let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        Bundle::new(vec![settings, deployment])
    }

    fn pool(architecture: &str) -> NodePool {
        NodePool { architecture: architecture.into(), os: "linux".into(), ..NodePool::default() }
    }

    fn findings_of(web: ImageAvailability, nodes: &[NodePool]) -> Vec<(String, String)> {
        let availability =
            [("shop/web:2".to_owned(), web), ("busybox:1.36".to_owned(), ImageAvailability::Unknown)].into();
        let findings = check_images(&bundle(), &availability, nodes);
        assert!(findings.iter().all(|finding| finding.code == "G204" && !finding.is_blocking()));
        findings
            .into_iter()
            .map(|finding| (format!("{}{}", finding.object, finding.path), finding.message))
            .collect()
    }

    #[test]
    fn g204_an_image_missing_in_its_registry_is_reported_at_its_container() {
        assert_eq!(list_images(&bundle()), ["busybox:1.36", "shop/web:2"].into());
        let place = "Deployment shop/web/spec/template/spec/containers/0/image".to_owned();
        let message = "Image \"shop/web:2\" of container \"web\" does not exist in its registry, so its pods can't start.";
        assert_eq!(findings_of(ImageAvailability::Missing, &[]), [(place, message.to_owned())]);
        assert_eq!(findings_of(ImageAvailability::Unknown, &[pool("arm64")]), []);
    }

    #[test]
    fn g204_an_image_for_none_of_the_nodes_is_reported_with_its_platforms() {
        let offered =
            || ImageAvailability::Available(["linux/amd64".to_owned(), "linux/s390x".to_owned()].into());
        let found = findings_of(offered(), &[pool("arm64")]);
        assert!(
            found[0].1.ends_with("exists only for linux/amd64, linux/s390x, and the nodes are linux/arm64."),
            "{found:?}"
        );
        assert_eq!(findings_of(offered(), &[pool("arm64"), pool("amd64")]), [], "some node can run it");
        assert_eq!(findings_of(offered(), &[]), [], "the nodes are not known");
    }
}

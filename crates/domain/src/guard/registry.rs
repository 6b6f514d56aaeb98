//! G204: an image can be pulled, as far as its registry tells the cluster's agent.
//!
//! A warning, never an error: nodes may pull by way of a mirror, or have the image already, and the agent knows of neither.

use std::collections::{BTreeSet, HashMap};

use super::scene::{self, quoted};
use crate::bundle::{Bundle, object_ref};
use crate::cluster::NodePool;
use crate::finding::Finding;

/// What is known of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// Its registry says that it is not there.
    Missing,
    /// It is there, for these operating systems and architectures, such as `linux/arm64`.
    Offered(BTreeSet<String>),
    /// Nothing: the registry was not reached, wants a password, or did not tell for what the image is.
    Unknown,
}

/// The images that the pods of a bundle run, each once.
pub fn images(bundle: &Bundle) -> BTreeSet<&str> {
    uses(bundle).into_iter().map(|used| used.image).collect()
}

/// What cannot be pulled, by what is known of the images, on a cluster with these nodes (none if they are not known).
pub fn unavailable(
    bundle: &Bundle,
    known: &HashMap<String, Availability>,
    nodes: &[NodePool],
) -> Vec<Finding> {
    let here: BTreeSet<String> =
        nodes.iter().map(|pool| format!("{}/{}", pool.os, pool.architecture)).collect();
    let finding = |used: Use<'_>| {
        let (message, hint) = match known.get(used.image)? {
            Availability::Missing => (
                format!(
                    "Image {} of container {} is not in its registry, so its pods would wait for it for ever.",
                    quoted(used.image),
                    quoted(used.container)
                ),
                "Push it, or correct its name and its tag.",
            ),
            Availability::Offered(offered) if !here.is_empty() && here.is_disjoint(offered) => (
                format!(
                    "Image {} of container {} is there for {} alone, and the nodes are {}.",
                    quoted(used.image),
                    quoted(used.container),
                    listed(offered),
                    listed(&here)
                ),
                "Build it for the architecture of the nodes too, or leave such clusters out.",
            ),
            Availability::Offered(_) | Availability::Unknown => return None,
        };
        Some(Finding::warning("G204", message, hint).about(used.object).at(used.path))
    };
    uses(bundle).into_iter().filter_map(finding).collect()
}

fn listed(all: &BTreeSet<String>) -> String {
    all.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A container that runs an image.
struct Use<'a> {
    image: &'a str,
    container: &'a str,
    /// The object, as messages name it.
    object: String,
    /// JSON pointer of the image.
    path: String,
}

fn uses(bundle: &Bundle) -> Vec<Use<'_>> {
    let mut all = Vec::new();
    for object in &bundle.objects {
        let name = object_ref(object);
        let Some(template) = scene::template(&name) else { continue };
        let Some(spec) = object.pointer(&format!("{template}/spec")) else { continue };
        for container in scene::containers(spec, template) {
            let Some(image) = container.value["image"].as_str() else { continue };
            let path = format!("{}/image", container.path);
            all.push(Use { image, container: container.name, object: name.to_string(), path });
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
        Bundle { objects: vec![settings, deployment] }
    }

    fn pool(architecture: &str) -> NodePool {
        NodePool { architecture: architecture.into(), os: "linux".into(), ..NodePool::default() }
    }

    fn said(web: Availability, nodes: &[NodePool]) -> Vec<(String, String)> {
        let known =
            [("shop/web:2".to_owned(), web), ("busybox:1.36".to_owned(), Availability::Unknown)].into();
        let findings = unavailable(&bundle(), &known, nodes);
        assert!(findings.iter().all(|finding| finding.code == "G204" && !finding.blocks()));
        findings
            .into_iter()
            .map(|finding| (format!("{}{}", finding.object, finding.path), finding.message))
            .collect()
    }

    #[test]
    fn g204_an_image_that_its_registry_does_not_have_is_told_at_its_container() {
        assert_eq!(images(&bundle()), ["busybox:1.36", "shop/web:2"].into());
        let place = "Deployment shop/web/spec/template/spec/containers/0/image".to_owned();
        let message = "Image \"shop/web:2\" of container \"web\" is not in its registry, so its pods would wait for it for ever.";
        assert_eq!(said(Availability::Missing, &[]), [(place, message.to_owned())]);
        assert_eq!(said(Availability::Unknown, &[pool("arm64")]), []);
    }

    #[test]
    fn g204_an_image_for_none_of_the_nodes_is_told_with_what_it_is_for() {
        let offered = || Availability::Offered(["linux/amd64".to_owned(), "linux/s390x".to_owned()].into());
        let found = said(offered(), &[pool("arm64")]);
        assert!(
            found[0]
                .1
                .ends_with("is there for linux/amd64, linux/s390x alone, and the nodes are linux/arm64."),
            "{found:?}"
        );
        assert_eq!(said(offered(), &[pool("arm64"), pool("amd64")]), [], "some node can run it");
        assert_eq!(said(offered(), &[]), [], "nothing is known of the nodes");
    }
}

//! One cluster under the objects it would get: what the rules of scope F look at.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::pod_security::{self, Level, Offence};
use super::scene::{self, Scene};
use crate::bundle::object_ref;
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::id::OverrideId;
use crate::manifest::Parsed;
use crate::overrides;
use crate::render::Rendering;
use crate::workload::WorkloadSpec;

/// A chosen cluster, and the objects as it would get them.
pub(super) struct Site<'a> {
    pub cluster: &'a Cluster,
    pub scene: &'a Scene<'a>,
    pub spec: &'a WorkloadSpec,
    offences: &'a Offences,
}

/// A rule of scope F: everything it has to say about the objects on one cluster.
pub(super) type Rule = fn(&Site<'_>) -> Vec<Finding>;

impl Site<'_> {
    /// What a level of the Pod Security Standards has against the pods, by pod; worked out once for all clusters.
    pub(super) fn offences(&self, level: Level) -> &[Vec<Offence>] {
        let known = match level {
            Level::Baseline => &self.offences.baseline,
            Level::Restricted => &self.offences.restricted,
        };
        known.get_or_init(|| self.scene.pods.iter().map(|pod| pod_security::offences(pod, level)).collect())
    }
}

#[derive(Default)]
struct Offences {
    baseline: OnceCell<Vec<Vec<Offence>>>,
    restricted: OnceCell<Vec<Vec<Offence>>>,
}

/// Objects as some clusters get them.
pub(super) struct View<'a> {
    pub parsed: Parsed,
    /// What is wrong with the overrides, and what templates ask for and the one cluster does not have.
    wrong: Vec<Finding>,
    pub clusters: Vec<&'a Cluster>,
}

/// Asks every rule about every chosen cluster. Clusters that get the same objects share the work.
pub(super) fn ask(rules: &[(&str, Rule)], rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for View { parsed, wrong, clusters } in views(rendering, chosen) {
        findings.extend(wrong);
        let subjects = scene::subjects(rendering.spec, &parsed);
        let (scene, offences) = (Scene::new(rendering.spec, &subjects), Offences::default());
        for cluster in clusters {
            let site = Site { cluster, scene: &scene, spec: rendering.spec, offences: &offences };
            for (_, rule) in rules {
                findings
                    .extend(rule(&site).into_iter().map(|finding| finding.on(vec![cluster.name.clone()])));
            }
        }
    }
    findings
}

/// The objects once for all clusters that get the same: those with the same overrides, unless templates make every one
/// its own.
pub(super) fn views<'a>(rendering: &Rendering<'_>, chosen: &[&'a Cluster]) -> Vec<View<'a>> {
    let (overrides, groups) = (&rendering.spec.overrides, rendering.groups);
    let templated = super::template::any(rendering);
    let mut by_overrides: BTreeMap<(Vec<OverrideId>, Option<&str>), Vec<&'a Cluster>> = BTreeMap::new();
    for cluster in chosen {
        let own = templated.then_some(cluster.name.as_str());
        by_overrides.entry((overrides::order(overrides, cluster, groups), own)).or_default().push(cluster);
    }
    let objects = rendering.parsed.objects();
    let view = |((order, own), clusters): ((Vec<OverrideId>, Option<&str>), Vec<&'a Cluster>)| {
        let (mut parsed, mut wrong) = (rendering.parsed.clone(), Vec::new());
        if order.is_empty() && own.is_none() {
            return View { parsed, wrong, clusters };
        }
        let cluster = clusters[0];
        let effective = overrides::effective(&objects, overrides, cluster, groups);
        // The other clusters have the same overrides, and so the same is wrong there.
        let everywhere: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        wrong.extend(effective.findings.into_iter().map(|finding| finding.on(everywhere.clone())));
        for (manifest, mut object) in parsed.manifests.iter_mut().zip(effective.objects) {
            wrong.extend(super::template::fill(rendering, cluster, manifest, &mut object));
            if object_ref(&object).kind == manifest.object_ref().kind {
                manifest.object = object;
            }
        }
        View { parsed, wrong, clusters }
    };
    by_overrides.into_iter().map(view).collect()
}

//! Conflicts with exposures of other workloads on the selected clusters.

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::chart::ChartSource;
use crate::model::cluster::{ClusterFacts, ClusterKind};
use crate::text::finding::Severity;
use crate::text::source_file::SourceFile;

fn cluster(n: u128, default_class: &str) -> Cluster {
    Cluster {
        facts: ClusterFacts { default_ingress_class: default_class.into(), ..ClusterFacts::default() },
        ..Cluster::new(
            ClusterId::from_parts(1, n),
            format!("eu-{n}"),
            ClusterKind::Agent,
            Timestamp::from_millis(0),
        )
    }
}

fn ingress(class: &str, host: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: web}}\nspec:\n  {class}\n  rules:\n  \
         - {host}\n    http: {{paths: [{{path: /, pathType: Prefix}}]}}\n"
    )
}

fn service(port: i64) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  type: NodePort\n  \
         ports: [{{port: 80, nodePort: {port}}}]\n"
    )
}

fn exposures_of(text: &str, clusters: &[Cluster]) -> Exposures {
    let parsed = crate::text::manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]);
    assert_eq!(parsed.findings, []);
    let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
    let targets: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let rendering = BundleRenderer {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &targets,
    };
    Exposures::from_rendering(&rendering, &clusters.iter().collect::<Vec<_>>())
}

/// The findings about `own` if another workload with the manifests `other` is on the same clusters.
fn find_conflicts(own: &str, other: &str, clusters: &[Cluster]) -> Vec<Finding> {
    let other = exposures_of(other, clusters);
    let conflicts = other.iter().map(|(cluster, (key, class))| ExposureConflict {
        cluster,
        key: key.clone(),
        class: class.to_owned(),
        workload: "storefront".into(),
    });
    exposures_of(own, clusters).find_conflicts(&conflicts.collect::<Vec<_>>())
}

#[test]
fn g305_a_route_of_another_workload_is_one_error_for_all_clusters() {
    let clusters: Vec<Cluster> = (1..=5).map(|n| cluster(n, "nginx")).collect();
    let shop = ingress("", "host: shop.example.com");
    let found =
        find_conflicts(&shop, &ingress("ingressClassName: nginx", "host: shop.example.com"), &clusters);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G305", Severity::Error));
    assert_eq!(
        finding.message,
        "\"shop.example.com/\" is already routed to workload \"storefront\" on eu-1, eu-2, eu-3 and 2 more; the ingress \
         controller decides which of them receives the requests."
    );
    assert_eq!(
        finding.hint,
        "Choose another host or path, remove it from \"storefront\", or exclude these clusters."
    );
    assert_eq!(finding.clusters, ["eu-1", "eu-2", "eu-3", "eu-4", "eu-5"]);
    assert_eq!((&*finding.object, &*finding.path), ("Ingress web/web", "/spec/rules/0/http/paths/0/path"));
    assert_eq!(finding.location.as_ref().unwrap().line, 8);
}

#[test]
fn g305_another_host_class_or_cluster_is_no_conflict() {
    let clusters = [cluster(1, "nginx"), cluster(2, "")];
    let shop = ingress("", "host: shop.example.com");
    assert_eq!(find_conflicts(&shop, &ingress("", "host: www.example.com"), &clusters), []);
    assert_eq!(find_conflicts(&shop, &ingress("", "host: '*.example.com'"), &clusters), []);
    assert_eq!(
        find_conflicts(&shop, &ingress("ingressClassName: internal", "host: shop.example.com"), &clusters),
        []
    );
    let nginx = ingress("ingressClassName: nginx", "host: shop.example.com");
    assert_eq!(
        find_conflicts(&shop, &nginx, &clusters)[0].clusters,
        ["eu-1"],
        "the default class differs on eu-2"
    );
    let elsewhere = exposures_of(&shop, &clusters[..1]);
    let (_, (key, _)) = elsewhere.iter().next().unwrap();
    let conflict = ExposureConflict {
        cluster: clusters[1].id,
        key: key.clone(),
        class: String::new(),
        workload: "storefront".into(),
    };
    assert_eq!(elsewhere.find_conflicts(&[conflict]), []);
}

#[test]
fn g305_a_path_without_a_host_is_a_warning() {
    let any = ingress("", "host:");
    let found = find_conflicts(&any, &any, &[cluster(1, "")]);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G305", Severity::Warning));
    assert_eq!(
        finding.message,
        "Path \"/\" without a host is also routed to workload \"storefront\" on eu-1; unless the ingress controller gives \
         each Ingress its own address, it decides which of them receives the requests."
    );
}

#[test]
fn g305_templates_in_routes_are_filled_before_the_comparison() {
    let clusters = [cluster(1, ""), cluster(2, "")];
    let own = ingress("", "host: '${{ cluster.name }}.example.com'");
    let found = find_conflicts(&own, &ingress("", "host: eu-2.example.com"), &clusters);
    assert_eq!(found[0].clusters, ["eu-2"]);
    assert!(found[0].message.starts_with("\"eu-2.example.com/\" is already"), "{}", found[0].message);
    assert_eq!(found.len(), 1);
}

#[test]
fn g303_a_node_port_of_another_workload_is_an_error() {
    let found = find_conflicts(&service(31_000), &service(31_000), &[cluster(1, "")]);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G303", Severity::Error));
    assert_eq!(
        finding.message,
        "nodePort 31000 of Service web/web is already used by workload \"storefront\" on eu-1; a node port can be used \
         once per cluster."
    );
    assert_eq!(finding.hint, "Choose another port, or leave nodePort out so that the cluster assigns one.");
    assert_eq!(finding.path, "/spec/ports/0/nodePort");
    assert_eq!(find_conflicts(&service(31_000), &service(31_001), &[cluster(1, "")]), []);
    assert_eq!(find_conflicts(&service(31_000), CONFIG, &[cluster(1, "")]), []);
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

#[test]
fn p19_a_long_host_that_a_template_makes_is_compared_as_a_whole_and_retained_in_part() {
    let clusters = [cluster(1, ""), cluster(2, "")];
    let long = "a".repeat(100_000);
    let own = ingress("", &format!("host: '${{{{ cluster.name }}}}.{long}'"));
    let exposures = exposures_of(&own, &clusters);
    let size = format!("{exposures:?}").len();
    assert!(size < 10_000, "{size} bytes");
    let found = find_conflicts(&own, &ingress("", &format!("host: eu-2.{long}")), &clusters);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].clusters, ["eu-2"]);
    assert_eq!(find_conflicts(&own, &ingress("", &format!("host: eu-2.{long}b")), &clusters), []);
}

fn release_of(workload: &str, release: &str, namespace: &str, clusters: &[Cluster]) -> Exposures {
    let source = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        release_name: release.into(),
        ..ChartSource::default()
    };
    let spec = WorkloadSpec {
        namespace: namespace.into(),
        source: Source::Chart(source),
        ..WorkloadSpec::default()
    };
    let parsed = crate::text::manifest::ParsedManifests::default();
    let rendering =
        BundleRenderer { workload, revision: 1, spec: &spec, parsed: &parsed, groups: &[], targets: &[] };
    Exposures::from_rendering(&rendering, &clusters.iter().collect::<Vec<_>>())
}

#[test]
fn g105_the_release_of_another_workload_on_the_same_cluster_is_a_conflict() {
    let clusters = [cluster(1, ""), cluster(2, "")];
    let own = release_of("front", "web", "shop", &clusters);
    let conflicts_with = |other: &Exposures| {
        let others: Vec<ExposureConflict> = other
            .iter()
            .map(|(cluster, (key, class))| ExposureConflict {
                cluster,
                key: key.clone(),
                class: class.to_owned(),
                workload: "web".into(),
            })
            .collect();
        own.find_conflicts(&others)
    };
    // A release has the name of its workload where the source names none.
    let found = conflicts_with(&release_of("web", "", "shop", &clusters[..1]));
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((finding.code.as_str(), finding.is_blocking()), ("G105", true));
    assert_eq!(finding.clusters, ["eu-1"]);
    assert_eq!(finding.path, "/source/releaseName");
    assert_eq!(
        finding.message,
        "Helm release \"web\" in namespace \"shop\" is that of workload \"web\" on eu-1; a name can be used once per \
         namespace and cluster."
    );
    assert_eq!(conflicts_with(&release_of("web", "", "blog", &clusters)), []);
    assert_eq!(conflicts_with(&release_of("web", "api", "shop", &clusters)), []);
    assert_eq!(conflicts_with(&release_of("web", "", "shop", &[cluster(3, "")])), []);
}

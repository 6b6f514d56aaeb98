//! What other workloads expose on the chosen clusters.

use super::*;
use crate::cluster::{ClusterFacts, ClusterKind};
use crate::finding::Severity;
use crate::id::ClusterId;
use crate::time::Timestamp;
use crate::workload::SourceFile;

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

fn exposed(text: &str, clusters: &[Cluster]) -> Exposures {
    let parsed = crate::manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]);
    assert_eq!(parsed.findings, []);
    let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
    let targets: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let rendering = Rendering {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &targets,
    };
    Exposures::of(&rendering, &clusters.iter().collect::<Vec<_>>())
}

/// What `mine` has against a workload of the others' that is on the same clusters.
fn against(mine: &str, other: &str, clusters: &[Cluster]) -> Vec<Finding> {
    let theirs = exposed(other, clusters);
    let taken = theirs.each().map(|(cluster, (key, class))| Taken {
        cluster,
        key: key.clone(),
        class: class.to_owned(),
        workload: "storefront".into(),
    });
    exposed(mine, clusters).clashes(&taken.collect::<Vec<_>>())
}

#[test]
fn g305_a_route_of_another_workload_refuses_the_publish_once_for_all_clusters() {
    let clusters: Vec<Cluster> = (1..=5).map(|n| cluster(n, "nginx")).collect();
    let shop = ingress("", "host: shop.example.com");
    let found = against(&shop, &ingress("ingressClassName: nginx", "host: shop.example.com"), &clusters);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G305", Severity::Error));
    assert_eq!(
        finding.message,
        "\"shop.example.com/\" already belongs to workload \"storefront\" on eu-1, eu-2, eu-3 and 2 more; which of them \
         is asked, only the controller knows."
    );
    assert_eq!(
        finding.hint,
        "Choose another host or path, take it out of \"storefront\", or leave these clusters out."
    );
    assert_eq!(finding.clusters, ["eu-1", "eu-2", "eu-3", "eu-4", "eu-5"]);
    assert_eq!((&*finding.object, &*finding.path), ("Ingress web/web", "/spec/rules/0/http/paths/0/path"));
    assert_eq!(finding.place.as_ref().unwrap().line, 8);
}

#[test]
fn g305_another_host_class_or_cluster_is_nobodys_business() {
    let clusters = [cluster(1, "nginx"), cluster(2, "")];
    let shop = ingress("", "host: shop.example.com");
    assert_eq!(against(&shop, &ingress("", "host: www.example.com"), &clusters), []);
    assert_eq!(against(&shop, &ingress("", "host: '*.example.com'"), &clusters), []);
    assert_eq!(
        against(&shop, &ingress("ingressClassName: internal", "host: shop.example.com"), &clusters),
        []
    );
    let nginx = ingress("ingressClassName: nginx", "host: shop.example.com");
    assert_eq!(against(&shop, &nginx, &clusters)[0].clusters, ["eu-1"], "the default there is another");
    let elsewhere = exposed(&shop, &clusters[..1]);
    let (_, (key, _)) = elsewhere.each().next().unwrap();
    let taken = Taken {
        cluster: clusters[1].id,
        key: key.clone(),
        class: String::new(),
        workload: "storefront".into(),
    };
    assert_eq!(elsewhere.clashes(&[taken]), []);
}

#[test]
fn g305_a_path_of_any_host_is_only_a_warning() {
    let any = ingress("", "host:");
    let found = against(&any, &any, &[cluster(1, "")]);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G305", Severity::Warning));
    assert_eq!(
        finding.message,
        "\"/\" of any host also leads to workload \"storefront\" on eu-1; unless the controller gives every Ingress its \
         own address, only it knows which of them is asked."
    );
}

#[test]
fn g305_routes_that_a_template_makes_are_compared_as_they_will_be() {
    let clusters = [cluster(1, ""), cluster(2, "")];
    let own = ingress("", "host: '${{ cluster.name }}.example.com'");
    let found = against(&own, &ingress("", "host: eu-2.example.com"), &clusters);
    assert_eq!(found[0].clusters, ["eu-2"]);
    assert!(found[0].message.starts_with("\"eu-2.example.com/\" already"), "{}", found[0].message);
    assert_eq!(found.len(), 1);
}

#[test]
fn g303_a_node_port_of_another_workload_refuses_the_publish() {
    let found = against(&service(31_000), &service(31_000), &[cluster(1, "")]);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G303", Severity::Error));
    assert_eq!(
        finding.message,
        "nodePort 31000 of Service web/web is taken by workload \"storefront\" on eu-1; a cluster gives it once."
    );
    assert_eq!(finding.hint, "Choose another one, or leave it out and let the cluster choose.");
    assert_eq!(finding.path, "/spec/ports/0/nodePort");
    assert_eq!(against(&service(31_000), &service(31_001), &[cluster(1, "")]), []);
    assert_eq!(against(&service(31_000), CONFIG, &[cluster(1, "")]), []);
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

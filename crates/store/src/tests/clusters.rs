//! Clusters and their pulse.

use domain::cluster::{ApiResource, Cluster, ClusterFacts, NamespaceFacts, Quota, Reach, Taint, TaintEffect};
use domain::page::ListQuery;
use domain::placement::ClusterGroup;

use super::both::for_both;
use super::fixtures::{at, cluster_id, fleet, labels, some_cluster};
use crate::{Error, cluster, group};

fn facts() -> ClusterFacts {
    let deployment = ApiResource {
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        kind: "Deployment".to_owned(),
        namespaced: true,
        denied: false,
    };
    ClusterFacts {
        kubernetes_version: "v1.33.4".to_owned(),
        nodes: Some(3),
        apis: vec![deployment],
        namespaces: vec![NamespaceFacts {
            name: "web".to_owned(),
            pod_security: "baseline".to_owned(),
            pull_accounts: Some(vec!["default".to_owned()]),
            granted: None,
            quotas: vec![Quota { name: "web".to_owned(), ..Quota::default() }],
        }],
        ..ClusterFacts::default()
    }
}

#[tokio::test]
async fn a_cluster_reads_back_as_it_was_written() {
    for_both(|store| async move {
        let mut cluster = some_cluster(1, "edge-1");
        cluster.labels = labels(&[("region", "eu"), ("env", "prod")]);
        cluster.taints =
            vec![Taint { key: "gpu".to_owned(), value: String::new(), effect: TaintEffect::NoSelect }];
        cluster.facts = facts();
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &cluster).await.unwrap();
        assert_eq!(cluster::by_name(&mut tx, "edge-1").await.unwrap().as_ref(), Some(&cluster));
        assert_eq!(cluster::by_id(&mut tx, cluster.id).await.unwrap().as_ref(), Some(&cluster));
        assert_eq!(cluster::all_with_facts(&mut tx, &[cluster.id]).await.unwrap(), [cluster.clone()]);
        let short = cluster::all(&mut tx).await.unwrap();
        assert_eq!(short[0].facts.nodes, Some(3));
        assert!(
            short[0].facts.apis.is_empty() && short[0].facts.namespaces.is_empty(),
            "what is long is left out"
        );
        assert!(cluster::by_name(&mut tx, "edge-2").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn two_clusters_do_not_share_a_name() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &some_cluster(1, "edge-1")).await.unwrap();
        let taken = cluster::insert(&mut tx, &some_cluster(2, "edge-1")).await.unwrap_err();
        assert!(matches!(&taken, Error::Unique { what } if what == "cluster"), "{taken:?}");
    })
    .await;
}

#[tokio::test]
async fn an_edit_needs_the_revision_it_was_made_from_and_leaves_facts_and_pulse_alone() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        let stale = some_cluster(1, "edge-1");
        cluster::insert(&mut tx, &stale).await.unwrap();
        cluster::set_facts(&mut tx, stale.id, &facts()).await.unwrap();
        cluster::touch(&mut tx, &[stale.id], at(9_000)).await.unwrap();
        let mut edited = stale.clone();
        (edited.labels, edited.revision) = (labels(&[("env", "prod")]), 2);
        assert!(cluster::update(&mut tx, &edited, 1).await.unwrap());
        assert!(!cluster::update(&mut tx, &edited, 1).await.unwrap(), "somebody was faster");
        let now = cluster::by_id(&mut tx, stale.id).await.unwrap().unwrap();
        assert_eq!((now.labels, now.facts, now.last_seen), (edited.labels, facts(), Some(at(9_000))));
    })
    .await;
}

#[tokio::test]
async fn clusters_are_found_by_part_of_their_name_and_by_labels() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        for (n, name, env, region) in [
            (1, "eu-1", "prod", "eu"),
            (2, "eu-2", "dev", "eu"),
            (3, "us-1", "prod", "us"),
            (4, "lab", "", ""),
        ] {
            let mut cluster = some_cluster(n, name);
            if !env.is_empty() {
                cluster.labels = labels(&[("env", env), ("region", region)]);
            }
            cluster::insert(&mut tx, &cluster).await.unwrap();
        }
        for (q, selector, expected) in [
            ("eu", "", "eu-1 eu-2"),
            ("EU", "", "eu-1 eu-2"),
            ("_", "", ""),
            ("%", "", ""),
            ("", "env=prod", "eu-1 us-1"),
            ("", "env=prod,region in (eu,asia)", "eu-1"),
            ("", "env!=prod", "eu-2 lab"),
            ("", "env notin (prod,dev)", "lab"),
            ("", "env", "eu-1 eu-2 us-1"),
            ("", "!env", "lab"),
            ("1", "region", "eu-1 us-1"),
        ] {
            let query =
                ListQuery { q: q.to_owned(), label_selector: selector.to_owned(), ..ListQuery::default() };
            let page = cluster::list(&mut tx, &query).await.unwrap();
            let names: Vec<&str> = page.items.iter().map(|cluster| cluster.name.as_str()).collect();
            assert_eq!(
                (names.join(" ").as_str(), page.total as usize),
                (expected, names.len()),
                "{q} {selector}"
            );
        }
        let bad = ListQuery { label_selector: "a ~ b".to_owned(), ..ListQuery::default() };
        assert!(matches!(cluster::list(&mut tx, &bad).await, Err(Error::Query(_))));
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_brings_a_cluster_back_and_never_turns_the_clock_back() {
    for_both(|store| async move {
        fleet(&store, 3, 0).await;
        let mut tx = store.write().await.unwrap();
        let ids = [cluster_id(2), cluster_id(1)];
        cluster::set_reach(&mut tx, cluster_id(1), Reach::Offline).await.unwrap();
        let back = cluster::touch(&mut tx, &ids, at(5_000)).await.unwrap();
        assert_eq!(back, [(cluster_id(1), Reach::Offline)]);
        assert_eq!(cluster::touch(&mut tx, &ids, at(4_000)).await.unwrap(), []);
        let now = cluster::by_id(&mut tx, cluster_id(1)).await.unwrap().unwrap();
        assert_eq!((now.reach, now.last_seen), (Reach::Online, Some(at(5_000))));
        assert_eq!(cluster::count_silent(&mut tx).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_cluster_is_overdue_when_its_reach_is_better_than_its_silence_allows() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        for (n, lease_seconds, reach) in
            [(1, 60, Reach::Online), (2, 10, Reach::Online), (3, 60, Reach::Late), (4, 10, Reach::Late)]
        {
            let cluster = Cluster { lease_seconds, reach, ..some_cluster(n, &format!("c-{n}")) };
            cluster::insert(&mut tx, &cluster).await.unwrap();
        }
        let never = Cluster { reach: Reach::Offline, last_seen: None, ..some_cluster(5, "never") };
        cluster::insert(&mut tx, &never).await.unwrap();
        for (now, expected) in [
            (10_000, &[][..]),
            (10_001, &[2]),
            (30_000, &[2, 4]),
            (60_000, &[2, 4]),
            (60_001, &[1, 2, 4]),
            (180_000, &[1, 2, 3, 4]),
        ] {
            let mut found = cluster::overdue(&mut tx, at(now)).await.unwrap();
            found.sort();
            let expected: Vec<_> = expected.iter().copied().map(cluster_id).collect();
            assert_eq!(found, expected, "{now}");
            // The same rule as the domain's, cluster by cluster.
            for cluster in cluster::all(&mut tx).await.unwrap() {
                let worse = cluster.reach < Reach::of(cluster.last_seen, cluster.lease_seconds, at(now));
                assert_eq!(found.contains(&cluster.id), worse, "{} at {now}", cluster.name);
            }
        }
        assert!(cluster::set_reach(&mut tx, cluster_id(2), Reach::Late).await.unwrap());
        assert!(!cluster::set_reach(&mut tx, cluster_id(2), Reach::Late).await.unwrap(), "no news");
    })
    .await;
}

#[tokio::test]
async fn i2_reports_of_an_agent_that_was_followed_by_another_are_late() {
    for_both(|store| async move {
        fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        let id = cluster_id(1);
        let first = cluster::begin_incarnation(&mut tx, id).await.unwrap().unwrap();
        assert!(cluster::take_report_mark(&mut tx, id, first, 7).await.unwrap());
        let second = cluster::begin_incarnation(&mut tx, id).await.unwrap().unwrap();
        assert!(second > first);
        assert!(!cluster::take_report_mark(&mut tx, id, first, 8).await.unwrap());
        assert!(cluster::take_report_mark(&mut tx, id, second, 1).await.unwrap());
        assert_eq!(cluster::begin_incarnation(&mut tx, cluster_id(9)).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn i2_replayed_late_and_older_batches_of_reports_are_not_taken() {
    for_both(|store| async move {
        fleet(&store, 2, 0).await;
        let mut tx = store.write().await.unwrap();
        let id = cluster_id(1);
        for (incarnation, seq, taken) in [
            (10, 1, true),
            (10, 1, false),
            (10, 3, true),
            (10, 2, false),
            (9, 99, false),
            (11, 1, true),
            (10, 4, false),
        ] {
            let took = cluster::take_report_mark(&mut tx, id, incarnation, seq).await.unwrap();
            assert_eq!(took, taken, "{incarnation} {seq}");
        }
        assert_eq!(cluster::report_mark(&mut tx, id).await.unwrap(), Some((11, 1)));
        assert_eq!(
            cluster::report_mark(&mut tx, cluster_id(2)).await.unwrap(),
            Some((0, 0)),
            "each for itself"
        );
        assert!(!cluster::take_report_mark(&mut tx, cluster_id(9), 1, 1).await.unwrap(), "no such cluster");
    })
    .await;
}

#[tokio::test]
async fn the_version_of_the_wants_grows_once_per_transaction_that_changes_them() {
    for_both(|store| async move {
        fleet(&store, 2, 0).await;
        let mut tx = store.write().await.unwrap();
        let before = cluster::wants_version(&mut tx, cluster_id(1)).await.unwrap();
        cluster::bump_wants(&mut tx, &[cluster_id(1)]).await.unwrap();
        cluster::bump_wants(&mut tx, &[cluster_id(1)]).await.unwrap();
        assert_eq!(cluster::wants_version(&mut tx, cluster_id(1)).await.unwrap(), before + 1);
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(cluster::wants_version(&mut tx, cluster_id(1)).await.unwrap(), before + 1);
        assert_eq!(cluster::wants_version(&mut tx, cluster_id(2)).await.unwrap(), before);
    })
    .await;
}

#[tokio::test]
async fn groups_are_kept_by_name() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        let mut edge = ClusterGroup {
            name: "edge".to_owned(),
            members: vec!["a".to_owned()],
            selector: Some("env in (dev,prod)".parse().unwrap()),
            revision: 1,
        };
        group::insert(&mut tx, &edge).await.unwrap();
        edge.members.push("b".to_owned());
        edge.revision = 2;
        assert!(group::update(&mut tx, &edge, 1).await.unwrap());
        assert!(!group::update(&mut tx, &edge, 1).await.unwrap(), "somebody was there before");
        assert_eq!(group::by_name(&mut tx, "edge").await.unwrap().as_ref(), Some(&edge));
        assert_eq!(group::by_name(&mut tx, "core").await.unwrap(), None);
        assert_eq!(group::all(&mut tx).await.unwrap(), [edge]);
        assert!(group::delete(&mut tx, "edge").await.unwrap());
        assert!(!group::delete(&mut tx, "edge").await.unwrap());
    })
    .await;
}

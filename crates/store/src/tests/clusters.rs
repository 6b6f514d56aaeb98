//! Clusters and their heartbeats.

use domain::cluster::{
    ApiResource, Cluster, ClusterFacts, Connectivity, HelmReleaseFacts, NamespaceFacts, Quota, Taint,
    TaintEffect,
};
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::report::limits::MAX_SEQ_STEP;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_fleet, labels, some_cluster};
use crate::cluster::ReportPosition::{Late, Next, Unknown};
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
            helm_releases: Some(vec![HelmReleaseFacts {
                name: "web".to_owned(),
                ..HelmReleaseFacts::default()
            }]),
            quotas: vec![Quota { name: "web".to_owned(), ..Quota::default() }],
        }],
        ..ClusterFacts::default()
    }
}

#[tokio::test]
async fn a_cluster_reads_back_as_it_was_written() {
    for_each_engine(|store| async move {
        let mut cluster = some_cluster(1, "edge-1");
        cluster.labels = labels(&[("region", "eu"), ("env", "prod")]);
        cluster.taints =
            vec![Taint { key: "gpu".to_owned(), value: String::new(), effect: TaintEffect::NoSelect }];
        cluster.facts = facts();
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &cluster).await.unwrap();
        assert_eq!(cluster::get_by_name(&mut tx, "edge-1").await.unwrap().as_ref(), Some(&cluster));
        assert_eq!(cluster::get_by_id(&mut tx, cluster.id).await.unwrap().as_ref(), Some(&cluster));
        assert_eq!(cluster::get_many_with_facts(&mut tx, &[cluster.id]).await.unwrap(), [cluster.clone()]);
        assert_eq!(cluster::measure_others(&mut tx, cluster.id).await.unwrap(), 0);
        let bytes = cluster::measure_others(&mut tx, cluster_id(2)).await.unwrap();
        assert!((60..500).contains(&bytes), "{bytes} bytes of labels and taints");
        assert_eq!(cluster::count_values_of_others(&mut tx, cluster.id).await.unwrap(), (0, 0));
        let (others, values) = cluster::count_values_of_others(&mut tx, cluster_id(2)).await.unwrap();
        assert!(others == 1 && (8..=12).contains(&values), "{values} values of two labels and a taint");
        let short = cluster::list_all(&mut tx).await.unwrap();
        assert_eq!(short[0].facts.nodes, Some(3));
        assert!(
            short[0].facts.apis.is_empty() && short[0].facts.namespaces.is_empty(),
            "long lists are left out"
        );
        assert!(cluster::get_by_name(&mut tx, "edge-2").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn two_clusters_cannot_have_the_same_name() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &some_cluster(1, "edge-1")).await.unwrap();
        let taken = cluster::insert(&mut tx, &some_cluster(2, "edge-1")).await.unwrap_err();
        assert!(matches!(&taken, Error::AlreadyExists { what } if what == "cluster"), "{taken:?}");
    })
    .await;
}

#[tokio::test]
async fn an_edit_requires_the_expected_revision_and_does_not_change_facts_or_heartbeat() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let stale = some_cluster(1, "edge-1");
        cluster::insert(&mut tx, &stale).await.unwrap();
        cluster::set_facts(&mut tx, stale.id, &facts()).await.unwrap();
        cluster::record_heartbeats(&mut tx, &[stale.id], at(9_000)).await.unwrap();
        let mut edited = stale.clone();
        (edited.labels, edited.revision) = (labels(&[("env", "prod")]), 2);
        assert!(cluster::update(&mut tx, &edited, 1).await.unwrap());
        assert!(!cluster::update(&mut tx, &edited, 1).await.unwrap(), "the revision has changed");
        let now = cluster::get_by_id(&mut tx, stale.id).await.unwrap().unwrap();
        assert_eq!((now.labels, now.facts, now.last_seen), (edited.labels, facts(), Some(at(9_000))));
    })
    .await;
}

#[tokio::test]
async fn clusters_are_found_by_part_of_their_name_and_by_labels() {
    for_each_engine(|store| async move {
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
        let absent: Vec<String> = (0..499).map(|n| format!("!absent-{n}")).collect();
        let most_terms = format!("{},!env", absent.join(","));
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
            ("", "env,env in (prod,dev),env!=dev", "eu-1 us-1"),
            ("", "env=prod,env=dev", ""),
            ("", "env=prod,!region", ""),
            ("", &most_terms, "lab"),
            ("", &most_terms.replace('!', ""), ""),
            ("", &most_terms.replace('!', "").replace(',', "=a,"), ""),
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
        assert!(matches!(cluster::list(&mut tx, &bad).await, Err(Error::InvalidQuery(_))));
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_sets_a_cluster_online_and_never_moves_last_seen_back() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 3, 0).await;
        let mut tx = store.write().await.unwrap();
        let ids = [cluster_id(2), cluster_id(1)];
        cluster::set_connectivity(&mut tx, cluster_id(1), Connectivity::Offline).await.unwrap();
        let reconnected = cluster::record_heartbeats(&mut tx, &ids, at(5_000)).await.unwrap();
        assert_eq!(reconnected, [(cluster_id(1), Connectivity::Offline)]);
        assert_eq!(cluster::record_heartbeats(&mut tx, &ids, at(4_000)).await.unwrap(), []);
        let now = cluster::get_by_id(&mut tx, cluster_id(1)).await.unwrap().unwrap();
        assert_eq!((now.connectivity, now.last_seen), (Connectivity::Online, Some(at(5_000))));
        assert_eq!(cluster::count_not_online(&mut tx).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_outage_of_an_api_server_keeps_its_start_and_ends_once() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        let id = cluster_id(1);
        cluster::record_heartbeats(&mut tx, &[id], at(5_000)).await.unwrap();
        assert!(
            cluster::begin_api_server_outage(&mut tx, id, "connection refused", at(6_000)).await.unwrap()
        );
        assert!(!cluster::begin_api_server_outage(&mut tx, id, "timeout", at(7_000)).await.unwrap());
        let found = cluster::get_by_id(&mut tx, id).await.unwrap().unwrap();
        let outage = found.api_server_outage.unwrap();
        assert_eq!((outage.since, &*outage.message), (at(6_000), "connection refused"));
        assert_eq!(found.connectivity, Connectivity::Online, "the agent and the hub are up");
        assert_eq!(cluster::count_not_online(&mut tx).await.unwrap(), 1);
        assert!(cluster::end_api_server_outage(&mut tx, id).await.unwrap());
        assert!(!cluster::end_api_server_outage(&mut tx, id).await.unwrap());
        assert_eq!(cluster::get_by_id(&mut tx, id).await.unwrap().unwrap().api_server_outage, None);
    })
    .await;
}

#[tokio::test]
async fn a_cluster_is_overdue_when_its_last_heartbeat_is_too_old_for_its_connectivity() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        for (n, lease_seconds, reach) in [
            (1, 60, Connectivity::Online),
            (2, 10, Connectivity::Online),
            (3, 60, Connectivity::Late),
            (4, 10, Connectivity::Late),
        ] {
            let cluster =
                Cluster { lease_seconds, connectivity: reach, ..some_cluster(n, &format!("c-{n}")) };
            cluster::insert(&mut tx, &cluster).await.unwrap();
        }
        let never =
            Cluster { connectivity: Connectivity::Offline, last_seen: None, ..some_cluster(5, "never") };
        cluster::insert(&mut tx, &never).await.unwrap();
        for (now, expected) in [
            (10_000, &[][..]),
            (10_001, &[2]),
            (30_000, &[2, 4]),
            (60_000, &[2, 4]),
            (60_001, &[1, 2, 4]),
            (180_000, &[1, 2, 3, 4]),
        ] {
            let overdue = cluster::list_overdue(&mut tx, at(now)).await.unwrap();
            let mut found: Vec<_> = overdue.into_iter().map(|cluster| cluster.id).collect();
            found.sort();
            let expected: Vec<_> = expected.iter().copied().map(cluster_id).collect();
            assert_eq!(found, expected, "{now}");
            // The same rule as in `domain`, cluster by cluster.
            for cluster in cluster::list_all(&mut tx).await.unwrap() {
                let worse = cluster.connectivity
                    < Connectivity::from_last_seen(cluster.last_seen, cluster.lease_seconds, at(now));
                assert_eq!(found.contains(&cluster.id), worse, "{} at {now}", cluster.name);
            }
        }
        assert!(cluster::set_connectivity(&mut tx, cluster_id(2), Connectivity::Late).await.unwrap());
        assert!(
            !cluster::set_connectivity(&mut tx, cluster_id(2), Connectivity::Late).await.unwrap(),
            "unchanged"
        );
    })
    .await;
}

#[tokio::test]
async fn i2_reports_of_a_replaced_agent_are_rejected() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        let id = cluster_id(1);
        let first = cluster::begin_incarnation(&mut tx, id).await.unwrap().unwrap();
        assert_eq!(cluster::advance_report_position(&mut tx, id, first, 7).await.unwrap(), Next);
        let second = cluster::begin_incarnation(&mut tx, id).await.unwrap().unwrap();
        assert!(second > first);
        assert_eq!(cluster::advance_report_position(&mut tx, id, first, 8).await.unwrap(), Late);
        assert_eq!(cluster::advance_report_position(&mut tx, id, second, 1).await.unwrap(), Next);
        assert_eq!(cluster::begin_incarnation(&mut tx, cluster_id(9)).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn i2_only_the_next_batches_of_the_incarnation_that_was_begun_are_accepted() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 0).await;
        let mut tx = store.write().await.unwrap();
        let id = cluster_id(1);
        cluster::begin_incarnation(&mut tx, id).await.unwrap();
        assert_eq!(cluster::begin_incarnation(&mut tx, id).await.unwrap(), Some(2));
        for (incarnation, seq, expected) in [
            (2, 1, Next),
            (2, 1, Late),
            (2, 3, Next),
            (2, 2, Late),
            (2, i64::MIN, Late),
            (1, 99, Late),
            (i64::MIN, i64::MAX, Late),
            (2, MAX_SEQ_STEP + 4, Unknown),
            (2, i64::MAX, Unknown),
            (3, 1, Unknown),
            (i64::MAX, i64::MAX, Unknown),
            (2, MAX_SEQ_STEP + 3, Next),
        ] {
            let position = cluster::advance_report_position(&mut tx, id, incarnation, seq).await.unwrap();
            assert_eq!(position, expected, "{incarnation} {seq}");
        }
        let position = cluster::get_report_position(&mut tx, id).await.unwrap();
        assert_eq!(position, Some((2, MAX_SEQ_STEP + 3)));
        assert_eq!(
            cluster::get_report_position(&mut tx, cluster_id(2)).await.unwrap(),
            Some((0, 0)),
            "each cluster has its own position"
        );
        assert_eq!(
            cluster::advance_report_position(&mut tx, cluster_id(9), 1, 1).await.unwrap(),
            Unknown,
            "no such cluster"
        );
    })
    .await;
}

#[tokio::test]
async fn an_incarnation_that_no_hub_issued_is_replaced_by_the_next_session() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        crate::sql::sql("UPDATE cluster_heartbeat SET incarnation = $1, seq = $1")
            .bind(i64::MAX)
            .execute(&mut tx)
            .await
            .unwrap();
        assert_eq!(cluster::begin_incarnation(&mut tx, cluster_id(1)).await.unwrap(), Some(1));
        assert_eq!(cluster::begin_incarnation(&mut tx, cluster_id(1)).await.unwrap(), Some(2));
        assert_eq!(cluster::get_report_position(&mut tx, cluster_id(1)).await.unwrap(), Some((2, 0)));
    })
    .await;
}

#[tokio::test]
async fn the_desired_state_version_grows_once_per_transaction_that_changes_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 0).await;
        let mut tx = store.write().await.unwrap();
        let before = cluster::desired_state_version(&mut tx, cluster_id(1)).await.unwrap();
        cluster::bump_desired_state(&mut tx, &[cluster_id(1)]).await.unwrap();
        cluster::bump_desired_state(&mut tx, &[cluster_id(1)]).await.unwrap();
        assert_eq!(cluster::desired_state_version(&mut tx, cluster_id(1)).await.unwrap(), before + 1);
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(cluster::desired_state_version(&mut tx, cluster_id(1)).await.unwrap(), before + 1);
        assert_eq!(cluster::desired_state_version(&mut tx, cluster_id(2)).await.unwrap(), before);
    })
    .await;
}

#[tokio::test]
async fn groups_are_stored_by_name() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let mut edge = ClusterGroup {
            name: "edge".to_owned(),
            members: vec!["a".to_owned()],
            selector: Some("env in (dev,prod)".parse().unwrap()),
            exclusive: true,
            locked_values: "tls: {enabled: true}".to_owned(),
            revision: 1,
            ..ClusterGroup::default()
        };
        group::insert(&mut tx, &edge).await.unwrap();
        edge.members.push("b".to_owned());
        edge.revision = 2;
        assert!(group::update(&mut tx, &edge, 1).await.unwrap());
        assert!(!group::update(&mut tx, &edge, 1).await.unwrap(), "the revision has changed");
        assert_eq!(group::get_by_name(&mut tx, "edge").await.unwrap().as_ref(), Some(&edge));
        assert_eq!(group::get_by_name(&mut tx, "core").await.unwrap(), None);
        let membership = ClusterGroup {
            name: edge.name.clone(),
            members: edge.members.clone(),
            selector: edge.selector.clone(),
            ..ClusterGroup::default()
        };
        assert_eq!(group::list_memberships(&mut tx).await.unwrap(), [membership]);
        assert_eq!(group::list(&mut tx).await.unwrap(), [edge]);
        assert_eq!(group::measure_others(&mut tx, "edge").await.unwrap(), (0, 0));
        let (others, bytes) = group::measure_others(&mut tx, "core").await.unwrap();
        assert!(others == 1 && bytes > 20, "{bytes} bytes");
        assert!(group::delete(&mut tx, "edge").await.unwrap());
        assert!(!group::delete(&mut tx, "edge").await.unwrap());
    })
    .await;
}

//! Join tokens, registrations, certificates, and deleted clusters.

use domain::JoinTokenId;
use domain::cluster::ClusterFacts;
use domain::join::{JoinToken, Registration, RegistrationState};
use domain::page::ListQuery;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_full_fleet, labels, some_cluster};
use crate::certificate::{self, CertificateRecord};
use crate::retention::{RetainedTable, delete_batch};
use crate::{Error, cluster, join_token, registration, release};

fn token(n: u128) -> JoinToken {
    JoinToken {
        id: JoinTokenId::from_parts(7, n),
        cluster_name: Some("edge-1".to_owned()),
        labels: labels(&[("env", "prod")]),
        auto_accept: true,
        max_uses: 2,
        uses: 0,
        created_by: "ana".to_owned(),
        created_at: at(0),
        expires_at: at(1_000),
        revoked_at: None,
    }
}

fn pending_registration(key: &str, name: &str) -> Registration {
    Registration {
        name: name.to_owned(),
        fingerprint: key.to_owned(),
        state: RegistrationState::Pending,
        token: token(1).id,
        labels: labels(&[("env", "prod")]),
        facts: ClusterFacts { kubernetes_version: "v1.33.4".to_owned(), ..ClusterFacts::default() },
        requested_at: at(0),
        cluster: None,
        decided_by: None,
    }
}

fn certificate(serial: &str, cluster: u128) -> CertificateRecord {
    CertificateRecord {
        serial: serial.to_owned(),
        cluster: cluster_id(cluster),
        fingerprint: "key".to_owned(),
        certificate: "pem".to_owned(),
        created_at: at(0),
        not_after: at(1_000),
        revoked_at: None,
    }
}

#[tokio::test]
async fn a_join_token_has_limited_uses_and_is_revoked_once() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let one = token(1);
        join_token::insert(&mut tx, &one, "hash").await.unwrap();
        assert_eq!(join_token::get(&mut tx, one.id).await.unwrap(), Some((one.clone(), "hash".to_owned())));
        assert!(join_token::consume_use(&mut tx, one.id).await.unwrap());
        assert!(join_token::consume_use(&mut tx, one.id).await.unwrap());
        assert!(!join_token::consume_use(&mut tx, one.id).await.unwrap());
        assert!(join_token::revoke(&mut tx, one.id, at(5)).await.unwrap());
        assert!(!join_token::revoke(&mut tx, one.id, at(6)).await.unwrap());
        let listed = join_token::list(&mut tx).await.unwrap();
        assert_eq!((listed[0].uses, listed[0].revoked_at), (2, Some(at(5))));
        assert_eq!(delete_batch(&mut tx, RetainedTable::JoinToken, at(1_001), 10).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn one_key_is_pending_per_name_until_it_is_decided() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &some_cluster(1, "edge-1")).await.unwrap();
        let first = pending_registration("a", "edge-1");
        registration::save(&mut tx, &first, "csr").await.unwrap();
        assert_eq!(registration::get_pending(&mut tx, "edge-1").await.unwrap().as_ref(), Some(&first));
        assert_eq!(
            registration::list_not_accepted(&mut tx).await.unwrap().as_slice(),
            std::slice::from_ref(&first)
        );
        let accepted = Registration {
            state: RegistrationState::Accepted,
            cluster: Some(cluster_id(1)),
            decided_by: Some("ana".to_owned()),
            ..first
        };
        assert!(registration::record_decision(&mut tx, &accepted, at(1)).await.unwrap());
        assert_eq!(registration::get_by_fingerprint(&mut tx, "a").await.unwrap().as_ref(), Some(&accepted));
        let newest = registration::find_newest_by_cluster(&mut tx, cluster_id(1)).await.unwrap();
        assert_eq!(newest, Some((accepted, Some(at(1)))));
        assert_eq!(registration::find_newest_by_cluster(&mut tx, cluster_id(2)).await.unwrap(), None);
        assert_eq!(registration::count_pending(&mut tx).await.unwrap(), 0);
        registration::save(&mut tx, &pending_registration("b", "edge-1"), "csr").await.unwrap();
        let taken = registration::save(&mut tx, &pending_registration("c", "edge-1"), "csr").await;
        assert!(matches!(taken, Err(Error::AlreadyExists { .. })));
    })
    .await;
}

#[tokio::test]
async fn certificates_expire_are_revoked_and_are_deleted_with_their_cluster() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let (one, other) = (certificate("01", 1), certificate("02", 2));
        certificate::insert(&mut tx, &one).await.unwrap();
        certificate::insert(&mut tx, &other).await.unwrap();
        let renewed = CertificateRecord {
            fingerprint: "next key".to_owned(),
            created_at: at(500),
            ..certificate("03", 2)
        };
        certificate::insert(&mut tx, &renewed).await.unwrap();
        assert_eq!(certificate::find_newest(&mut tx, cluster_id(1)).await.unwrap().as_ref(), Some(&one));
        assert_eq!(certificate::find_newest(&mut tx, cluster_id(2)).await.unwrap(), Some(renewed));
        assert!(matches!(certificate::find_valid(&mut tx, cluster_id(1), "key", at(999)).await, Ok(Some(_))));
        assert!(matches!(certificate::find_valid(&mut tx, cluster_id(1), "key", at(1_000)).await, Ok(None)));
        assert_eq!(certificate::revoke_by_cluster(&mut tx, cluster_id(1), at(5)).await.unwrap(), 1);
        assert_eq!(certificate::get(&mut tx, "01").await.unwrap().unwrap().revoked_at, Some(at(5)));
        assert_eq!(
            certificate::get(&mut tx, "02").await.unwrap(),
            Some(other),
            "the other certificate is unchanged"
        );

        certificate::record_acceptance(&mut tx, cluster_id(1), "ana", at(1)).await.unwrap();
        assert!(certificate::record_join(&mut tx, cluster_id(1), "0.1.0", at(2)).await.unwrap());
        assert!(
            !certificate::record_join(&mut tx, cluster_id(1), "0.1.0", at(3)).await.unwrap(),
            "unchanged"
        );
        let joining = certificate::list_join_statuses(&mut tx, &[cluster_id(1)]).await.unwrap();
        assert_eq!(joining[&cluster_id(1)].joined_at, Some(at(2)));

        assert_eq!(release::delete_by_cluster(&mut tx, cluster_id(1)).await.unwrap().len(), 1);
        assert!(cluster::delete(&mut tx, cluster_id(1)).await.unwrap());
        assert_eq!(certificate::get(&mut tx, "01").await.unwrap(), None);
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(cluster::list(&mut tx, &ListQuery::default()).await.unwrap().total, 1);
        let counts = release::counts_all(&mut tx).await.unwrap();
        assert_eq!(counts.0.values().sum::<u32>(), 1, "only the remaining release is counted");
    })
    .await;
}

//! Identity providers, the identities of users, and sign-ins with providers.

use domain::UserId;
use domain::identity_provider::{IdentityProviderSettings, IdentityReading};
use domain::role::Role;

use super::databases::for_each_engine;
use super::fixtures::at;
use crate::identity_provider::IdentityProviderRow;
use crate::identity_session::IdentitySessionRow;
use crate::retention::{RetainedTable, delete_batch};
use crate::session::SessionDetails;
use crate::user::UserRow;
use crate::user_identity::UserIdentityRow;
use crate::{Error, Tx, identity_provider, identity_session, role_binding, session, user, user_identity};

fn provider(name: &str) -> IdentityProviderRow {
    IdentityProviderRow {
        name: name.to_owned(),
        display_name: name.to_uppercase(),
        issuer: format!("https://{name}.example.com"),
        client_id: "flotilla".to_owned(),
        client_secret: Some("secret".to_owned()),
        settings: IdentityProviderSettings::default(),
        enabled: true,
        created_by: "ada".to_owned(),
        created_at: at(1),
        revision: 1,
    }
}

fn some_user(n: u128) -> UserRow {
    UserRow {
        id: UserId::from_parts(5, n),
        name: format!("user-{n}"),
        password_hash: String::new(),
        created_at: at(0),
        session_epoch: 0,
        disabled_at: None,
        last_sign_in_at: None,
    }
}

fn sign_in(id: &str, n: u128, sid: &str) -> IdentitySessionRow {
    IdentitySessionRow {
        id: id.to_owned(),
        user: UserId::from_parts(5, n),
        provider: "corp".to_owned(),
        subject: format!("subject-{n}"),
        sid: sid.to_owned(),
        refresh_token: "refresh".to_owned(),
        checked_at: at(10),
        retry_at: at(50),
        claimed_until: at(10),
        expires_at: at(1_000),
    }
}

async fn insert_all(tx: &mut Tx) {
    identity_provider::insert(tx, &provider("corp")).await.unwrap();
    for n in [1, 2] {
        user::insert(tx, &some_user(n)).await.unwrap();
    }
    for (id, n, sid) in [("a", 1, "s1"), ("b", 1, "s2"), ("c", 2, "s3")] {
        identity_session::insert(tx, &sign_in(id, n, sid)).await.unwrap();
    }
}

#[tokio::test]
async fn a_provider_is_found_by_name_and_issuer_and_its_issuer_is_that_of_no_other() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        identity_provider::insert(&mut tx, &provider("corp")).await.unwrap();
        let mut changed = IdentityProviderRow { revision: 2, enabled: false, ..provider("corp") };
        assert!(identity_provider::update(&mut tx, &changed, 1).await.unwrap());
        assert!(!identity_provider::update(&mut tx, &changed, 1).await.unwrap());
        assert!(identity_provider::get(&mut tx, "corp").await.unwrap() == Some(changed.clone()));
        let found = identity_provider::get_by_issuer(&mut tx, "https://corp.example.com").await.unwrap();
        assert!(found == Some(changed.clone()));
        assert_eq!(identity_provider::list(&mut tx).await.unwrap().len(), 1);
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        changed.name = "other".to_owned();
        let taken = identity_provider::insert(&mut tx, &changed).await;
        assert!(matches!(taken, Err(Error::AlreadyExists { .. })), "{taken:?}");
    })
    .await;
}

#[tokio::test]
async fn an_identity_belongs_to_one_user_and_is_listed_with_it() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        insert_all(&mut tx).await;
        let mut identity = UserIdentityRow {
            user: UserId::from_parts(5, 1),
            issuer: "https://corp.example.com".to_owned(),
            subject: "subject-1".to_owned(),
            reading: IdentityReading { role: Some(Role::Editor), ..IdentityReading::default() },
            checked_at: at(10),
        };
        user_identity::put(&mut tx, &identity).await.unwrap();
        identity.checked_at = at(20);
        user_identity::put(&mut tx, &identity).await.unwrap();
        let found = user_identity::find(&mut tx, &identity.issuer, "subject-1").await.unwrap();
        assert_eq!(found.as_ref(), Some(&identity));
        assert_eq!(user_identity::get(&mut tx, identity.user).await.unwrap(), found);
        assert_eq!(user_identity::get(&mut tx, UserId::from_parts(5, 2)).await.unwrap(), None);
        role_binding::put(&mut tx, identity.user, Role::Editor).await.unwrap();
        role_binding::delete(&mut tx, identity.user).await.unwrap();
        assert_eq!(role_binding::get(&mut tx, identity.user).await.unwrap(), None);
        let listed = user::list(&mut tx, 10).await.unwrap();
        let issuers: Vec<Option<&str>> = listed.iter().map(|one| one.issuer.as_deref()).collect();
        assert_eq!(issuers, [Some("https://corp.example.com"), None]);
    })
    .await;
}

#[tokio::test]
async fn one_server_renews_a_sign_in_and_what_ended_stays_ended() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        insert_all(&mut tx).await;
        assert!(identity_session::claim(&mut tx, "a", at(50), at(60), at(90)).await.unwrap());
        assert!(!identity_session::claim(&mut tx, "a", at(50), at(61), at(91)).await.unwrap(), "claimed");
        assert!(!identity_session::claim(&mut tx, "a", at(49), at(99), at(129)).await.unwrap(), "renewed");
        assert!(identity_session::claim(&mut tx, "a", at(50), at(90), at(120)).await.unwrap(), "given up");
        let renewed = IdentitySessionRow {
            refresh_token: "next".to_owned(),
            retry_at: at(130),
            ..sign_in("a", 1, "s1")
        };
        assert!(identity_session::update(&mut tx, &renewed).await.unwrap());
        assert!(identity_session::get(&mut tx, "a").await.unwrap() == Some(renewed.clone()));
        assert!(identity_session::delete(&mut tx, "a").await.unwrap());
        assert!(!identity_session::update(&mut tx, &renewed).await.unwrap());
        assert!(identity_session::get(&mut tx, "a").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn of_the_sign_ins_and_sessions_of_a_user_the_newest_are_retained() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        insert_all(&mut tx).await;
        let user = UserId::from_parts(5, 1);
        for (id, expires_at) in [("d", 1_003), ("e", 1_001), ("f", 1_002)] {
            let row = IdentitySessionRow { expires_at: at(expires_at), ..sign_in(id, 1, "") };
            identity_session::insert(&mut tx, &row).await.unwrap();
        }
        // "e" is the sign-in of now, whatever the clock was; "d" and "f" are the newest others.
        assert_eq!(identity_session::delete_oldest(&mut tx, (user, "e"), 2).await.unwrap(), 2);
        assert_eq!(identity_session::delete_oldest(&mut tx, (user, "e"), 2).await.unwrap(), 0);
        for (id, is_there) in [("a", false), ("b", false), ("c", true), ("d", true), ("e", true), ("f", true)]
        {
            assert_eq!(identity_session::get(&mut tx, id).await.unwrap().is_some(), is_there, "{id}");
        }
        for (id, user, signed_in_at, expires) in [
            ("old", 1, 1, 100),
            ("expired", 1, 2, 50),
            ("new", 1, 3, 100),
            ("now", 1, 0, 100),
            ("other", 2, 0, 100),
        ] {
            let user = Some(UserId::from_parts(5, user));
            let details =
                SessionDetails { user, signed_in_at: at(signed_in_at), ..SessionDetails::default() };
            session::insert(&mut tx, id, "{}", at(expires), &details).await.unwrap();
        }
        // One that has expired neither counts nor is ended.
        assert_eq!(session::delete_oldest(&mut tx, (user, "now"), 1, at(60)).await.unwrap(), 1);
        for (id, is_there) in
            [("old", false), ("expired", true), ("new", true), ("now", true), ("other", true)]
        {
            assert_eq!(session::load(&mut tx, id, at(40)).await.unwrap().is_some(), is_there, "{id}");
        }
    })
    .await;
}

async fn end_named(tx: &mut Tx, subject: Option<&str>, sid: Option<&str>) -> u64 {
    identity_session::delete_by_logout(tx, "corp", subject, sid).await.unwrap()
}

#[tokio::test]
async fn a_logout_ends_what_it_names_and_works_once() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        insert_all(&mut tx).await;
        assert_eq!(end_named(&mut tx, Some("subject-2"), Some("s1")).await, 0, "of another user");
        assert_eq!(end_named(&mut tx, None, Some("s1")).await, 1);
        assert_eq!(end_named(&mut tx, Some("subject-1"), None).await, 1);
        assert!(identity_session::use_once(&mut tx, "x", at(100)).await.unwrap());
        assert!(!identity_session::use_once(&mut tx, "x", at(100)).await.unwrap());
        assert!(identity_session::is_used(&mut tx, "x").await.unwrap());
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdentityReplay, at(100), 10).await.unwrap(), 0);
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdentityReplay, at(101), 10).await.unwrap(), 1);
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdentitySession, at(1_000), 10).await.unwrap(), 0);
        identity_session::insert(&mut tx, &sign_in("d", 1, "s4")).await.unwrap();
        assert_eq!(identity_session::delete_by_provider(&mut tx, "corp").await.unwrap(), 2);
        identity_session::insert(&mut tx, &sign_in("e", 1, "s5")).await.unwrap();
        assert!(identity_provider::delete(&mut tx, "corp").await.unwrap());
        assert!(identity_session::get(&mut tx, "e").await.unwrap().is_none(), "with its provider");
    })
    .await;
}

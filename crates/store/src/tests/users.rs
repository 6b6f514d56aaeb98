//! Users, sessions, tokens and the setup token.

use domain::{TokenId, UserId};

use super::databases::for_each_engine;
use super::fixtures::at;
use crate::retention::{RetainedTable, delete_batch};
use crate::token::ApiTokenRecord;
use crate::user::User;
use crate::{Error, Tx, session, setup, token, user};

fn user_ana() -> User {
    User {
        id: UserId::from_parts(5, 1),
        name: "ana".to_owned(),
        password_hash: "$argon2id$secret".to_owned(),
        created_at: at(0),
    }
}

async fn insert_ana(tx: &mut Tx) -> User {
    user::insert(tx, &user_ana()).await.unwrap();
    user_ana()
}

#[tokio::test]
async fn users_are_found_by_their_name() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(user::count(&mut tx).await.unwrap(), 0);
        let ana = insert_ana(&mut tx).await;
        assert_eq!(user::get_by_name(&mut tx, "ana").await.unwrap().as_ref(), Some(&ana));
        assert_eq!(user::get_by_id(&mut tx, ana.id).await.unwrap().as_ref(), Some(&ana));
        assert_eq!(user::get_by_name(&mut tx, "ANA").await.unwrap(), None);
        assert_eq!(user::count(&mut tx).await.unwrap(), 1);
        let again = User { id: UserId::from_parts(5, 2), ..ana };
        assert!(matches!(user::insert(&mut tx, &again).await, Err(Error::AlreadyExists { .. })));
    })
    .await;
}

#[test]
fn the_debug_output_of_a_user_or_token_contains_no_hash() {
    let token = some_token(1, None);
    assert!(!format!("{:?} {token:?}", user_ana()).contains("secret"));
}

fn some_token(n: u128, expires: Option<i64>) -> ApiTokenRecord {
    ApiTokenRecord {
        id: TokenId::from_parts(6, n),
        name: "ci".to_owned(),
        user: user_ana().id,
        secret_sha256: format!("secret-{n}"),
        created_at: at(0),
        expires_at: expires.map(at),
        used_at: None,
    }
}

#[tokio::test]
async fn a_token_is_valid_until_it_expires_or_is_deleted() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = insert_ana(&mut tx).await;
        token::insert(&mut tx, &some_token(1, Some(10))).await.unwrap();
        token::insert(&mut tx, &some_token(2, None)).await.unwrap();
        assert!(token::get_by_hash(&mut tx, "secret-1", at(9)).await.unwrap().is_some());
        assert!(token::get_by_hash(&mut tx, "secret-1", at(10)).await.unwrap().is_none());
        assert!(token::get_by_hash(&mut tx, "other", at(0)).await.unwrap().is_none());
        let second = some_token(2, None);
        token::record_use(&mut tx, second.id, at(1_000)).await.unwrap();
        token::record_use(&mut tx, second.id, at(2_000)).await.unwrap();
        let used = token::get_by_hash(&mut tx, "secret-2", at(9)).await.unwrap().unwrap().used_at;
        assert_eq!(used, Some(at(1_000)), "written at most once a minute");
        assert_eq!(token::list(&mut tx, ana.id).await.unwrap().len(), 2);
        let other_user = UserId::from_parts(5, 9);
        assert!(!token::delete(&mut tx, other_user, second.id).await.unwrap(), "of another user");
        assert!(token::delete(&mut tx, ana.id, second.id).await.unwrap());
        assert!(token::get_by_hash(&mut tx, "secret-2", at(9)).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_session_is_valid_until_it_expires_or_is_deleted() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        session::save(&mut tx, "id-1", "{}", at(10)).await.unwrap();
        session::save(&mut tx, "id-1", "{\"a\":1}", at(20)).await.unwrap();
        session::save(&mut tx, "id-2", "{}", at(20)).await.unwrap();
        assert_eq!(session::load(&mut tx, "id-1", at(19)).await.unwrap().as_deref(), Some("{\"a\":1}"));
        assert_eq!(session::load(&mut tx, "id-1", at(20)).await.unwrap(), None);
        assert!(session::delete(&mut tx, "id-2").await.unwrap());
        assert_eq!(session::load(&mut tx, "id-2", at(0)).await.unwrap(), None);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Session, at(21), 10).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_setup_token_can_be_used_once() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(setup::get(&mut tx).await.unwrap(), None);
        setup::put(&mut tx, "old").await.unwrap();
        setup::put(&mut tx, "new").await.unwrap();
        assert_eq!(setup::get(&mut tx).await.unwrap().as_deref(), Some("new"));
        assert!(!setup::consume(&mut tx, "old").await.unwrap());
        assert!(setup::consume(&mut tx, "new").await.unwrap());
        assert!(!setup::consume(&mut tx, "new").await.unwrap());
    })
    .await;
}

//! People, sessions, tokens and the first sign-in.

use domain::{TokenId, UserId};

use super::both::for_both;
use super::fixtures::at;
use crate::token::Token;
use crate::user::User;
use crate::{Error, Tx, session, setup, token, user};

fn ana() -> User {
    User {
        id: UserId::from_parts(5, 1),
        name: "ana".to_owned(),
        password_hash: "$argon2id$secret".to_owned(),
        created_at: at(0),
    }
}

async fn with_ana(tx: &mut Tx) -> User {
    user::insert(tx, &ana()).await.unwrap();
    ana()
}

#[tokio::test]
async fn people_are_found_by_their_name() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(user::count(&mut tx).await.unwrap(), 0);
        let ana = with_ana(&mut tx).await;
        assert_eq!(user::by_name(&mut tx, "ana").await.unwrap().as_ref(), Some(&ana));
        assert_eq!(user::by_id(&mut tx, ana.id).await.unwrap().as_ref(), Some(&ana));
        assert_eq!(user::by_name(&mut tx, "ANA").await.unwrap(), None);
        assert_eq!(user::count(&mut tx).await.unwrap(), 1);
        let again = User { id: UserId::from_parts(5, 2), ..ana };
        assert!(matches!(user::insert(&mut tx, &again).await, Err(Error::Unique { .. })));
    })
    .await;
}

#[test]
fn what_is_printed_of_a_person_or_token_holds_no_hash() {
    let token = some_token(1, None);
    assert!(!format!("{:?} {token:?}", ana()).contains("secret"));
}

fn some_token(n: u128, expires: Option<i64>) -> Token {
    Token {
        id: TokenId::from_parts(6, n),
        name: "ci".to_owned(),
        user: ana().id,
        sha256: format!("secret-{n}"),
        created_at: at(0),
        expires_at: expires.map(at),
        used_at: None,
    }
}

#[tokio::test]
async fn a_token_works_until_it_ends_or_is_deleted() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = with_ana(&mut tx).await;
        token::insert(&mut tx, &some_token(1, Some(10))).await.unwrap();
        token::insert(&mut tx, &some_token(2, None)).await.unwrap();
        assert!(token::by_hash(&mut tx, "secret-1", at(9)).await.unwrap().is_some());
        assert!(token::by_hash(&mut tx, "secret-1", at(10)).await.unwrap().is_none());
        assert!(token::by_hash(&mut tx, "other", at(0)).await.unwrap().is_none());
        let second = some_token(2, None);
        token::touch_used(&mut tx, second.id, at(1_000)).await.unwrap();
        token::touch_used(&mut tx, second.id, at(2_000)).await.unwrap();
        let used = token::by_hash(&mut tx, "secret-2", at(9)).await.unwrap().unwrap().used_at;
        assert_eq!(used, Some(at(1_000)), "noted once a minute");
        assert_eq!(token::list(&mut tx, ana.id).await.unwrap().len(), 2);
        let stranger = UserId::from_parts(5, 9);
        assert!(!token::delete(&mut tx, stranger, second.id).await.unwrap(), "not hers");
        assert!(token::delete(&mut tx, ana.id, second.id).await.unwrap());
        assert!(token::by_hash(&mut tx, "secret-2", at(9)).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_session_lasts_until_it_expires_or_is_ended() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        session::save(&mut tx, "id-1", "{}", at(10)).await.unwrap();
        session::save(&mut tx, "id-1", "{\"a\":1}", at(20)).await.unwrap();
        session::save(&mut tx, "id-2", "{}", at(20)).await.unwrap();
        assert_eq!(session::load(&mut tx, "id-1", at(19)).await.unwrap().as_deref(), Some("{\"a\":1}"));
        assert_eq!(session::load(&mut tx, "id-1", at(20)).await.unwrap(), None);
        assert!(session::delete(&mut tx, "id-2").await.unwrap());
        assert_eq!(session::load(&mut tx, "id-2", at(0)).await.unwrap(), None);
        assert_eq!(session::delete_expired(&mut tx, at(20)).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_setup_token_is_used_up_once() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(setup::get(&mut tx).await.unwrap(), None);
        setup::put(&mut tx, "old").await.unwrap();
        setup::put(&mut tx, "new").await.unwrap();
        assert_eq!(setup::get(&mut tx).await.unwrap().as_deref(), Some("new"));
        assert!(setup::clear(&mut tx).await.unwrap());
        assert!(!setup::clear(&mut tx).await.unwrap());
    })
    .await;
}

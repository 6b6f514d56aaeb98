//! Users, sessions, tokens and the setup token.

use domain::role::Role;
use domain::{TokenId, UserId};

use super::databases::for_each_engine;
use super::fixtures::at;
use crate::elevation::ElevationRow;
use crate::retention::{RetainedTable, delete_batch};
use crate::session::SessionDetails;
use crate::token::ApiTokenRecord;
use crate::user::UserRow;
use crate::{Error, Tx, elevation, password_link, role_binding, session, setup, token, user};

fn user_ana() -> UserRow {
    UserRow {
        id: UserId::from_parts(5, 1),
        name: "ana".to_owned(),
        password_hash: "$argon2id$secret".to_owned(),
        created_at: at(0),
        session_epoch: 0,
        disabled_at: None,
        last_sign_in_at: None,
    }
}

async fn insert_ana(tx: &mut Tx) -> UserRow {
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
        let again = UserRow { id: UserId::from_parts(5, 2), ..ana };
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
        role: Role::Editor,
        project: None,
        can_mint: false,
        actions: Some("edit publish".parse().unwrap()),
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
        let details = SessionDetails::default();
        session::insert(&mut tx, "id-1", "{}", at(10), &details).await.unwrap();
        assert!(session::update(&mut tx, "id-1", "{\"a\":1}", at(20), &details).await.unwrap());
        session::insert(&mut tx, "id-2", "{}", at(20), &details).await.unwrap();
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

#[tokio::test]
async fn a_user_has_one_role_in_the_organisation_and_the_other_administrators_are_counted() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = insert_ana(&mut tx).await;
        assert_eq!(role_binding::get(&mut tx, ana.id).await.unwrap(), None, "no role is no right");
        role_binding::put(&mut tx, ana.id, Role::Viewer).await.unwrap();
        role_binding::put(&mut tx, ana.id, Role::Admin).await.unwrap();
        assert_eq!(role_binding::get(&mut tx, ana.id).await.unwrap(), Some(Role::Admin));
        let bob = UserRow { id: UserId::from_parts(5, 2), name: "bob".to_owned(), ..user_ana() };
        user::insert(&mut tx, &bob).await.unwrap();
        role_binding::put(&mut tx, bob.id, Role::Admin).await.unwrap();
        let others =
            async |tx: &mut Tx| role_binding::count_others_with(tx, Role::Admin, ana.id).await.unwrap();
        assert_eq!(others(&mut tx).await, 1);
        user::update(&mut tx, &UserRow { disabled_at: Some(at(1)), ..bob.clone() }).await.unwrap();
        assert_eq!(others(&mut tx).await, 0, "a disabled user can't sign in");
        user::update(&mut tx, &UserRow { password_hash: String::new(), ..bob.clone() }).await.unwrap();
        assert_eq!(others(&mut tx).await, 0, "neither can an invited one");
        let listed = user::list(&mut tx, 10).await.unwrap();
        let names: Vec<&str> = listed.iter().map(|listed| listed.user.name.as_str()).collect();
        assert_eq!((names, listed[1].role), (vec!["ana", "bob"], Some(Role::Admin)));
    })
    .await;
}

#[tokio::test]
async fn a_password_link_works_once_and_until_it_expires() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = insert_ana(&mut tx).await;
        password_link::put(&mut tx, ana.id, "old", at(10)).await.unwrap();
        password_link::put(&mut tx, ana.id, "new", at(10)).await.unwrap();
        assert_eq!(password_link::find_user(&mut tx, "old", at(1)).await.unwrap(), None, "replaced");
        assert_eq!(password_link::find_user(&mut tx, "new", at(9)).await.unwrap(), Some(ana.id));
        assert_eq!(password_link::find_user(&mut tx, "new", at(10)).await.unwrap(), None, "expired");
        assert_eq!(user::list(&mut tx, 1).await.unwrap()[0].link_expires_at, Some(at(10)));
        assert!(password_link::consume(&mut tx, "new").await.unwrap());
        assert!(!password_link::consume(&mut tx, "new").await.unwrap());
        password_link::put(&mut tx, ana.id, "last", at(10)).await.unwrap();
        password_link::delete(&mut tx, ana.id).await.unwrap();
        assert!(!password_link::consume(&mut tx, "last").await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_higher_role_counts_until_its_time_and_ends_with_another_role() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = insert_ana(&mut tx).await.id;
        let elevated = ElevationRow {
            user: ana,
            role: Role::Publisher,
            reason: "on call".to_owned(),
            created_by: "bob".to_owned(),
            created_at: at(0),
            expires_at: at(10),
        };
        elevation::put(&mut tx, &elevated).await.unwrap();
        assert_eq!(role_binding::get_effective(&mut tx, ana, at(9)).await.unwrap(), None, "without a role");
        role_binding::put(&mut tx, ana, Role::Viewer).await.unwrap();
        role_binding::put(&mut tx, ana, Role::Viewer).await.unwrap();
        assert_eq!(role_binding::get_effective(&mut tx, ana, at(9)).await.unwrap(), Some(Role::Publisher));
        assert_eq!(role_binding::get_effective(&mut tx, ana, at(10)).await.unwrap(), Some(Role::Viewer));
        assert_eq!(elevation::get(&mut tx, ana).await.unwrap().as_ref(), Some(&elevated));
        assert_eq!(elevation::list(&mut tx, at(9)).await.unwrap(), std::slice::from_ref(&elevated));
        assert!(elevation::list(&mut tx, at(10)).await.unwrap().is_empty());

        role_binding::put(&mut tx, ana, Role::Editor).await.unwrap();
        assert_eq!(role_binding::get_effective(&mut tx, ana, at(9)).await.unwrap(), Some(Role::Editor));
        elevation::put(&mut tx, &elevated).await.unwrap();
        role_binding::delete(&mut tx, ana).await.unwrap();
        role_binding::put(&mut tx, ana, Role::Editor).await.unwrap();
        assert_eq!(role_binding::get_effective(&mut tx, ana, at(9)).await.unwrap(), Some(Role::Editor));
    })
    .await;
}

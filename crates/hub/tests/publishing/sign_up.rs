//! The first user.

use std::net::{IpAddr, Ipv4Addr};

use hub::{Error, SignInClient};

use crate::test_hub::TestHub;

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_requests_with_the_set_up_token_one_creates_the_first_user() {
    let test = TestHub::open().await;
    let token = test.hub.create_setup_token().await.unwrap().unwrap();
    let client = SignInClient { network: IpAddr::V4(Ipv4Addr::LOCALHOST), device: None };
    let (one, other) = tokio::join!(
        test.hub.sign_up_first_user(&token, "ada", "correct horse battery", &client),
        test.hub.sign_up_first_user(&token, "eve", "correct horse battery", &client),
    );
    let (first, second) = if one.is_ok() { (one, other) } else { (other, one) };
    let name = first.unwrap().name;
    assert!(matches!(second, Err(Error::Unauthenticated(_))), "{second:?}");
    test.hub.sign_in(&name, "correct horse battery", &client).await.unwrap();
    let other = if name == "ada" { "eve" } else { "ada" };
    assert!(test.hub.sign_in(other, "correct horse battery", &client).await.is_err());
    assert_eq!(test.hub.create_setup_token().await.unwrap(), None);
    test.close().await;
}

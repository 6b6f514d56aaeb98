//! Tokens that a provider signs, right and wrong.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://id.example.com";
const CLIENT: &str = "flotilla";
const NOW: i64 = 1_800_000_000;
/// A key that was generated for these tests, in PKCS #1: ring generates none of RSA.
const RSA_KEY: &str = include_str!("tests/rsa_key.txt");

/// A key of a provider.
enum SigningKey {
    Rsa(RsaKeyPair),
    RsaPss(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    fn p256() -> Self {
        let rng = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &rng).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &rng);
        Self::P256(pair.unwrap())
    }

    fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn rsa() -> RsaKeyPair {
        RsaKeyPair::from_der(&BASE64_STANDARD.decode(RSA_KEY.trim()).unwrap()).unwrap()
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::RsaPss(_) => "PS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn public(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa(pair) | Self::RsaPss(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "kid": id, "use": "sig", "n": text(&public.n), "e": text(&public.e)})
            }
            Self::P256(pair) => {
                let point: &[u8] = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": text(&point[1..33]), "y": text(&point[33..])})
            }
            Self::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": text(pair.public_key().as_ref())})
            }
        }
    }

    fn sign_bytes(&self, message: &[u8]) -> Vec<u8> {
        let rng = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &rng, message, &mut signature).unwrap();
                signature
            }
            Self::RsaPss(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PSS_SHA256, &rng, message, &mut signature).unwrap();
                signature
            }
            Self::P256(pair) => pair.sign(&rng, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    fn sign_with_header(&self, header: &Value, claims: &Value) -> String {
        let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", text(header), text(claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.sign_bytes(message.as_bytes()));
        format!("{message}.{signature}")
    }

    fn sign(&self, id: &str, claims: &Value) -> String {
        self.sign_with_header(&json!({"alg": self.algorithm(), "kid": id}), claims)
    }
}

fn key_set(keys: &[Value]) -> KeySet {
    KeySet::parse(&json!({"keys": keys})).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": CLIENT, "sub": "248", "nonce": "n1", "iat": NOW, "exp": NOW + 300, "groups": ["ops"],
    })
}

/// The claims with others in their place; `null` removes one.
fn changed(changes: Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn audience() -> TokenAudience<'static> {
    TokenAudience { issuer: ISSUER, client_id: CLIENT, now: NOW }
}

fn verify(token: &str, keys: &KeySet) -> Result<Value, TokenError> {
    verify_id_token(token, keys, audience(), IdTokenExpectation { nonce: Some("n1"), ..Default::default() })
}

#[test]
fn a_token_of_every_accepted_algorithm_is_verified_and_one_with_a_changed_claim_is_not() {
    let keys = [
        SigningKey::Rsa(SigningKey::rsa()),
        SigningKey::RsaPss(SigningKey::rsa()),
        SigningKey::p256(),
        SigningKey::ed25519(),
    ];
    for key in keys {
        let set = key_set(&[key.public("a")]);
        let token = key.sign("a", &claims());
        assert_eq!(verify(&token, &set), Ok(claims()), "{}", key.algorithm());
        let payload = BASE64_URL_SAFE_NO_PAD.encode(changed(json!({"sub": "249"})).to_string());
        let parts: Vec<&str> = token.split('.').collect();
        let forged = format!("{}.{payload}.{}", parts[0], parts[2]);
        assert_eq!(verify(&forged, &set), Err(TokenError::Signature), "{}", key.algorithm());
    }
}

#[test]
fn a_token_without_a_signature_or_with_one_by_the_public_key_as_a_secret_is_refused() {
    let key = SigningKey::p256();
    let set = key_set(&[key.public("a")]);
    for algorithm in ["none", "None", "HS256", "HS512", "ES384", "RS1", ""] {
        let token = key.sign_with_header(&json!({"alg": algorithm, "kid": "a"}), &claims());
        assert_eq!(verify(&token, &set), Err(TokenError::Algorithm), "{algorithm}");
        let bare = format!("{}.", token.rsplit_once('.').unwrap().0);
        assert_eq!(verify(&bare, &set), Err(TokenError::Algorithm), "{algorithm}");
    }
    let unsigned = format!("{}.", key.sign("a", &claims()).rsplit_once('.').unwrap().0);
    assert_eq!(verify(&unsigned, &set), Err(TokenError::Signature));
    let critical = key.sign_with_header(&json!({"alg": "ES256", "kid": "a", "crit": ["b64"]}), &claims());
    assert_eq!(verify(&critical, &set), Err(TokenError::Algorithm));
}

#[test]
fn a_key_is_found_by_its_id_and_a_key_in_the_header_is_not_used() {
    let (key, other) = (SigningKey::p256(), SigningKey::p256());
    let set = key_set(&[key.public("a"), other.public("b")]);
    assert_eq!(verify(&key.sign("c", &claims()), &set), Err(TokenError::UnknownKey));
    assert_eq!(verify(&key.sign("b", &claims()), &set), Err(TokenError::Signature));
    let header =
        json!({"alg": "ES256", "kid": "a", "jwk": other.public("a"), "jku": "https://evil.example/"});
    assert_eq!(verify(&other.sign_with_header(&header, &claims()), &set), Err(TokenError::Signature));
    let without_id = json!({"alg": "ES256"});
    assert_eq!(verify(&key.sign_with_header(&without_id, &claims()), &set), Err(TokenError::Signature));
    let only = key_set(&[key.public("a")]);
    assert!(verify(&key.sign_with_header(&without_id, &claims()), &only).is_ok(), "a single key");
    let mut encryption = key.public("a");
    encryption["use"] = "enc".into();
    assert_eq!(verify(&key.sign("a", &claims()), &key_set(&[encryption])), Err(TokenError::UnknownKey));
    let mut wrapping = key.public("a");
    wrapping["key_ops"] = json!(["wrapKey"]);
    assert_eq!(verify(&key.sign("a", &claims()), &key_set(&[wrapping])), Err(TokenError::UnknownKey));
    let other_kind = SigningKey::Rsa(SigningKey::rsa()).public("a");
    assert_eq!(verify(&key.sign("a", &claims()), &key_set(&[other_kind])), Err(TokenError::UnknownKey));
    let mut bound = key.public("a");
    bound["alg"] = "ES384".into();
    assert_eq!(verify(&key.sign("a", &claims()), &key_set(&[bound])), Err(TokenError::UnknownKey));
}

#[test]
fn every_claim_of_an_id_token_is_required_and_compared() {
    let key = SigningKey::p256();
    let set = key_set(&[key.public("a")]);
    let cases = [
        (json!({"iss": "https://id.example.com/"}), TokenError::Issuer),
        (json!({"iss": null}), TokenError::Issuer),
        (json!({"aud": "other"}), TokenError::Audience),
        (json!({"aud": ["other"]}), TokenError::Audience),
        (json!({"aud": [CLIENT, "other"]}), TokenError::Audience),
        (json!({"aud": [CLIENT, "other"], "azp": "other"}), TokenError::Audience),
        (json!({"azp": "other"}), TokenError::Audience),
        (json!({"aud": null}), TokenError::Audience),
        (json!({"exp": NOW - LEEWAY_SECONDS}), TokenError::Expired),
        (json!({"exp": null}), TokenError::Expired),
        (json!({"exp": "tomorrow"}), TokenError::Expired),
        (json!({"exp": 1e300}), TokenError::Expired),
        (json!({"exp": i64::MAX}), TokenError::Expired),
        (json!({"iat": NOW + LEEWAY_SECONDS + 1}), TokenError::NotYetValid),
        (json!({"iat": null}), TokenError::NotYetValid),
        (json!({"nbf": NOW + LEEWAY_SECONDS + 1}), TokenError::NotYetValid),
        (json!({"nonce": "n2"}), TokenError::Nonce),
        (json!({"nonce": null}), TokenError::Nonce),
        (json!({"sub": null}), TokenError::Subject),
        (json!({"sub": ""}), TokenError::Subject),
        (json!({"sub": "x".repeat(256)}), TokenError::Subject),
        (json!({"at_hash": "AAAA"}), TokenError::AccessToken),
        (json!({"at_hash": 1}), TokenError::AccessToken),
        (json!({"events": {}}), TokenError::Type),
    ];
    for (changes, error) in cases {
        assert_eq!(verify(&key.sign("a", &changed(changes.clone())), &set), Err(error), "{changes}");
    }
    for right in [
        json!({"aud": [CLIENT]}),
        json!({"aud": [CLIENT, "other"], "azp": CLIENT}),
        json!({"exp": NOW - LEEWAY_SECONDS + 1}),
        json!({"iat": NOW + LEEWAY_SECONDS, "nbf": NOW}),
        json!({"exp": NOW as f64 + 0.5}),
    ] {
        assert!(verify(&key.sign("a", &changed(right.clone())), &set).is_ok(), "{right}");
    }
    let typed = key.sign_with_header(&json!({"alg": "ES256", "kid": "a", "typ": "at+jwt"}), &claims());
    assert_eq!(verify(&typed, &set), Err(TokenError::Type));
}

#[test]
fn the_hash_of_the_access_token_and_the_subject_of_a_renewal_are_compared() {
    let key = SigningKey::p256();
    let set = key_set(&[key.public("a")]);
    // The example of OpenID Connect Core, appendix A.3, for RS256 as for every algorithm with SHA-256.
    let access = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    let token = key.sign("a", &changed(json!({"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"})));
    let check = |access_token, subject| {
        let expected = IdTokenExpectation { nonce: None, access_token, subject };
        verify_id_token(&token, &set, audience(), expected).map(drop)
    };
    assert_eq!(check(Some(access), Some("248")), Ok(()));
    assert_eq!(check(Some("another"), None), Err(TokenError::AccessToken));
    assert_eq!(check(None, None), Err(TokenError::AccessToken));
    assert_eq!(check(Some(access), Some("249")), Err(TokenError::Subject));
}

#[test]
fn a_logout_token_names_a_user_or_a_session_and_is_no_id_token() {
    let key = SigningKey::p256();
    let set = key_set(&[key.public("a")]);
    let event = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
    let base = json!({"nonce": null, "exp": null, "groups": null, "jti": "t1", "sid": "s1", "events": event});
    let verify = |more: Value| {
        let mut claims = base.clone();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        verify_logout_token(&key.sign("a", &changed(claims)), &set, audience())
    };
    let both = verify(json!({})).unwrap();
    assert_eq!(
        (both.id.as_str(), both.subject.as_deref(), both.session.as_deref()),
        ("t1", Some("248"), Some("s1"))
    );
    assert_eq!(verify(json!({"sub": null})).unwrap().subject, None);
    for (changes, error) in [
        (json!({"sub": null, "sid": null}), TokenError::Subject),
        (json!({"jti": null}), TokenError::MissingId),
        (json!({"events": null}), TokenError::Type),
        (json!({"events": {"other": {}}}), TokenError::Type),
        (json!({"nonce": "n1"}), TokenError::Type),
        (json!({"aud": "other"}), TokenError::Audience),
        (json!({"iss": "https://evil.example"}), TokenError::Issuer),
        (json!({"iat": NOW - MAX_LOGOUT_AGE_SECONDS - 1}), TokenError::Expired),
        (json!({"exp": NOW - LEEWAY_SECONDS}), TokenError::Expired),
    ] {
        assert_eq!(verify(changes.clone()), Err(error), "{changes}");
    }
    let id_token = verify_logout_token(&key.sign("a", &claims()), &set, audience());
    assert_eq!(id_token, Err(TokenError::Type));
}

#[test]
fn what_is_no_token_is_refused_whatever_it_is() {
    let set = key_set(&[SigningKey::p256().public("a")]);
    let large = "a".repeat(MAX_TOKEN_BYTES + 1);
    for text in ["", ".", "..", "...", "a.b.c", "e30.e30.", "\u{1F511}.\u{1F511}.\u{1F511}", &large] {
        assert!(
            matches!(verify(text, &set), Err(TokenError::Malformed | TokenError::Algorithm)),
            "{text:.40}"
        );
    }
}

#[test]
fn groups_are_read_at_a_name_or_a_pointer_and_absent_ones_are_not_none() {
    let claims =
        json!({"groups": ["a", "b"], "one": "a", "https://x.example/roles": ["c"], "realm": {"roles": []}});
    let read =
        |path| read_groups(&claims, path).map(|groups| groups.map(|all| all.into_iter().collect::<Vec<_>>()));
    assert_eq!(read("groups"), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
    assert_eq!(read("/groups"), read("groups"));
    assert_eq!(read("one"), Ok(Some(vec!["a".to_owned()])));
    assert_eq!(read("https://x.example/roles"), Ok(Some(vec!["c".to_owned()])));
    assert_eq!(read("/realm/roles"), Ok(Some(Vec::new())));
    assert_eq!(read("/realm/other"), Ok(None));
    assert_eq!(read_groups(&json!({"groups": [1]}), "groups"), Err(GroupsError::Invalid));
    assert_eq!(read_groups(&json!({"groups": {"a": 1}}), "groups"), Err(GroupsError::Invalid));
    let many: Vec<String> = (0..=MAX_GROUPS).map(|n| n.to_string()).collect();
    assert_eq!(read_groups(&json!({"groups": many}), "groups"), Err(GroupsError::Invalid));
    for overage in [json!({"_claim_names": {"groups": "src1"}}), json!({"hasgroups": true})] {
        assert_eq!(read_groups(&overage, "groups"), Err(GroupsError::Overage), "{overage}");
    }
}

#[test]
fn a_discovery_document_is_used_only_for_its_issuer_and_with_addresses() {
    let document = |changes: Value| {
        let mut document = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.com/authorize?tenant=1",
            "token_endpoint": "https://id.example.com/token",
            "jwks_uri": "https://id.example.com/keys",
        });
        document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        document
    };
    let parse = |changes: Value| ProviderMetadata::parse(&document(changes), ISSUER);
    let plain = parse(json!({})).unwrap();
    assert_eq!((plain.client_authentication, plain.names_issuer), (ClientAuthentication::Basic, false));
    let post = parse(json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]})).unwrap();
    assert_eq!(post.client_authentication, ClientAuthentication::Post);
    assert!(parse(json!({"authorization_response_iss_parameter_supported": true})).unwrap().names_issuer);
    assert_eq!(parse(json!({"issuer": "https://id.example.com/"})), Err(InvalidMetadata::Issuer));
    for wrong in ["http://id.example.com/token", "javascript:alert(1)", "https://id.example.com/#a", ""] {
        let error = parse(json!({"token_endpoint": wrong}));
        assert_eq!(error, Err(InvalidMetadata::Endpoint("token_endpoint")), "{wrong}");
    }
    assert_eq!(parse(json!({"jwks_uri": null})), Err(InvalidMetadata::Endpoint("jwks_uri")));
    let plain_only = json!({"code_challenge_methods_supported": ["plain"]});
    assert_eq!(parse(plain_only), Err(InvalidMetadata::CodeChallenge));
    assert_eq!(
        discovery_url("https://id.example.com/a/"),
        "https://id.example.com/a/.well-known/openid-configuration"
    );
}

#[test]
fn parameters_are_encoded_and_a_challenge_is_the_hash_of_its_verifier() {
    let url =
        append_query("https://id.example.com/a?t=1", &[("scope", "openid profile"), ("x", "\u{e4}&=#")]);
    assert_eq!(url, "https://id.example.com/a?t=1&scope=openid%20profile&x=%C3%A4%26%3D%23");
    // RFC 7636, appendix B.
    let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

#[test]
fn a_document_with_too_many_bytes_or_values_is_not_parsed() {
    let many = format!("[{}1]", "1,".repeat(20_000));
    assert_eq!(parse_json(many.as_bytes()), Err(InvalidJson::TooLarge));
    assert_eq!(parse_json(&vec![b' '; MAX_DOCUMENT_BYTES + 1]), Err(InvalidJson::TooLarge));
    assert_eq!(parse_json(b"{"), Err(InvalidJson::Syntax));
    assert_eq!(parse_json(b"{}"), Ok(json!({})));
}

//! Forms that are sent to server functions, with the bounds of bodies in JSON: their memory is reserved before they are read
//! (`crate::body_memory`), their fields are counted before they are parsed, and large ones do not occupy the thread of other requests.

use std::future::poll_fn;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use hub::run_blocking_in_place;

use crate::encoded_text;
use crate::input::{LARGE_BODY_BYTES, read_bytes};
use crate::problem::ApiError;
use crate::value_memory::estimate_form;

/// Most fields of a form, and levels of their names together: each needs some hundred bytes when it is parsed, however short it is, because
/// each level of a name is a map. The form for the values of a chart has 24 000: 2 000 values of 3 fields with names as `form[fields][7][key]`.
const MAX_PARTS: usize = 50_000;

/// A request whose form is in memory and has no field that can't be stored.
pub struct FormRequest {
    /// The request.
    pub request: Request,
    /// Whether the form is so large that other requests would wait while it is parsed.
    pub is_large: bool,
    /// What its values need in memory, in bytes.
    pub value_bytes: u64,
    /// Its size.
    pub bytes: usize,
}

/// Whether a media type is that of a form.
pub fn is_form(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Reads the form of a request. Whatever its media type is, a server function would parse it as a form.
///
/// # Errors
/// It is no form, has too many bytes, fields or levels of names, does not arrive, or has a field that can't be stored.
pub async fn read(request: Request, max_bytes: usize) -> Result<FormRequest, ApiError> {
    if request.method().is_safe() {
        // Its fields are in its query.
        return Ok(FormRequest { request, is_large: false, value_bytes: 0, bytes: 0 });
    }
    let (parts, body) = request.into_parts();
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = media_type.is_some_and(is_form);
    // Nothing of another body is read, and most requests without one have no media type.
    let max_bytes = if is_form { max_bytes } else { 0 };
    let body = match read_bytes(body, max_bytes).await {
        Err(refusal) if !is_form && refusal.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return Err(refuse_media_type());
        }
        read => read?,
    };
    let is_large = body.len() > LARGE_BODY_BYTES;
    let checked = if is_large { run_blocking_in_place(|| check_fields(&body)) } else { check_fields(&body) };
    let (bytes, value_bytes) = (body.len(), estimate_form(checked?, body.len()));
    Ok(FormRequest { request: Request::from_parts(parts, Body::from(body)), is_large, value_bytes, bytes })
}

fn refuse_media_type() -> ApiError {
    ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "UnsupportedMediaType",
        "The console sends forms. Send the body as application/x-www-form-urlencoded, or use the REST API.",
    )
}

/// The number of fields and levels of their names.
fn check_fields(body: &Bytes) -> Result<usize, ApiError> {
    let parts: usize = body.split(|byte| *byte == b'&').map(|pair| 1 + count_levels(pair)).sum();
    if parts > MAX_PARTS {
        return Err(ApiError::bad_request(format!(
            "The form has {parts} fields and levels of their names, and at most {MAX_PARTS} are allowed. Set the others as YAML."
        )));
    }
    encoded_text::check_pairs("field", &String::from_utf8_lossy(body))?;
    Ok(parts)
}

/// The levels of the name of a field: `a[b][c]` has two. Brackets are also read percent-encoded.
fn count_levels(pair: &[u8]) -> usize {
    let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
    let plain = name.iter().filter(|byte| **byte == b'[').count();
    plain + name.windows(3).filter(|text| text.eq_ignore_ascii_case(b"%5b")).count()
}

/// Awaits the response to a form. The form is parsed wherever this is polled: for a large one the other tasks of the thread are handed
/// over to another one meanwhile.
pub async fn poll_beside_others<F: Future + Unpin>(is_large: bool, mut handled: F) -> F::Output {
    if !is_large {
        return handled.await;
    }
    poll_fn(|context| run_blocking_in_place(|| std::pin::Pin::new(&mut handled).poll(context))).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn form(body: String) -> Request {
        let request =
            Request::post("/api/fn/source_save").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        request.body(Body::from(body)).unwrap()
    }

    #[tokio::test]
    async fn p19_a_form_is_bounded_in_bytes_and_fields() {
        let small = read(form("a=b&c=d".to_owned()), 100_000).await.unwrap();
        assert!(!small.is_large);
        let large = read(form(format!("a={}", "b".repeat(LARGE_BODY_BYTES))), 100_000).await.unwrap();
        assert!(large.is_large);
        let too_large = read(form("a".repeat(100_001)), 100_000).await.err().unwrap();
        assert_eq!(too_large.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(read(form("&".repeat(MAX_PARTS - 1)), 100_000).await.is_ok());
        let too_many = read(form("&".repeat(MAX_PARTS)), 100_000).await.err().unwrap();
        assert!(
            too_many.detail().starts_with("The form has 50001 fields and levels"),
            "{}",
            too_many.detail()
        );
    }

    #[tokio::test]
    async fn p19_each_level_of_the_name_of_a_field_counts_as_a_field_and_texts_do_not() {
        let parts = |text: &'static str| check_fields(&Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!(parts("a=b&c=d"), 2);
        assert_eq!(parts("a[b][c]=d&e%5Bf%5d=g&h%5bi%5d=j"), 3 + 4);
        assert_eq!(parts("text=[%5B[%5B"), 1);
        let nested = "k[a][a][a][a]&".repeat(MAX_PARTS / 5);
        assert!(check_fields(&Bytes::from(nested)).is_err(), "the end of the form is one more");
    }

    #[tokio::test]
    async fn p19_a_body_that_is_no_form_is_refused_before_it_is_parsed_as_one() {
        for media_type in [None, Some("text/plain"), Some("application/json")] {
            let request = Request::post("/api/fn/source_save");
            let request =
                media_type.into_iter().fold(request, |request, text| request.header(CONTENT_TYPE, text));
            let refused = read(request.body(Body::from("a=b")).unwrap(), 100_000).await.err().unwrap();
            assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{media_type:?}");
        }
        let empty = Request::post("/api/fn/source_save").body(Body::empty()).unwrap();
        assert!(read(empty, 100_000).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn p19_other_requests_of_the_thread_are_served_while_a_large_form_is_parsed() {
        let (sender, receiver) = mpsc::channel();
        let parse = Box::pin(async move { receiver.recv_timeout(Duration::from_secs(60)) });
        let large = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            poll_beside_others(true, parse).await
        });
        assert_eq!(large.await.unwrap(), Ok(()));
    }
}

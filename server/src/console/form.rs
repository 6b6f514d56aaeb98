//! Forms that are sent to server functions, with the bounds of bodies in JSON: their memory is reserved before they are read
//! (`crate::body_memory`), their fields are counted before they are parsed, and large ones do not occupy the thread of other requests.

use std::future::poll_fn;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use hub::run_blocking_in_place;

use crate::encoded_text;
use crate::input::{LARGE_BODY_BYTES, read_bytes};
use crate::problem::ApiError;

/// Most fields of a form: each needs some hundred bytes when it is parsed, however short it is. The form for the values of a chart has 2 000.
const MAX_FIELDS: usize = 50_000;

/// A request whose form is in memory and has no field that can't be stored.
pub struct FormRequest {
    /// The request.
    pub request: Request,
    /// Whether the form is so large that other requests would wait while it is parsed.
    pub is_large: bool,
}

/// Whether a media type is that of a form.
pub fn is_form(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Reads the form of a request.
///
/// # Errors
/// It has too many bytes or fields, does not arrive, or has a field that can't be stored.
pub async fn read(request: Request, max_bytes: usize) -> Result<FormRequest, ApiError> {
    let (parts, body) = request.into_parts();
    let body = read_bytes(body, max_bytes).await?;
    let is_large = body.len() > LARGE_BODY_BYTES;
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = media_type.is_some_and(is_form);
    if is_large {
        run_blocking_in_place(|| check_fields(&body, is_form))?;
    } else {
        check_fields(&body, is_form)?;
    }
    Ok(FormRequest { request: Request::from_parts(parts, Body::from(body)), is_large })
}

fn check_fields(body: &Bytes, is_form: bool) -> Result<(), ApiError> {
    let fields = body.split(|byte| *byte == b'&').count();
    if is_form && fields > MAX_FIELDS {
        return Err(ApiError::bad_request(format!(
            "The form has {fields} fields, and at most {MAX_FIELDS} are allowed. Set the others as YAML."
        )));
    }
    encoded_text::check_pairs("field", &String::from_utf8_lossy(body))
}

/// Awaits the response to a form. The form is parsed wherever this is polled: for a large one the other tasks of the thread are handed
/// over to another one meanwhile.
pub async fn run_beside_others<F: Future + Unpin>(is_large: bool, mut handled: F) -> F::Output {
    if !is_large {
        return handled.await;
    }
    poll_fn(|context| run_blocking_in_place(|| std::pin::Pin::new(&mut handled).poll(context))).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use axum::http::StatusCode;

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
        assert!(read(form("&".repeat(MAX_FIELDS - 1)), 100_000).await.is_ok());
        let too_many = read(form("&".repeat(MAX_FIELDS)), 100_000).await.err().unwrap();
        assert!(too_many.detail().starts_with("The form has 50001 fields, and at most 50000"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn p19_other_requests_of_the_thread_are_served_while_a_large_form_is_parsed() {
        let (sender, receiver) = mpsc::channel();
        let parse = Box::pin(async move { receiver.recv_timeout(Duration::from_secs(60)) });
        let large = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            run_beside_others(true, parse).await
        });
        assert_eq!(large.await.unwrap(), Ok(()));
    }
}

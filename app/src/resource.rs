//! Resources: the data of a page, which the server renders and the browser takes over.

use std::future::Future;

use leptos::prelude::*;
use leptos::server::codee::{Decoder, Encoder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::AppResult;

/// The result of the query of a page.
pub type PageResource<T> = Resource<AppResult<T>, PageCodec>;

/// JSON, decoded from bytes like the response of a server function. Leptos' own codec decodes from text, for which the
/// compiler generates the decoder of each type a second time.
pub struct PageCodec;

impl<T: Serialize> Encoder<T> for PageCodec {
    type Error = serde_json::Error;
    type Encoded = String;

    fn encode(data: &T) -> Result<String, serde_json::Error> {
        serde_json::to_string(data)
    }
}

impl<T: DeserializeOwned> Decoder<T> for PageCodec {
    type Error = serde_json::Error;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, serde_json::Error> {
        serde_json::from_slice(text.as_bytes())
    }
}

/// Runs `query` with the value of `source`, and again whenever that changes. In the browser the first result is the one with
/// which the server rendered the page.
pub fn create_resource<S, T, F>(
    source: impl Fn() -> S + Send + Sync + 'static,
    query: impl Fn(S) -> F + Send + Sync + 'static,
) -> PageResource<T>
where
    S: PartialEq + Clone + Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = AppResult<T>> + Send + 'static,
{
    Resource::new_with_options(source, query, false)
}

/// Counts the successful results of an action, so that a page is read again after each of them. After a rejected one, the
/// page and what was typed into it stay.
pub fn count_successes<T>(value: MappedSignal<Option<AppResult<T>>>) -> RwSignal<u32>
where
    T: Clone + Send + Sync + 'static,
{
    let count = RwSignal::new(0);
    Effect::new(move |_| {
        if value.with(|result| matches!(result, Some(Ok(_)))) {
            count.update(|n| *n += 1);
        }
    });
    count
}

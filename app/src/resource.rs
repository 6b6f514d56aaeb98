//! Resources: the data of a page, which the server renders and the browser takes over.

use std::future::Future;

use leptos::prelude::*;
use leptos::server::codee::{Decoder, Encoder};
use leptos::task::spawn_local;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::{AppError, AppResult};

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
///
/// Not in what is shown of another resource: see [`read_again`] for that. A debug build of the server panics there.
#[track_caller]
pub fn create_resource<S, T, F>(
    source: impl Fn() -> S + Send + Sync + 'static,
    query: impl Fn(S) -> F + Send + Sync + 'static,
) -> PageResource<T>
where
    S: PartialEq + Clone + Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = AppResult<T>> + Send + 'static,
{
    #[cfg(all(debug_assertions, feature = "ssr"))]
    assert_is_outside_of_transitions();
    Resource::new_with_options(source, query, false)
}

/// The server renders what a `Transition` shows up to three times: to find what it waits for, again when that is there, and to send it. A
/// resource that is created there is created each time, and runs its query each time. Only the last result is shown, so that a failure of
/// another one is a page with status 200, and the browser does not find it, because it numbers the resources by their creation.
#[cfg(all(debug_assertions, feature = "ssr"))]
#[track_caller]
fn assert_is_outside_of_transitions() {
    use leptos::reactive::computed::suspense::SuspenseContext;
    assert!(
        use_context::<SuspenseContext>().is_none(),
        "A resource is created in what is shown of another one, where the server reads it several times. Create it beside that one, or read \
         its first value in the query of that one and pass it to `read_again`."
    );
}

/// A value that the query of the page has read, and that the browser reads again whenever `source` changes: for what is shown with the value
/// of a resource and depends on it. Without a first value the browser reads it at once. While it is read, and if it can't be read in an
/// outage, the previous value stays.
pub fn read_again<S, T, F>(
    first: Option<AppResult<T>>,
    source: impl Fn() -> S + 'static,
    query: impl Fn(S) -> F + 'static,
) -> RwSignal<Option<AppResult<T>>>
where
    S: PartialEq + Clone + 'static,
    T: Send + Sync + 'static,
    F: Future<Output = AppResult<T>> + 'static,
{
    let value = RwSignal::new(first);
    let reads = StoredValue::new(0_u32);
    Effect::new(move |before: Option<S>| {
        let now = source();
        let is_current = match before {
            Some(before) => before == now,
            None => value.with_untracked(Option::is_some),
        };
        if !is_current {
            let number = reads.get_value().wrapping_add(1);
            reads.set_value(number);
            let read = query(now.clone());
            spawn_local(async move {
                let result = read.await;
                // Not if a later read was started, or the part is not shown any more.
                if reads.try_get_value() == Some(number) {
                    store_result(value, result);
                }
            });
        }
        now
    });
    value
}

/// Stores a result, unless it is an outage and there is a value.
fn store_result<T: Send + Sync + 'static>(value: RwSignal<Option<AppResult<T>>>, result: AppResult<T>) {
    let is_outage = result.as_ref().is_err_and(AppError::is_outage);
    if !is_outage || !value.with_untracked(|value| matches!(value, Some(Ok(_)))) {
        value.set(Some(result));
    }
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

#[cfg(all(test, debug_assertions, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    #[should_panic(expected = "A resource is created in what is shown of another one")]
    fn a_resource_is_not_created_in_what_is_shown_of_another_one() {
        let show = || {
            let _inner = create_resource(|| (), |()| async { Ok::<u32, AppError>(1) });
            "shown"
        };
        // A plain rendering shows the fallback only.
        Owner::new().with(|| {
            let page = view! { <Transition>{move || show()}</Transition> };
            page.to_html_stream_in_order();
        });
    }

    #[test]
    fn a_value_that_came_with_the_page_is_shown_as_it_is_and_one_that_did_not_as_loading() {
        let render = |first: Option<AppResult<String>>| {
            render_html(move || {
                let value = read_again(first, || (), |()| async { Ok(String::from("later")) });
                crate::components::render_value(value, |text| text.into_any())
            })
        };
        assert!(render(Some(Ok("now".to_owned()))).contains("now"));
        assert!(render(None).contains("aria-busy"));
        let missing = AppError::NotFound { what: "chart".to_owned(), name: "web".to_owned() };
        assert!(!render(Some(Err(missing))).contains("chart"));
    }
}

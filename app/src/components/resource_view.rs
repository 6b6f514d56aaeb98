//! Renders the result of a page's query: a skeleton while it is loading, then the page or the error. Never a blank page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::error::LoadError;
use crate::errors::{AppError, AppResult};
use crate::live;
use crate::resource::PageResource;

/// Renders the result of a query. While it is loading again, the previous result stays, so that the layout does not move. It
/// also stays on the same page in an outage, in which the frame shows that the page may be old: what was typed is not lost.
pub fn render_resource<T>(
    resource: PageResource<T>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    render_with(resource, show, |error| view! { <LoadError error=error /> }.into_any())
}

/// The same for a part of a page whose head has its own query: `NotFound` renders nothing, because the head reports it.
pub fn render_resource_part<T>(
    resource: PageResource<T>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    render_with(resource, show, show_part_error)
}

fn show_part_error(error: AppError) -> AnyView {
    match error {
        AppError::NotFound { .. } => ().into_any(),
        error => view! { <LoadError error=error /> }.into_any(),
    }
}

/// The same for a value of [`read_again`](crate::resource::read_again), which is shown with the value of a resource.
pub fn render_value<T>(
    value: RwSignal<Option<AppResult<T>>>,
    show: impl Fn(T) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    move || {
        live::page::keep_focus();
        match value.get() {
            None => skeleton().into_any(),
            Some(Ok(data)) => show(data),
            Some(Err(error)) => show_part_error(error),
        }
    }
}

/// The same for the other parts of a page whose first part renders the same resource, and so reports every error.
pub fn render_resource_again<T>(
    resource: PageResource<T>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    render_with(resource, show, |_| ().into_any())
}

/// Renders a part of a page from what `select` takes of the result, and again only when that changes. An update of the rest leaves
/// the part as it is: a menu stays open. Without a result it renders nothing. To be called inside a `Transition`, which waits for
/// the resource.
pub fn render_selected<T, S>(
    resource: PageResource<T>,
    select: fn(T) -> S,
    show: impl Fn(S) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    S: Clone + PartialEq + Send + Sync + 'static,
{
    render_on_change(resource, select, |last: &S, now: &S| last == now, show)
}

/// Renders a part of a page from the whole result, and again only when its `key` changes: what was typed into the part stays meanwhile. Without
/// a result it renders nothing. To be called inside a `Transition`, which waits for the resource.
pub fn render_by_key<T, K>(
    resource: PageResource<T>,
    key: fn(&T) -> K,
    show: impl Fn(T) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    K: PartialEq + 'static,
{
    render_on_change(resource, |data: T| data, move |last: &T, now: &T| key(last) == key(now), show)
}

/// Renders what `select` takes of the result, and again when that is not the same any more, or there is none.
fn render_on_change<T, S>(
    resource: PageResource<T>,
    select: impl Fn(T) -> S + Send + Sync + 'static,
    is_same: impl Fn(&S, &S) -> bool + Send + Sync + 'static,
    show: impl Fn(S) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
{
    let read = hold_result(resource);
    let last = StoredValue::new(None::<S>);
    let count_changes = move |count: u32| {
        let now = read().and_then(Result::ok).map(&select);
        let is_unchanged = last.with_value(|last| match (last, &now) {
            (Some(last), Some(now)) => is_same(last, now),
            (last, now) => last.is_none() && now.is_none(),
        });
        if is_unchanged {
            return count;
        }
        last.set_value(now);
        count + 1
    };
    render_when_changed(Box::new(count_changes), Box::new(move || last.get_value().map(&show)))
}

/// Shows what `render` returns, and again when the number that `count_changes` is given and returns has changed. It is compiled once,
/// not for each kind of data.
fn render_when_changed(
    count_changes: Box<dyn Fn(u32) -> u32 + Send + Sync>,
    render: Box<dyn Fn() -> Option<AnyView> + Send + Sync>,
) -> impl IntoView {
    let changes = Memo::new(move |count: Option<&u32>| count_changes(count.copied().unwrap_or_default()));
    move || {
        // Tracking alone would not run it.
        changes.get();
        render()
    }
}

fn render_with<T>(
    resource: PageResource<T>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
    failed: fn(AppError) -> AnyView,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let read = hold_result(resource);
    render_when_loaded(Box::new(move || {
        read().map(|answer| match answer {
            Ok(data) => show(data),
            Err(error) => failed(error),
        })
    }))
}

/// Reads a resource to render it. In an outage it returns the previous result, if that belongs to the same page.
fn hold_result<T>(resource: PageResource<T>) -> impl Fn() -> Option<AppResult<T>> + Send + Sync + 'static
where
    T: Clone + Send + Sync + 'static,
{
    let location = use_location();
    let here = move || (location.pathname.get_untracked(), location.search.get_untracked());
    let last = StoredValue::new(None::<(_, T)>);
    move || {
        live::page::keep_focus();
        resource.get().map(|answer| match answer {
            Ok(data) => {
                last.set_value(Some((here(), data.clone())));
                Ok(data)
            }
            Err(error) => {
                let previous = last.get_value().filter(|(place, _)| error.is_outage() && *place == here());
                previous.map_or(Err(error), |(_, data)| Ok(data))
            }
        })
    }
}

/// Shows what `render` returns, and a skeleton until it returns something. It is compiled once, not for each kind of data.
fn render_when_loaded(render: Box<dyn Fn() -> Option<AnyView> + Send + Sync>) -> impl IntoView {
    let render = std::sync::Arc::<dyn Fn() -> Option<AnyView> + Send + Sync>::from(render);
    view! {
        <Transition fallback=skeleton>
            {
                let render = render.clone();
                move || render()
            }
        </Transition>
    }
}

/// Placeholder bars while something is loading.
pub fn skeleton() -> impl IntoView {
    let row = || {
        view! {
            <div class="skeleton-row">
                <i class="skeleton" style="width:28%"></i>
                <i class="skeleton" style="width:14%"></i>
                <i class="skeleton" style="width:20%"></i>
                <i class="skeleton" style="width:10%"></i>
            </div>
        }
    };
    view! {
        <div aria-busy="true">
            <span class="sr-only">"Loading"</span>
            {(0..6).map(|_| row()).collect_view()}
        </div>
    }
}

//! Renders the result of a page's query: a skeleton while it is loading, then the page or the error. Never a blank page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::error::LoadError;
use crate::errors::AppError;
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
    render_with(resource, show, |error| match error {
        AppError::NotFound { .. } => ().into_any(),
        error => view! { <LoadError error=error /> }.into_any(),
    })
}

fn render_with<T>(
    resource: PageResource<T>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
    failed: fn(AppError) -> AnyView,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let location = use_location();
    let here = move || (location.pathname.get_untracked(), location.search.get_untracked());
    let last = StoredValue::new(None::<(_, T)>);
    render_when_loaded(Box::new(move || {
        resource.get().map(|answer| match answer {
            Ok(data) => {
                last.set_value(Some((here(), data.clone())));
                show(data)
            }
            Err(error) => {
                let previous = last.get_value().filter(|(place, _)| error.is_outage() && *place == here());
                previous.map_or_else(|| failed(error), |(_, data)| show(data))
            }
        })
    }))
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
    view! { <div aria-busy="true" aria-label="Loading">{(0..6).map(|_| row()).collect_view()}</div> }
}

//! A page's one query, shown: bars while it is on its way, the page, or the problem. Never a blank page.

use leptos::prelude::*;

use super::Problem;
use crate::errors::{Answer, AppError};

/// Shows what a query gives. While it is asked again the old answer stays, so nothing jumps.
pub fn loaded<T>(
    resource: Resource<Answer<T>>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    shown(resource, show, |error| view! { <Problem error=error /> }.into_any())
}

/// A part of a page whose head has a query of its own: that one says that the thing is not there, so this one is silent.
pub fn loaded_part<T>(
    resource: Resource<Answer<T>>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    shown(resource, show, |error| match error {
        AppError::NotFound { .. } => ().into_any(),
        error => view! { <Problem error=error /> }.into_any(),
    })
}

fn shown<T>(
    resource: Resource<Answer<T>>,
    show: impl Fn(T) -> AnyView + Send + Sync + Clone + 'static,
    failed: fn(AppError) -> AnyView,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    view! {
        <Transition fallback=skeleton>
            {move || {
                let show = show.clone();
                resource
                    .get()
                    .map(|answer| match answer {
                        Ok(data) => show(data),
                        Err(error) => failed(error),
                    })
            }}
        </Transition>
    }
}

/// Bars that stand where something is on its way.
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

//! The page for an unknown address.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::frame::Frame;
use crate::paths;

/// The page, with status 404.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
    view! {
        <Title text="Not found" />
        <Frame>
            <section class="empty">
                <h1 class="title">"There is no page at this address"</h1>
                <p>
                    "The workload or cluster may have been deleted, or its name is misspelt. Names consist of lower-case letters, digits and dashes."
                </p>
                <div class="empty-actions">
                    <a class="btn" href=paths::FLEET>
                        "Fleet"
                    </a>
                    <a class="btn" href=paths::WORKLOADS>
                        "Workloads"
                    </a>
                    <a class="btn" href=paths::CLUSTERS>
                        "Clusters"
                    </a>
                    <a class="btn" href=paths::EVENTS>
                        "Events"
                    </a>
                </div>
            </section>
        </Frame>
    }
    .into_any()
}

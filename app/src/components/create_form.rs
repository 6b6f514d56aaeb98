//! Forms that create something, and stay on the page with what is created.

use leptos::html::Form;
use leptos::prelude::*;

use crate::errors::AppResult;
use crate::live;

/// The element of a form that is empty again after each success of its action. After a failure, what was typed stays. If the form has the
/// attribute `data-guarded`, what was typed since the submission stays too: the next entry may be begun before the result is there.
pub fn clear_after_success<T>(value: MappedSignal<Option<AppResult<T>>>) -> NodeRef<Form>
where
    T: Clone + Send + Sync + 'static,
{
    let form = NodeRef::<Form>::new();
    Effect::new(move |before: Option<()>| {
        let is_success = value.with(|result| matches!(result, Some(Ok(_))));
        // Not for a result from before the form was rendered: it is rendered again with the list of what exists.
        if before.is_none() || !is_success {
            return;
        }
        if let Some(form) = form.get_untracked() {
            live::unsaved::clear_form(&form);
        }
    });
    form
}

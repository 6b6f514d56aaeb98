//! The placement as YAML. While the box is ticked the text is saved instead of the fields; it is initialised from the fields.

use leptos::prelude::*;

use super::{PlacementFieldContext, with_spare_rows};
use crate::workloads::placement::form::{PlacementForm, to_yaml};
use crate::workloads::text_field::finding_or_help;

/// The editor. A change back to the fields increments `field_generation`.
pub(super) fn yaml_editor(context: PlacementFieldContext, field_generation: RwSignal<u32>) -> AnyView {
    let PlacementFieldContext { form, fleet, wrong, .. } = context;
    let (on, begin) = form.with_untracked(|form| (form.as_text == "yes", form.text.clone()));
    let text = RwSignal::new(begin);
    let switch = move |ev| {
        let on = event_target_checked(&ev);
        form.update(|form| {
            // The other representation is initialised from the one that was edited.
            match (on, form.parse()) {
                (true, Ok(placement)) => form.text = to_yaml(&placement),
                (false, Ok(placement)) => {
                    let fields = PlacementForm::from_placement(&placement);
                    if fields.as_text.is_empty() {
                        *form = fleet.with_value(|fleet| with_spare_rows(fields, fleet));
                    }
                }
                _ => {}
            }
            form.as_text = if on { "yes".to_owned() } else { String::new() };
        });
        text.set(form.with_untracked(|form| form.text.clone()));
        if !on {
            field_generation.update(|n| *n += 1);
        }
    };
    view! {
        <details class="fold" open=on>
            <summary>"As YAML"</summary>
            <div class="field pt-3">
                <label class="choice">
                    <input class="checkbox" type="checkbox" name="placement[as_text]" value="yes" checked=on on:change=switch />
                    "Use this text instead of the fields"
                </label>
                <textarea
                    class="textarea input-mono min-h-60"
                    name="placement[text]"
                    aria-label="Placement as YAML"
                    spellcheck="false"
                    autocapitalize="off"
                    autocomplete="off"
                    prop:value=move || text.get()
                    on:input=move |ev| form.update(|form| form.text = event_target_value(&ev))
                >
                    {text.get_untracked()}
                </textarea>
                <p class="field-help">{finding_or_help(wrong, "/placement/text".to_owned(), "The `placement` of the API and the command line.")}</p>
            </div>
        </details>
    }
    .into_any()
}

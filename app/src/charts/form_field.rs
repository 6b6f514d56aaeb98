//! Fields of the forms for chart and Git repositories. They work without script.

use leptos::prelude::*;

/// A line of text.
#[derive(Default)]
pub struct TextField {
    /// Id of the input.
    pub id: &'static str,
    /// Name of the input.
    pub name: &'static str,
    /// The label.
    pub label: &'static str,
    /// The placeholder; empty for none.
    pub placeholder: &'static str,
    /// Help text below the field; empty for none.
    pub help: &'static str,
    /// Maximum length, in characters.
    pub max_length: u16,
    /// Whether it must not be empty.
    pub is_required: bool,
}

impl TextField {
    /// The field.
    pub fn view(self) -> AnyView {
        let Self { id, name, label, placeholder, help, max_length, is_required } = self;
        view! {
            <div class="field">
                <label class="field-label" for=id>{label}</label>
                <input class="input input-mono" id=id name=name required=is_required maxlength=max_length.to_string()
                    placeholder=placeholder autocomplete="off" autocapitalize="off" spellcheck="false" />
                {help_text(help)}
            </div>
        }
        .into_any()
    }
}

/// A field for a secret. What is stored is never displayed.
pub fn secret_field(
    id: &'static str,
    name: &'static str,
    label: &'static str,
    help: &'static str,
) -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for=id>{label}</label>
            <input class="input" id=id type="password" name=name maxlength="16000" autocomplete="new-password" />
            {help_text(help)}
        </div>
    }
    .into_any()
}

fn help_text(help: &'static str) -> Option<impl IntoView> {
    (!help.is_empty()).then(|| view! { <p class="field-help">{help}</p> })
}

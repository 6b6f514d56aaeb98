//! The template of a channel: previewed with a sample incident, and saved.

use domain::authorization::UserAction;
use domain::notification::{Channel, TEMPLATE_FILTERS, TEMPLATE_LISTS, TEMPLATE_TEXTS};
use leptos::prelude::*;
use leptos::tachys::reactive_graph::OwnedView;
use leptos::tachys::view::keyed::keyed;
use serde::{Deserialize, Serialize};

use crate::components::error::action_error;
use crate::components::textarea_html;
use crate::errors::AppResult;
use crate::permission::Permission;

/// What became of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateOutcome {
    /// Name of the channel.
    pub channel: String,
    /// Whether it was saved; otherwise it was previewed only.
    pub is_saved: bool,
    /// What the channel would send about a sample incident.
    pub preview: String,
}

/// Previews the template of a channel, and saves it if `step` is `save`. An empty one is the built-in text.
#[server(prefix = "/api/fn", endpoint = "channel_template")]
pub async fn channel_template(name: String, template: String, step: String) -> AppResult<TemplateOutcome> {
    use crate::host;
    use domain::notification::TemplatePreviewRequest;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let channel = host::into_app_result(hub.get_channel(&name).await)?;
    // Forms send line ends as two characters.
    let template = template.replace("\r\n", "\n");
    let request = TemplatePreviewRequest { kind: channel.kind, template: template.clone(), event: None };
    let preview = host::into_app_result(hub.preview_template(&request))?;
    let is_saved = step == "save";
    if is_saved {
        let change = domain::notification::ChannelTemplate { template };
        host::into_app_result(hub.set_channel_template(&actor, &name, change).await)?;
    }
    let preview = if preview.text.is_empty() { preview.body } else { preview.text };
    Ok(TemplateOutcome { channel: name, is_saved, preview })
}

/// What the forms share. It lives as long as the section, and not only until the list of channels is read again.
#[derive(Clone)]
pub struct TemplateForms {
    action: ServerAction<ChannelTemplate>,
    /// The channel whose form was submitted last: its error belongs into its form.
    submitted: RwSignal<String>,
    /// Owns what the forms hold.
    owner: Owner,
}

impl TemplateForms {
    /// For forms in the component that calls it.
    pub fn new(action: ServerAction<ChannelTemplate>) -> Self {
        Self { action, submitted: RwSignal::new(String::new()), owner: Owner::new() }
    }
}

/// The forms, one for each channel, closed until they are opened. A form belongs to its channel: if the list changes, those of the other
/// channels stay as they are, with what was typed into them.
pub fn template_forms(channels: Vec<Channel>, forms: &TemplateForms) -> AnyView {
    if channels.is_empty() {
        return ().into_any();
    }
    let (action, submitted) = (forms.action, forms.submitted);
    let owner = forms.owner.clone();
    let show = move |_: usize, channel: Channel| {
        let owner = owner.with(Owner::new);
        let form = owner.with(|| template_form(&channel, action, submitted));
        (drop, OwnedView::new_with_owner(form, owner))
    };
    // Another channel can have the name of one that was deleted.
    let key = |channel: &Channel| (channel.name.clone(), channel.created_at.millis());
    let list = keyed(channels, key, show);
    view! {
        <section class="stack-sm" aria-labelledby="templates">
            <h2 class="section" id="templates">"Templates"</h2>
            <p class="text-2">
                "A channel without a template sends the built-in text. One that fails when a message is sent is replaced by it, and the incident says so."
            </p>
            {move || submitted.read().is_empty().then(|| action_error(action.value()))}
            {list}
        </section>
    }
    .into_any()
}

fn template_form(
    channel: &Channel,
    action: ServerAction<ChannelTemplate>,
    submitted: RwSignal<String>,
) -> AnyView {
    let name = channel.name.clone();
    let (id, help_id) = (format!("template-text-{name}"), format!("template-help-{name}"));
    let (label_for, described_by) = (id.clone(), help_id.clone());
    let (summary, label) = (format!("Template of {name}"), format!("Text of the messages to {name}"));
    let template = channel.template.clone().unwrap_or_default();
    let begin = textarea_html(&template);
    let (shown_for, failed_for, noted) = (name.clone(), name.clone(), name.clone());
    let outcome = move || {
        let outcome = action.value().get().and_then(Result::ok);
        outcome.filter(|outcome| outcome.channel == shown_for).map(show_outcome)
    };
    let failure = move || (*submitted.read() == failed_for).then(|| action_error(action.value()));
    let help = format!(
        "Variables: {}. Lists: {}. Filters: {}. Example: {{% for one in clusters %}}{{{{ one }}}} {{% endfor %}}",
        TEMPLATE_TEXTS.join(", "),
        TEMPLATE_LISTS.join(", "),
        TEMPLATE_FILTERS.join(", ")
    );
    view! {
        <details class="fold" on:submit:capture=move |_| submitted.set(noted.clone())>
            <summary>{summary}</summary>
            <ActionForm action=action attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
                <Permission action=UserAction::ManageChannels>
                    {failure}
                    <input type="hidden" name="name" value=name />
                    <div class="field">
                        <label class="field-label" for=label_for>{label}</label>
                        <textarea class="textarea input-mono min-h-24" id=id name="template" rows="6" maxlength="8192" spellcheck="false" inner_html=begin aria-describedby=described_by></textarea>
                        <p class="field-help" id=help_id>{help}</p>
                    </div>
                    {outcome}
                    <div class="flex gap-2">
                        <button class="btn btn-primary" type="submit" name="step" value="save">"Save template"</button>
                        <button class="btn" type="submit" name="step" value="preview" data-keeps-input="">"Preview"</button>
                    </div>
                </Permission>
            </ActionForm>
        </details>
    }
    .into_any()
}

fn show_outcome(outcome: TemplateOutcome) -> impl IntoView {
    let text = if outcome.is_saved {
        "The template was saved. A message about a sample incident:"
    } else {
        "A message about a sample incident; nothing was saved:"
    };
    view! {
        <div role="status" class="stack-sm">
            <p>{text}</p>
            <pre class="raw max-h-96 overflow-auto" tabindex="0" role="region" aria-label="Sample message">{outcome.preview}</pre>
        </div>
    }
}

//! The form beside the text: it shows what the YAML says and edits it (docs/decisions/0014).
//!
//! Fields have no names of their own: what is sent is the text. So without script there is the text alone, and with
//! script the two can't disagree.

use domain::workload::Intent;
use leptos::prelude::*;

mod container;
mod env;
mod fields;
mod ingress;
mod kind;
mod mounts;
mod objects;
mod ports;
mod probes;
mod reach;
mod resources;
mod scale;
mod service;
mod text;
mod workload;

use objects::is_workload;
pub use text::Text;

use crate::components::{Banner, Look, icon};
use crate::workloads::skeleton;

/// The form over all workload objects of the text.
#[component]
pub fn ContainersForm(
    /// The text.
    text: Text,
    /// Name of the workload.
    name: String,
    /// What is wanted of the workload: the kind of an object that runs somewhere is not changed in a form.
    intent: Intent,
) -> impl IntoView {
    let workloads = Memo::new(move |_| {
        text.objects()
            .into_iter()
            .filter(|object| is_workload(&object.value))
            .map(|object| object.at)
            .collect::<Vec<_>>()
    });
    let name = StoredValue::new(name);
    let fresh = intent == Intent::Draft;
    view! {
        <div class="form-beside stack" role="group" aria-label="Form">
            {move || {
                text.trouble()
                    .map(|why| {
                        view! {
                            <Banner look=Look { icon: "warning", hue: "hue-drifted", loud: "state-quiet" }>
                                <p>{why}</p>
                            </Banner>
                        }
                    })
            }}
            <For
                each=move || workloads.get()
                key=|at| *at
                children=move |at| view! { <workload::WorkloadForm text=text at=at fresh=fresh /> }
            />
            <div class="stack-sm">
                {move || {
                    workloads
                        .with(Vec::is_empty)
                        .then(|| view! { <p class="text-2">"Paste manifests into the editor, or begin with a container and fill in its fields."</p> })
                }}
                <div>
                    <button
                        class="btn btn-sm"
                        type="button"
                        on:click=move |_| text.add(&skeleton::object(&text.free_name(&name.get_value())))
                    >
                        {icon("plus")}
                        "Deployment"
                    </button>
                </div>
            </div>
        </div>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::workload::SourceFile;

    use super::*;
    use crate::rendered::html;
    use crate::workloads::files::Drafts;

    fn form(text: &str) -> String {
        let file = SourceFile { name: "deploy.yaml".to_owned(), text: text.to_owned() };
        html(move || {
            let drafts = Drafts::new(std::slice::from_ref(&file));
            let findings =
                drafts.findings(Signal::stored("web".to_owned()), Signal::stored("web".to_owned()));
            view! { <ContainersForm text=Text::new(drafts, findings) name="web".to_owned() intent=Intent::Draft /> }
        })
    }

    #[test]
    fn r_3_the_form_shows_what_the_text_says() {
        let web = skeleton::object("web");
        let text = [web.clone(), objects::service_for(&web), objects::scaler_for(&web)]
            .iter()
            .fold(String::new(), |text, object| domain::edit::add_document(&text, object))
            .replace("image: \"\"", "image: reg.example/web:1.2 # ours");
        let page = form(&text);
        for part in [
            "Deployment",
            "value=\"reg.example/web:1.2\"",
            "value=\"128Mi\"",
            "At most",
            "Service type",
            "Ready when",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("name=\"image\""), "what is sent is the text, not the fields");
    }

    #[test]
    fn s0_15_a_finding_stands_at_its_field_in_the_words_of_its_line() {
        let text = domain::edit::add_document("", &skeleton::object("web")).replace("128Mi", "512m");
        let page = form(&text);
        assert!(page.contains("G210"), "{page}");
    }

    #[test]
    fn a_text_with_a_mistake_makes_the_form_wait() {
        assert!(form("kind: [").contains("the form waits"));
        assert!(form("").contains("begin with a container"));
    }
}

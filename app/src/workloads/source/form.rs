//! The form next to the YAML text: it shows the content of the YAML and edits it (docs/decisions/0014).
//!
//! With script only the text counts. Without script the server enters the changed fields into the text ([`posted`]).

use domain::workload::Intent;
use leptos::prelude::*;

mod autoscaling;
mod container;
mod env;
mod expose;
mod fields;
mod ingress;
mod kind;
mod mounts;
mod objects;
mod ports;
mod posted;
mod probes;
mod resources;
mod service;
mod source_text;
mod workload;

pub use objects::NamedContainer;
use objects::is_workload;
#[cfg(feature = "ssr")]
pub use posted::apply_inputs;
pub use source_text::SourceText;

use super::starter;
use crate::components::{Banner, StatusStyle, icon};

/// The form over all workload objects of the text.
#[component]
pub fn ContainersForm(
    /// The text.
    text: SourceText,
    /// Name of the workload.
    name: String,
    /// The intent of the workload. The kind of an object can be changed only while the workload is an unpublished draft.
    intent: Intent,
    /// The container whose fields are shown at first, instead of those of the first one of its object.
    #[prop(optional)]
    named: NamedContainer,
) -> impl IntoView {
    let workloads = Memo::new(move |_| {
        text.objects()
            .into_iter()
            .filter(|object| is_workload(&object.value))
            .map(|object| object.location)
            .collect::<Vec<_>>()
    });
    // Of several objects, the first and those that are added are open.
    let begin = StoredValue::new(workloads.get_untracked());
    let (name, named) = (StoredValue::new(name), StoredValue::new(named));
    let is_new = intent == Intent::Draft;
    view! {
        <div class="form-beside stack" role="group" aria-label="Form">
            {move || {
                text.error()
                    .map(|why| {
                        view! {
                            <Banner look=StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-quiet" }>
                                <p>{why}</p>
                            </Banner>
                        }
                    })
            }}
            <For
                each=move || workloads.get()
                key=|at| *at
                children=move |at| {
                    let fold = begin.with_value(|begin| {
                        let is_added = !begin.contains(&at);
                        (begin.len() > 1).then_some(is_added || begin.first() == Some(&at))
                    });
                    view! { <workload::WorkloadForm text=text at=at is_new=is_new fold=fold named=named /> }
                }
            />
            {text.removal_view()}
            {posted::scriptless_fields(text)}
            <div class="stack-sm">
                {move || {
                    workloads
                        .with(Vec::is_empty)
                        .then(|| view! { <p class="text-2">"Paste manifests into the editor, or start from a container and fill in its fields."</p> })
                }}
                <div>
                    <button
                        class="btn btn-sm noscript:hidden"
                        type="button"
                        on:click=move |_| text.append_object(&starter::starter_deployment(&text.find_free_name(&name.get_value())))
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
    use crate::render_tests::render_html;
    use crate::workloads::source::fields::FileDrafts;

    fn form(text: &str) -> String {
        form_with(text, NamedContainer::default())
    }

    fn form_with(text: &str, named: NamedContainer) -> String {
        let file = SourceFile { name: "deploy.yaml".to_owned(), text: text.to_owned() };
        render_html(move || {
            let drafts = FileDrafts::new(std::slice::from_ref(&file));
            let findings =
                drafts.findings(Signal::stored("web".to_owned()), Signal::stored("web".to_owned()));
            view! { <ContainersForm text=SourceText::new(drafts, findings) name="web".to_owned() intent=Intent::Draft named=named /> }
        })
    }

    #[test]
    fn r_3_the_form_shows_the_content_of_the_text() {
        let web = starter::starter_deployment("web");
        let text = [web.clone(), objects::create_service(&web), objects::create_autoscaler(&web)]
            .iter()
            .fold(String::new(), |text, object| domain::yaml_edit::add_document(&text, object))
            .replace("image: \"\"", "image: reg.example/web:1.2 # ours");
        let page = form(&text);
        for part in [
            "Deployment",
            "value=\"reg.example/web:1.2\"",
            "value=\"128Mi\"",
            "Max replicas",
            "Service type",
            "Readiness probe",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(page.contains("name=\"form[inputs][t0.0/spec/template/spec/containers/0/image]\""), "{page}");
    }

    #[test]
    fn the_fields_of_the_container_that_the_address_names_are_shown_at_first() {
        let mut web = starter::starter_deployment("web");
        let mut proxy = starter::starter_container("proxy");
        proxy["image"] = "reg.example/proxy:2".into();
        web["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(proxy);
        let text = domain::yaml_edit::add_document("", &web);
        let named = |object: &str| NamedContainer { object: object.into(), container: "proxy".into() };
        for named in [named("Deployment/web"), named("")] {
            let page = form_with(&text, named.clone());
            assert!(page.contains("data-container=\"proxy\""), "{named:?}: {page}");
            assert!(page.contains("value=\"reg.example/proxy:2\""), "{named:?}: {page}");
        }
        let gone = NamedContainer { container: "sidecar".into(), ..named("Deployment/web") };
        for named in [named("Deployment/other"), gone, NamedContainer::default()] {
            let page = form_with(&text, named.clone());
            assert!(!page.contains("data-container=\"proxy\""), "{named:?}: {page}");
        }
    }

    #[test]
    fn s0_15_a_finding_is_shown_at_its_field() {
        let text =
            domain::yaml_edit::add_document("", &starter::starter_deployment("web")).replace("128Mi", "512m");
        let page = form(&text);
        assert!(page.contains("G210"), "{page}");
    }

    #[test]
    fn an_invalid_text_disables_the_form_and_an_empty_one_offers_a_container() {
        assert!(form("kind: [").contains("fix it in the editor"));
        assert!(form("").contains("start from a container"));
    }
}

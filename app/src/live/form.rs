//! Forms: their fields as they would be sent, and what was typed into them before the page was hydrated.

#[cfg(not(feature = "hydrate"))]
mod server {
    use leptos::web_sys::HtmlFormElement;

    /// The fields of a form as a submission would send them.
    pub fn read_form<S>(_form: &HtmlFormElement) -> Option<S> {
        None
    }

    /// Whether the page has the form with this id.
    pub fn has_form(_id: &str) -> bool {
        false
    }
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::rc::Rc;
    use std::time::Duration;

    use leptos::form::FromFormData;
    use leptos::prelude::set_timeout;
    use leptos::web_sys::{FormData, HtmlFormElement, HtmlOptionElement, HtmlSelectElement};
    use serde::de::DeserializeOwned;
    use wasm_bindgen::JsCast;
    use web_sys::{Document, Element, Event, EventInit, HtmlInputElement, HtmlTextAreaElement, NodeList};

    /// The fields of a form as a submission would send them; `None` if they can't be decoded.
    pub fn read_form<S: DeserializeOwned>(form: &HtmlFormElement) -> Option<S> {
        S::from_form_data(&FormData::new_with_form(form).ok()?).ok()
    }

    /// Whether the page has the form with this id.
    pub fn has_form(id: &str) -> bool {
        document().and_then(|page| page.get_element_by_id(id)).is_some()
    }

    /// After hydration, when the input is entered again: a part that the page waits for is hydrated later.
    const RESTORE_AFTER: [Duration; 3] =
        [Duration::ZERO, Duration::from_millis(60), Duration::from_millis(400)];

    /// A field and what a person did to it.
    enum TypedInput {
        /// A text field, with its text.
        Text(HtmlInputElement, String),
        /// A box or a radio button, with whether it is ticked.
        Tick(HtmlInputElement, bool),
        /// A text area, with its text.
        TextArea(HtmlTextAreaElement, String),
        /// A choice, with its value.
        Select(HtmlSelectElement, String),
    }

    /// What a person entered before the page was hydrated.
    pub struct TypedInputs(Vec<TypedInput>);

    /// Collects it; to be called right before hydration, which resets some fields to what the server rendered.
    pub fn collect_typed_inputs() -> TypedInputs {
        let found = document().and_then(|page| page.query_selector_all("input, textarea, select").ok());
        TypedInputs(found.iter().flat_map(list_elements).filter_map(read_element).collect())
    }

    fn document() -> Option<Document> {
        web_sys::window()?.document()
    }

    fn list_elements(nodes: &NodeList) -> impl Iterator<Item = Element> + use<> {
        let nodes = nodes.clone();
        (0..nodes.length()).filter_map(move |at| nodes.get(at)?.dyn_into().ok())
    }

    fn read_element(element: Element) -> Option<TypedInput> {
        let element = match element.dyn_into::<HtmlInputElement>() {
            Ok(input) => return read_input(input),
            Err(element) => element,
        };
        let element = match element.dyn_into::<HtmlTextAreaElement>() {
            Ok(area) => {
                let text = area.value();
                let is_changed = area.default_value().is_ok_and(|rendered| rendered != text);
                return is_changed.then_some(TypedInput::TextArea(area, text));
            }
            Err(element) => element,
        };
        let select: HtmlSelectElement = element.dyn_into().ok()?;
        let value = select.value();
        (value != rendered_choice(&select)).then_some(TypedInput::Select(select, value))
    }

    /// The value that the server selected; without a selected option the browser selects the first one.
    fn rendered_choice(select: &HtmlSelectElement) -> String {
        let options = || (0..select.length()).filter_map(|at| select.item(at)?.dyn_into().ok());
        let chosen = options().rfind(HtmlOptionElement::default_selected);
        chosen.or_else(|| options().next()).map(|option| option.value()).unwrap_or_default()
    }

    fn read_input(input: HtmlInputElement) -> Option<TypedInput> {
        match &*input.type_() {
            "checkbox" | "radio" => {
                let on = input.checked();
                (on != input.default_checked()).then_some(TypedInput::Tick(input, on))
            }
            "hidden" | "submit" | "button" | "file" => None,
            _ => {
                let text = input.value();
                (text != input.default_value()).then_some(TypedInput::Text(input, text))
            }
        }
    }

    impl TypedInputs {
        /// Enters it again, now that the page reacts to it. Text that the person entered since is left as it is.
        pub fn restore(self) {
            let typed = Rc::new(self.0);
            for pause in RESTORE_AFTER {
                let typed = Rc::clone(&typed);
                set_timeout(move || typed.iter().for_each(TypedInput::restore), pause);
            }
        }
    }

    impl TypedInput {
        fn restore(&self) {
            match self {
                Self::Text(input, text) => {
                    let input = find_current(input);
                    let now = input.value();
                    if now == *text || now == input.default_value() {
                        input.set_value(text);
                        notify(&input);
                    }
                }
                // A radio button that is no longer chosen reports nothing, as when a person chooses another one.
                Self::Tick(input, on) if *on || input.type_() == "checkbox" => {
                    let input = find_current(input);
                    input.set_checked(*on);
                    notify(&input);
                }
                Self::Tick(..) => {}
                Self::TextArea(area, text) => {
                    let area = find_current(area);
                    let now = area.value();
                    if now == *text || area.default_value().is_ok_and(|rendered| rendered == now) {
                        area.set_value(text);
                        notify(&area);
                    }
                }
                Self::Select(select, value) => {
                    let select = find_current(select);
                    let now = select.value();
                    if now == *value || now == rendered_choice(&select) {
                        select.set_value(value);
                        notify(&select);
                    }
                }
            }
        }
    }

    /// The element, or the one that replaced it: the field of the same name, of ticks also with the same value.
    fn find_current<E: JsCast + Clone + AsRef<Element>>(element: &E) -> E {
        let old: &Element = element.as_ref();
        if old.is_connected() {
            return element.clone();
        }
        let found = document().and_then(|page| page.query_selector_all("input, textarea, select").ok());
        let is_same = |other: &Element| {
            let is_tick = matches!(other.get_attribute("type").as_deref(), Some("checkbox" | "radio"));
            let same = |name| other.get_attribute(name) == old.get_attribute(name);
            same("name") && same("id") && (!is_tick || same("value"))
        };
        let current = found.iter().flat_map(list_elements).find(is_same);
        current.and_then(|current| current.dyn_into().ok()).unwrap_or_else(|| element.clone())
    }

    /// Reports a change as the browser does for that of a person.
    fn notify(element: &Element) {
        for kind in ["input", "change"] {
            let init = EventInit::new();
            init.set_bubbles(true);
            if let Ok(event) = Event::new_with_event_init_dict(kind, &init) {
                let _ = element.dispatch_event(&event);
            }
        }
    }
}

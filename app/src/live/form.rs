//! Forms: their fields as they would be sent, and what was typed into them before the page was hydrated.

#[cfg(not(feature = "hydrate"))]
mod server {
    use leptos::web_sys::{Event, HtmlFormElement};

    /// Submits the form of the field that an event came from, unless the page was left meanwhile.
    pub fn submit_form_of(_event: &Event) {}

    /// Whether an event came from the search field of a list, whose text may be a part of a name.
    pub fn is_search_event(_event: &Event) -> bool {
        false
    }

    /// Shows values in the fields of a form, unless one of them has the focus: what is being entered stays.
    pub fn show_values(_form: &HtmlFormElement, _value: impl Fn(&str) -> String) {}

    /// The fields of a form as a submission would send them.
    pub fn read_form<S>(_form: &HtmlFormElement) -> Option<S> {
        None
    }

    /// Enters values in the fields of a form, by name.
    pub fn enter_fields(_form: &HtmlFormElement, _fields: &[(String, String)]) {}

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

    /// Submits the form of the field that an event came from, unless the page was left meanwhile.
    pub fn submit_form_of(event: &Event) {
        let field = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let form = field.and_then(|field| field.closest("form").ok().flatten());
        let form = form.and_then(|form| form.dyn_into::<HtmlFormElement>().ok());
        if let Some(form) = form.filter(|form| form.is_connected()) {
            let _ = form.request_submit();
        }
    }

    /// Whether an event came from the search field of a list, whose text may be a part of a name: a whole name is no search.
    pub fn is_search_event(event: &Event) -> bool {
        let field = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        field.is_some_and(|field| {
            field.has_attribute("data-search") && field.get_attribute("name").is_some_and(|name| name == "q")
        })
    }

    /// Shows the values that `value` returns for their names in the fields of a form, without reporting it, unless one of them has the
    /// focus: what is being entered stays.
    pub fn show_values(form: &HtmlFormElement, value: impl Fn(&str) -> String) {
        let has_focus = form.query_selector("input:focus, select:focus").is_ok_and(|field| field.is_some());
        if has_focus {
            return;
        }
        let found = form.query_selector_all("input, select").ok();
        for element in found.iter().flat_map(list_elements) {
            let name = element.get_attribute("name").unwrap_or_default();
            set_value(&element, &value(&name));
        }
    }

    /// Whether the page has the form with this id.
    pub fn has_form(id: &str) -> bool {
        document().and_then(|page| page.get_element_by_id(id)).is_some()
    }

    /// Enters values in the fields of a form, by name. A box is ticked if the value is its own. Fields without a value stay.
    pub fn enter_fields(form: &HtmlFormElement, fields: &[(String, String)]) {
        let found = form.query_selector_all("input, textarea, select").ok();
        for element in found.iter().flat_map(list_elements) {
            let name = element.get_attribute("name").unwrap_or_default();
            if let Some((_, value)) = fields.iter().find(|(field, _)| *field == name) {
                let before = read_field(&element);
                set_value(&element, value);
                if read_field(&element) != before {
                    notify(&element);
                }
            }
        }
    }

    /// Whether a field of the form has another value than the one that it was rendered with.
    pub fn has_typed_input(form: &HtmlFormElement) -> bool {
        let found = form.query_selector_all("input, textarea, select").ok();
        found.iter().flat_map(list_elements).any(|element| read_element(element).is_some())
    }

    /// What a person sees in a field.
    #[derive(PartialEq, Eq)]
    struct InputValue {
        /// Its value; that of a box is empty if it is not ticked.
        current: String,
        /// The value that the server rendered.
        rendered: String,
    }

    /// The value of a field; `None` for a radio button that is not chosen, and for what a person does not enter.
    fn read_field(element: &Element) -> Option<InputValue> {
        if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
            let own_if = |on: bool| if on { input.value() } else { String::new() };
            return match &*input.type_() {
                "hidden" | "submit" | "button" | "file" => None,
                "radio" if !input.checked() => None,
                "checkbox" | "radio" => {
                    let (current, rendered) = (own_if(input.checked()), own_if(input.default_checked()));
                    Some(InputValue { current, rendered })
                }
                _ => Some(InputValue { current: input.value(), rendered: input.default_value() }),
            };
        }
        if let Some(area) = element.dyn_ref::<HtmlTextAreaElement>() {
            let current = area.value();
            let rendered = area.default_value().unwrap_or_else(|_| current.clone());
            return Some(InputValue { current, rendered });
        }
        let select = element.dyn_ref::<HtmlSelectElement>()?;
        Some(InputValue { current: select.value(), rendered: rendered_choice(select) })
    }

    /// Sets the value of a field, without reporting it. One that has the value stays as it is, with its cursor.
    fn set_value(element: &Element, value: &str) {
        if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
            let is_own = input.value() == value;
            match &*input.type_() {
                "hidden" | "submit" | "button" | "file" => {}
                "checkbox" => input.set_checked(is_own),
                // Choosing another radio button ends the choice of this one.
                "radio" if is_own => input.set_checked(true),
                "radio" => {}
                _ if !is_own => input.set_value(value),
                _ => {}
            }
        } else if let Some(area) = element.dyn_ref::<HtmlTextAreaElement>() {
            if area.value() != value {
                area.set_value(value);
            }
        } else if let Some(select) = element.dyn_ref::<HtmlSelectElement>() {
            select.set_value(value);
        }
    }

    /// After hydration, when the input is entered again: a part that the page waits for is hydrated later.
    const RESTORE_AFTER: [Duration; 3] =
        [Duration::ZERO, Duration::from_millis(60), Duration::from_millis(400)];

    /// A field and the value that a person entered.
    struct TypedInput {
        element: Element,
        value: String,
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
        let field = read_field(&element)?;
        (field.current != field.rendered).then_some(TypedInput { element, value: field.current })
    }

    /// The value that the server selected; without a selected option the browser selects the first one.
    fn rendered_choice(select: &HtmlSelectElement) -> String {
        let options = || (0..select.length()).filter_map(|at| select.item(at)?.dyn_into().ok());
        let chosen = options().rfind(HtmlOptionElement::default_selected);
        chosen.or_else(|| options().next()).map(|option| option.value()).unwrap_or_default()
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
            let element = find_current(&self.element);
            let is_untouched = read_field(&element)
                .is_none_or(|field| field.current == self.value || field.current == field.rendered);
            if is_untouched {
                set_value(&element, &self.value);
                // Also if the field has the value already: the page does not know it yet.
                notify(&element);
            }
        }
    }

    /// The element, or the one that replaced it: the field of the same name, of ticks also with the same value.
    fn find_current(old: &Element) -> Element {
        if old.is_connected() {
            return old.clone();
        }
        let found = document().and_then(|page| page.query_selector_all("input, textarea, select").ok());
        let is_same = |other: &Element| {
            let is_tick = matches!(other.get_attribute("type").as_deref(), Some("checkbox" | "radio"));
            let same = |name| other.get_attribute(name) == old.get_attribute(name);
            same("name") && same("id") && (!is_tick || same("value"))
        };
        found.iter().flat_map(list_elements).find(is_same).unwrap_or_else(|| old.clone())
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

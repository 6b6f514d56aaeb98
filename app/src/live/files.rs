//! Files that a person picks or drops: their names and texts.

use leptos::prelude::Callback;
use leptos::web_sys::Event;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// Its name.
    pub name: String,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
}

#[cfg(not(feature = "hydrate"))]
mod server {
    use super::{Callback, Event, Picked};

    /// Reads the files of an `<input type="file">`.
    pub fn picked(_event: &Event, _take: Callback<Picked>) {}
    /// Reads the files of a drop.
    pub fn dropped(_event: &Event, _take: Callback<Picked>) {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::prelude::Callable;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{DragEvent, File, FileList, FileReader, HtmlInputElement};

    use super::{Callback, Event, Picked};

    /// A file larger than this is refused before it is read, in bytes.
    const FILE_MAX: f64 = 1_048_576.0;

    /// Reads the files of an `<input type="file">`.
    pub fn picked(event: &Event, take: Callback<Picked>) {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        if let Some(files) = input.files() {
            read_all(&files, take);
        }
        input.set_value("");
    }

    /// Reads the files of a drop.
    pub fn dropped(event: &Event, take: Callback<Picked>) {
        let Some(files) = event.dyn_ref::<DragEvent>().and_then(|drop| drop.data_transfer()?.files()) else {
            return;
        };
        if files.length() > 0 {
            event.prevent_default();
            read_all(&files, take);
        }
    }

    fn read_all(files: &FileList, take: Callback<Picked>) {
        for at in 0..files.length() {
            if let Some(file) = files.item(at) {
                read(&file, take);
            }
        }
    }

    fn read(file: &File, take: Callback<Picked>) {
        let name = file.name();
        if file.size() > FILE_MAX {
            take.run(Picked { name, text: Err("is larger than 1 MiB".to_owned()) });
            return;
        }
        let Ok(reader) = FileReader::new() else { return };
        let done = {
            let reader = reader.clone();
            Closure::once_into_js(move || {
                let text = reader.result().ok().and_then(|text| text.as_string());
                take.run(Picked { name, text: text.ok_or_else(|| "could not be read".to_owned()) });
            })
        };
        reader.set_onloadend(Some(done.unchecked_ref()));
        let _ = reader.read_as_text(file);
    }
}

//! Local files that a user picks or drops: their names and texts.

use leptos::prelude::Callback;
use leptos::web_sys::Event;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// Its name.
    pub name: String,
    /// Its text, or why it could not be read.
    pub text: Result<String, String>,
}

#[cfg(not(feature = "hydrate"))]
mod server {
    use super::{Callback, Event, LocalFile};

    /// Reads the files of an `<input type="file">`.
    pub fn read_picked_files(_event: &Event, _on_file: Callback<LocalFile>) {}
    /// Reads the files of a drop.
    pub fn read_dropped_files(_event: &Event, _on_file: Callback<LocalFile>) {}
    /// Reads the first file of an `<input type="file">` as base64.
    pub fn read_picked_archive(_event: &Event, _on_file: Callback<LocalFile>) {}
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

    use super::{Callback, Event, LocalFile};

    /// Maximum size in bytes; a larger file is rejected before it is read.
    const FILE_MAX: f64 = 1_048_576.0;
    /// Maximum size of an archive in bytes: in base64, a request takes no more.
    const ARCHIVE_MAX: f64 = 8_388_608.0;

    /// Reads the files of an `<input type="file">`.
    pub fn read_picked_files(event: &Event, on_file: Callback<LocalFile>) {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        if let Some(files) = input.files() {
            read_all(&files, on_file);
        }
        input.set_value("");
    }

    /// Reads the files of a drop.
    pub fn read_dropped_files(event: &Event, on_file: Callback<LocalFile>) {
        let Some(files) = event.dyn_ref::<DragEvent>().and_then(|drop| drop.data_transfer()?.files()) else {
            return;
        };
        if files.length() > 0 {
            event.prevent_default();
            read_all(&files, on_file);
        }
    }

    /// Reads the first file of an `<input type="file">` as base64.
    pub fn read_picked_archive(event: &Event, on_file: Callback<LocalFile>) {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        let file = input.files().and_then(|files| files.item(0));
        input.set_value("");
        let Some(file) = file else { return };
        let name = file.name();
        if file.size() > ARCHIVE_MAX {
            let why = "is larger than 8 MiB; upload it with flotilla chart push";
            on_file.run(LocalFile { name, text: Err(why.to_owned()) });
            return;
        }
        let Ok(reader) = FileReader::new() else { return };
        let done = {
            let reader = reader.clone();
            Closure::once_into_js(move || {
                // "data:application/gzip;base64,…"
                let url = reader.result().ok().and_then(|url| url.as_string());
                let encoded = url.and_then(|url| Some(url.split_once(',')?.1.to_owned()));
                on_file.run(LocalFile { name, text: encoded.ok_or_else(|| "could not be read".to_owned()) });
            })
        };
        reader.set_onloadend(Some(done.unchecked_ref()));
        let _ = reader.read_as_data_url(&file);
    }

    fn read_all(files: &FileList, on_file: Callback<LocalFile>) {
        for at in 0..files.length() {
            if let Some(file) = files.item(at) {
                read(&file, on_file);
            }
        }
    }

    fn read(file: &File, on_file: Callback<LocalFile>) {
        let name = file.name();
        if file.size() > FILE_MAX {
            on_file.run(LocalFile { name, text: Err("is larger than 1 MiB".to_owned()) });
            return;
        }
        let Ok(reader) = FileReader::new() else { return };
        let done = {
            let reader = reader.clone();
            Closure::once_into_js(move || {
                let text = reader.result().ok().and_then(|text| text.as_string());
                on_file.run(LocalFile { name, text: text.ok_or_else(|| "could not be read".to_owned()) });
            })
        };
        reader.set_onloadend(Some(done.unchecked_ref()));
        let _ = reader.read_as_text(file);
    }
}

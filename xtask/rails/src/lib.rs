//! The guard rails alone, compiled for the browser: what `cargo xtask test` holds against the same rules compiled for this
//! machine, and `cargo xtask bench guard` takes the time of.

use domain::guard::{Known, check_static_with};
use domain::manifest;
use domain::schema::Schema;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use wasm_bindgen::prelude::wasm_bindgen;

/// The rules, with a schema of kinds read.
#[wasm_bindgen]
pub struct Rails {
    schema: Schema,
}

#[wasm_bindgen]
impl Rails {
    /// Reads the schema from its written form.
    ///
    /// # Errors
    /// It is none.
    #[wasm_bindgen(constructor)]
    pub fn new(schema: &str) -> Result<Rails, String> {
        Schema::read(schema.as_bytes()).map(|schema| Rails { schema }).map_err(|error| error.to_string())
    }

    /// What the rules say of some files, as JSON.
    ///
    /// # Errors
    /// The files are no JSON list of names and texts.
    pub fn check(&self, files: &str) -> Result<String, String> {
        let files: Vec<SourceFile> = serde_json::from_str(files).map_err(|error| error.to_string())?;
        let parsed = manifest::parse(&files);
        let source = Source::Yaml { files };
        let spec = WorkloadSpec { namespace: "shop".to_owned(), source, ..WorkloadSpec::default() };
        let findings = check_static_with(&Known::of(&self.schema), "shop", &spec, &parsed);
        serde_json::to_string(&findings).map_err(|error| error.to_string())
    }
}

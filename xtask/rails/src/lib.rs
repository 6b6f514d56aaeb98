//! The guard rails compiled to WASM, without the console. `cargo xtask test` compares their findings with those of the
//! native build; `cargo xtask bench guard` measures their run time.

use domain::guard::{ClusterSchemas, check_static_with};
use domain::manifest;
use domain::schema::Schema;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use wasm_bindgen::prelude::wasm_bindgen;

/// The guard rails with a parsed schema of kinds.
#[wasm_bindgen]
pub struct GuardRails {
    schema: Schema,
}

#[wasm_bindgen]
impl GuardRails {
    /// Parses the schema.
    ///
    /// # Errors
    /// The text is not a valid schema.
    #[wasm_bindgen(constructor)]
    pub fn new(schema: &str) -> Result<GuardRails, String> {
        Schema::from_json(schema.as_bytes())
            .map(|schema| GuardRails { schema })
            .map_err(|error| error.to_string())
    }

    /// The findings about some files, as JSON.
    ///
    /// # Errors
    /// `files` is not a JSON array of objects with `name` and `text`.
    pub fn check(&self, files: &str) -> Result<String, String> {
        let files: Vec<SourceFile> = serde_json::from_str(files).map_err(|error| error.to_string())?;
        let parsed = manifest::parse(&files);
        let source = Source::Yaml { files };
        let spec = WorkloadSpec { namespace: "shop".to_owned(), source, ..WorkloadSpec::default() };
        let findings = check_static_with(&ClusterSchemas::from_schema(&self.schema), "shop", &spec, &parsed);
        serde_json::to_string(&findings).map_err(|error| error.to_string())
    }
}

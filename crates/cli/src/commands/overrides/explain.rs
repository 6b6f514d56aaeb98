//! `flotilla override explain`: the layers that set each field of a workload on one cluster (E-8).

use std::collections::BTreeMap;

use clap::Args;
use domain::cluster::Cluster;
use domain::field_path::FieldPath;
use domain::object::object_ref;
use domain::overrides::{Override, Provenance, ProvenanceLayer, apply_overrides};
use domain::placement::ClusterGroup;
use domain::secret_text::{contains_secret, hide_field};
use domain::values::ValuesLayer;
use domain::workload::{Source, WorkloadSpec};
use domain::{Finding, manifest};
use serde::Serialize;
use serde_json::Value;
use wire::ValuesQuery;

use super::assignment::{collect_leaves, is_field_of};
use super::format_patch_target;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The layer of the source itself.
const SOURCE_LAYER: &str = "source";

/// Explain which override sets each field on one cluster, and what it replaces
///
/// The layers of a field are listed from the effective one down to the source: cluster before selector before group, then by
/// priority, then by name. Without FIELD only fields that an override sets are listed.
#[derive(Args)]
pub struct ExplainArgs {
    /// Name of the workload
    pub workload: String,
    /// The cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: String,
    /// Only this field: its name or its last parts (replicas, limits.cpu), or its path; of a chart, a value (image.tag)
    #[arg(value_name = "FIELD")]
    field: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The layers that set a field.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FieldLayers {
    /// The object; "values" for the values of a chart.
    object: String,
    path: String,
    /// The effective one first.
    layers: Vec<LayerSetting>,
}

/// What one layer sets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LayerSetting {
    layer: String,
    value: LayerValue,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "value", rename_all = "camelCase")]
enum LayerValue {
    Set(Value),
    Removed,
    /// A value of a Secret.
    Hidden,
    /// The value of an object that only the server renders.
    Unknown,
}

impl ExplainArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let spec = remote.client.get_workload(&self.workload).await?.workload.draft;
        let cluster = remote.client.get_cluster(&self.cluster).await?.cluster;
        let groups = remote.client.list_groups().await?;
        let (mut fields, findings) = match &spec.source {
            Source::Yaml { files } => {
                let objects = manifest::parse(files).objects();
                explain_objects(&objects, &spec, &cluster, &groups)
            }
            _ => (explain_patches(&spec.overrides, &cluster, &groups), Vec::new()),
        };
        if spec.source.is_chart() {
            fields.extend(self.explain_values(remote).await?);
        }
        if let Some(field) = &self.field {
            fields.retain(|one| is_named(one, field));
            if fields.is_empty() {
                fields = source_fields(&spec, field);
            }
        }
        if self.output.format.is_machine() {
            return out.print_value(&fields, self.output.format);
        }
        out.print_findings_note(&findings, &str::to_owned);
        let mut table = Table::new(&["OBJECT", "FIELD", "EFFECTIVE", "FROM"]);
        for one in &fields {
            let effective = one.layers.first().map(|top| format_value(&top.value)).unwrap_or_default();
            table
                .add_row()
                .text(&one.object)
                .text(&one.path)
                .text(effective)
                .text(format_layers(&one.layers));
        }
        let nothing = match &self.field {
            Some(field) => format!("{} has no field {field:?} that is known here.", self.workload),
            None => format!("No override changes {} on {}.", self.workload, self.cluster),
        };
        out.print_table(&table, &nothing)
    }

    /// The values of a chart that an override or a group sets; with a field, all of them.
    async fn explain_values(&self, remote: &ServerConnection) -> Result<Vec<FieldLayers>, Failure> {
        let query = ValuesQuery { cluster: self.cluster.clone(), source: true, revision: None };
        let values = remote.client.get_values(&self.workload, &query).await?;
        let is_special = |layer: &ValuesLayer| {
            matches!(layer, ValuesLayer::Override { .. }) || layer.lock_owner().is_some()
        };
        let shown = values.provenance.into_iter().filter(|leaf| {
            self.field.is_some() || leaf.settings.iter().any(|setting| is_special(&setting.layer))
        });
        let to_setting = |setting: domain::values::ValueSetting| LayerSetting {
            layer: setting.layer.to_string(),
            value: LayerValue::Set(setting.value),
        };
        let fields = shown.map(|leaf| FieldLayers {
            object: "values".to_owned(),
            path: leaf.path,
            layers: leaf.settings.into_iter().map(to_setting).collect(),
        });
        Ok(fields.collect())
    }
}

/// The fields of the manifests that overrides set, and what is wrong with these overrides.
fn explain_objects(
    objects: &[Value],
    spec: &WorkloadSpec,
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> (Vec<FieldLayers>, Vec<Finding>) {
    let overrides = &spec.overrides;
    let result = apply_overrides(objects, overrides, cluster, groups, &spec.namespace);
    let explain = |one: &Provenance| {
        let object = objects.get(one.object as usize)?;
        let layers = one.layers.iter().zip(&one.values).map(|(layer, value)| LayerSetting {
            layer: match layer {
                ProvenanceLayer::Base => SOURCE_LAYER.to_owned(),
                ProvenanceLayer::Override { name } => layer_name(name, overrides, cluster, groups),
            },
            value: to_layer_value(object, value.as_ref()),
        });
        let layers = layers.collect();
        Some(FieldLayers { object: object_ref(object).to_string(), path: one.path.clone(), layers })
    };
    (result.provenance.iter().filter_map(explain).collect(), result.findings)
}

/// The patches that apply to the objects which the server renders, by object and path.
fn explain_patches(overrides: &[Override], cluster: &Cluster, groups: &[ClusterGroup]) -> Vec<FieldLayers> {
    let applicable = overrides.iter().filter_map(|one| Some((one.target.specificity(cluster, groups)?, one)));
    let mut applicable: Vec<_> = applicable.collect();
    applicable.sort_by_key(|(specificity, one)| (*specificity, one.priority, one.name.clone()));
    let mut fields: BTreeMap<(String, String), Vec<LayerSetting>> = BTreeMap::new();
    for (_, one) in applicable.into_iter().rev() {
        for patch in one.patches.iter().rev() {
            let (object, path, value) = format_patch_target(patch);
            let value = match value {
                _ if patch.object.kind == "Secret" => LayerValue::Hidden,
                Some(mut value) => {
                    hide_field(path.contains("stringData"), &path, &mut value);
                    LayerValue::Set(value)
                }
                None => LayerValue::Removed,
            };
            let layer = layer_name(&one.name, overrides, cluster, groups);
            fields.entry((object, path)).or_default().push(LayerSetting { layer, value });
        }
    }
    let with_source = |((object, path), mut layers): ((String, String), Vec<LayerSetting>)| {
        layers.push(LayerSetting { layer: SOURCE_LAYER.to_owned(), value: LayerValue::Unknown });
        FieldLayers { object, path, layers }
    };
    fields.into_iter().map(with_source).collect()
}

/// The fields of the manifests with this name, which no override sets.
fn source_fields(spec: &WorkloadSpec, field: &str) -> Vec<FieldLayers> {
    let Source::Yaml { files } = &spec.source else { return Vec::new() };
    let mut fields = Vec::new();
    for object in manifest::parse(files).objects() {
        let mut leaves = Vec::new();
        collect_leaves(&object, &FieldPath(Vec::new()), &mut leaves);
        for leaf in leaves.into_iter().filter(|leaf| is_field_of(field, &leaf.to_string())) {
            let value = to_layer_value(&object, leaf.get(&object));
            let layers = vec![LayerSetting { layer: SOURCE_LAYER.to_owned(), value }];
            let object = object_ref(&object).to_string();
            fields.push(FieldLayers { object, path: leaf.to_string(), layers });
        }
    }
    fields
}

fn to_layer_value(object: &Value, value: Option<&Value>) -> LayerValue {
    match value {
        _ if object["kind"] == "Secret" || contains_secret(object) => LayerValue::Hidden,
        Some(value) => LayerValue::Set(value.clone()),
        None => LayerValue::Removed,
    }
}

/// "cluster eu-west-1": why the override applies, and its name.
fn layer_name(name: &str, overrides: &[Override], cluster: &Cluster, groups: &[ClusterGroup]) -> String {
    let found = overrides.iter().find(|one| one.name == name);
    let specificity = found.and_then(|one| one.target.specificity(cluster, groups));
    specificity.map_or_else(|| name.to_owned(), |why| format!("{} {name}", why.as_str()))
}

/// Whether the field has this name; values of a chart have dots in place of slashes.
fn is_named(one: &FieldLayers, field: &str) -> bool {
    is_field_of(field, &one.path) || one.path.replace('/', ".").trim_start_matches('.') == field
}

/// "cluster eu-1 ← group eu 3 ← source 2".
fn format_layers(layers: &[LayerSetting]) -> String {
    let mut layers = layers.iter();
    let mut text = layers.next().map(|top| top.layer.clone()).unwrap_or_default();
    for below in layers {
        text.push_str(&format!(" ← {} {}", below.layer, format_value(&below.value)));
    }
    text
}

fn format_value(value: &LayerValue) -> String {
    match value {
        LayerValue::Set(Value::String(text)) => text.clone(),
        LayerValue::Set(value) => value.to_string(),
        LayerValue::Removed => "removed".to_owned(),
        LayerValue::Hidden => "hidden".to_owned(),
        LayerValue::Unknown => "unknown".to_owned(),
    }
}

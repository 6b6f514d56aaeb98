//! `flotilla cluster taint`: sets and removes taints, in the syntax of `kubectl`: `key=value:Effect` sets, `key-` and
//! `key:Effect-` remove. A change by which workloads leave is confirmed first.

use clap::Args;
use domain::cluster::{Taint, TaintEffect, check_taints};
use wire::ClusterPatch;

use super::affected::confirm_change;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Printer;

/// Set and remove taints of a cluster, after a confirmation if workloads would leave it
#[derive(Args)]
pub struct TaintArgs {
    /// Name of the cluster
    pub cluster: String,
    /// key[=value]:Effect sets a taint; key- and key:Effect- remove. Effects: NoSelect, PreferNoSelect, NoSelectIfNew
    #[arg(required = true, value_name = "TAINT|KEY-")]
    taints: Vec<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// A change of the list.
#[derive(Debug, PartialEq)]
enum TaintChange {
    Set(Taint),
    /// Of every effect if it is `None`.
    Remove(String, Option<TaintEffect>),
}

impl TaintArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let changes =
            self.taints.iter().map(|text| parse_change(text)).collect::<Result<Vec<_>, Failure>>()?;
        let cluster = remote.client.get_cluster(&self.cluster).await?.cluster;
        let mut taints = cluster.taints.clone();
        for change in changes {
            apply(&mut taints, change).map_err(|key| {
                Failure::new(
                    format!("Cluster {} has no taint {key}.", self.cluster),
                    format!("\"flotilla cluster get {}\" shows its taints.", self.cluster),
                )
            })?;
        }
        let patch = ClusterPatch { taints: Some(taints), ..ClusterPatch::default() };
        confirm_change(remote, &self.cluster, &patch, self.confirm).await?;
        // Under the revision that was read, because the list is replaced as a whole.
        remote.client.patch_cluster(&self.cluster, &patch, Some(cluster.revision)).await?;
        out.print_line(&format!("cluster/{} tainted", self.cluster))
    }
}

/// Applies a change; the error is the taint that does not exist.
fn apply(taints: &mut Vec<Taint>, change: TaintChange) -> Result<(), String> {
    match change {
        TaintChange::Set(taint) => {
            taints.retain(|other| other.key != taint.key || other.effect != taint.effect);
            taints.push(taint);
        }
        TaintChange::Remove(key, effect) => {
            let before = taints.len();
            taints.retain(|taint| taint.key != key || effect.is_some_and(|effect| effect != taint.effect));
            if taints.len() == before {
                return Err(effect.map_or(key.clone(), |effect| format!("{key}:{}", effect.as_str())));
            }
        }
    }
    Ok(())
}

fn parse_change(text: &str) -> Result<TaintChange, Failure> {
    let invalid = || {
        let shown: String = text.chars().take(120).collect();
        let effects: Vec<&str> = TaintEffect::ALL.iter().map(|effect| effect.as_str()).collect();
        Failure::usage(
            format!("{shown:?} is not a taint."),
            format!(
                "Write key=value:Effect or key:Effect to set one, key- to remove it. Effects: {}.",
                effects.join(", ")
            ),
        )
    };
    if let Some(removed) = text.strip_suffix('-') {
        let (key, effect) = match removed.split_once(':') {
            Some((key, effect)) => (key, Some(TaintEffect::parse(effect).ok_or_else(invalid)?)),
            None => (removed, None),
        };
        return if key.is_empty() { Err(invalid()) } else { Ok(TaintChange::Remove(key.to_owned(), effect)) };
    }
    let (name, effect) = text.rsplit_once(':').ok_or_else(invalid)?;
    let effect = TaintEffect::parse(effect).ok_or_else(invalid)?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    let taint = Taint { key: key.to_owned(), value: value.to_owned(), effect };
    match check_taints(std::slice::from_ref(&taint)).is_empty() {
        true => Ok(TaintChange::Set(taint)),
        false => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_are_set_and_removed_in_the_syntax_of_kubectl() {
        let parse = |text: &str| parse_change(text).ok().unwrap();
        let gpu = Taint { key: "gpu".into(), value: "a100".into(), effect: TaintEffect::NoSelect };
        assert_eq!(parse("gpu=a100:NoSelect"), TaintChange::Set(gpu.clone()));
        assert_eq!(parse("gpu-"), TaintChange::Remove("gpu".into(), None));
        assert_eq!(parse("gpu:NoSelect-"), TaintChange::Remove("gpu".into(), Some(TaintEffect::NoSelect)));
        for wrong in ["gpu", "gpu=a100", "gpu:Nope", ":NoSelect", "-", "a b:NoSelect", "gpu:Nope-"] {
            assert!(parse_change(wrong).is_err(), "{wrong}");
        }
        let mut taints = vec![Taint { value: "v100".into(), ..gpu.clone() }];
        apply(&mut taints, parse("gpu=a100:NoSelect")).unwrap();
        assert_eq!(taints, [gpu]);
        assert_eq!(apply(&mut taints, parse("gpu:PreferNoSelect-")), Err("gpu:PreferNoSelect".into()));
        apply(&mut taints, parse("gpu-")).unwrap();
        assert!(taints.is_empty());
    }
}

//! G5xx: placement, overrides, rollout, policies and publish.

use super::GuardRail;
use super::Scope::{Change, Fleet, Publish, Static, Verb};
use crate::text::finding::Severity::{Error, Note, Warning};

pub(super) const RAILS: &[GuardRail] = &[
    GuardRail {
        code: "G501",
        title: "No cluster selected",
        severities: &[(Fleet, &[Error])],
        finds: "The placement selects no cluster, or no cluster is registered.",
        fix: "Name a cluster or a group, relax the label selector, or register a cluster.",
    },
    GuardRail {
        code: "G502",
        title: "Invalid placement or group",
        severities: &[(Static, &[Error, Warning, Note]), (Verb, &[Error, Warning])],
        finds: "A selector, toleration, score, spread or number of a placement or cluster group is invalid, contradictory or without effect, or a predicate without conditions selects every cluster; or a cluster is in two groups of which one is exclusive.",
        fix: "Correct the field; selectors are written as env=prod,region in (eu,us),!legacy.",
    },
    GuardRail {
        code: "G503",
        title: "Spread not satisfied",
        severities: &[(Fleet, &[Error, Warning])],
        finds: "The matching clusters have too few values of the spread's key, or the selected clusters are more uneven than its skew allows.",
        fix: "Match clusters with other values, require fewer values, or allow a larger skew.",
    },
    GuardRail {
        code: "G504",
        title: "Fewer clusters than requested",
        severities: &[(Fleet, &[Error, Warning])],
        finds: "Fewer clusters match than the placement requests; an error if fewer than its minimum.",
        fix: "Loosen the placement, or request fewer clusters.",
    },
    GuardRail {
        code: "G505",
        title: "Unconfirmed removal",
        severities: &[(Publish, &[Warning]), (Verb, &[Error])],
        finds: "A publish or a deletion removes the workload from clusters that run it.",
        fix: "Type the number of clusters or the name to confirm, or select these clusters again.",
    },
    GuardRail {
        code: "G506",
        title: "Override without a target",
        severities: &[(Static, &[Warning]), (Fleet, &[Warning]), (Verb, &[Error])],
        finds: "An override selects no cluster, names a cluster or group that does not exist, has labels or facts that no cluster has, or matches none of the selected clusters; an error in a deployment, whose values may only name members of its group.",
        fix: "Correct its clusters, groups or selector, or remove it.",
    },
    GuardRail {
        code: "G507",
        title: "Patch that cannot be applied",
        severities: &[(Static, &[Error]), (Fleet, &[Error]), (Publish, &[Error]), (Verb, &[Error])],
        finds: "A patch of an override is invalid, or its object or path does not exist in the source.",
        fix: "Check kind, name and path; write paths such as /spec/template/spec/containers[name=web]/image.",
    },
    GuardRail {
        code: "G508",
        title: "Override priority",
        severities: &[(Static, &[Error]), (Fleet, &[Warning]), (Publish, &[Warning]), (Verb, &[Error])],
        finds: "A priority is out of range, or two overrides of equal priority set the same path on a cluster.",
        fix: "Use 0 to 1000, and different priorities to make the precedence explicit.",
    },
    GuardRail {
        code: "G509",
        title: "Override without effect",
        severities: &[(Static, &[Warning]), (Fleet, &[Warning]), (Publish, &[Warning])],
        finds: "An override has no patches, or sets values that the object already has.",
        fix: "Add a patch, set another value, or remove the override.",
    },
    GuardRail {
        code: "G510",
        title: "Override changes the identity",
        severities: &[(Fleet, &[Error]), (Publish, &[Error])],
        finds: "An override changes kind, name, namespace or selector of an object, or removes a label that its selector requires.",
        fix: "Leave these fields as they are; add a second object to the source instead.",
    },
    GuardRail {
        code: "G511",
        title: "Invalid rollout",
        severities: &[(Static, &[Error]), (Fleet, &[Error]), (Verb, &[Error])],
        finds: "A wave has an invalid field, contains no selected cluster or follows one that contains every remaining cluster, or a selected cluster is in no wave.",
        fix: "Correct the wave; add a last wave without a target for the remaining clusters.",
    },
    GuardRail {
        code: "G512",
        title: "Rollout without protection",
        severities: &[(Static, &[Warning]), (Fleet, &[Warning])],
        finds: "Six or more clusters would be updated at once, every cluster of a wave may fail without pausing the rollout, or it continues whatever fails.",
        fix: "Add a first wave with one cluster (a canary), and allow fewer failures.",
    },
    GuardRail {
        code: "G513",
        title: "Invalid rollout window",
        severities: &[(Static, &[Error])],
        finds: "A time or the UTC offset of the rollout window is invalid, or the window is never open.",
        fix: "Write times such as 22:00 and an offset such as +01:00, or remove the window.",
    },
    GuardRail {
        code: "G516",
        title: "Loss of data",
        severities: &[(Static, &[Warning]), (Change, &[Warning])],
        finds: "Removing the workload from a cluster, or publishing the draft, deletes volume claims with their data, or waits for a finalizer.",
        fix: "Set the deletion policy selectivelyOrphan and list the object under orphan.",
    },
    GuardRail {
        code: "G517",
        title: "Invalid policy",
        severities: &[(Static, &[Error, Warning])],
        finds: "A policy has too many rules, an invalid field path, name or executor, or rules that contradict its deletion policy.",
        fix: "Correct the policy; field paths are written as /spec/replicas or $.spec.replicas.",
    },
];

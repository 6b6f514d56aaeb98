//! Command-line flags of each program. File names are relative to the control plane's directory.

use crate::control_plane::Ports;
use crate::reserved_port::ReservedPort;

fn to_flags<const N: usize>(flags: [&str; N]) -> Vec<String> {
    flags.map(|flag| format!("--{flag}")).to_vec()
}

pub(crate) fn etcd(ports: &Ports) -> Vec<String> {
    let (client, peer) = (local_url(&ports.etcd), local_url(&ports.etcd_peer));
    let mut flags = to_flags(["data-dir=etcd", "unsafe-no-fsync", "name=only", "log-level=warn"]);
    flags.extend([
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=only={peer}"),
    ]);
    flags
}

pub(crate) fn api_server(ports: &Ports) -> Vec<String> {
    let mut flags = to_flags([
        "bind-address=127.0.0.1",
        "advertise-address=127.0.0.1",
        "tls-cert-file=server.crt",
        "tls-private-key-file=server.key",
        "client-ca-file=ca.crt",
        "token-auth-file=tokens.csv",
        "authorization-mode=RBAC",
        "service-account-issuer=https://kubernetes.default.svc",
        "service-account-key-file=accounts.pub",
        "service-account-signing-key-file=accounts.key",
        "service-cluster-ip-range=10.96.0.0/16",
        "endpoint-reconciler-type=none",
        "allow-privileged=true",
        "profiling=false",
        // With low limits, API priority and fairness would delay or reject a test's requests.
        "max-requests-inflight=1000",
        "max-mutating-requests-inflight=1000",
    ]);
    flags.push(format!("--secure-port={}", ports.api.number()));
    flags.push(format!("--etcd-servers={}", local_url(&ports.etcd)));
    flags
}

pub(crate) fn controller_manager() -> Vec<String> {
    to_flags([
        "kubeconfig=kubeconfig",
        "leader-elect=false",
        // Disables serving.
        "secure-port=0",
        "root-ca-file=ca.crt",
        "service-account-private-key-file=accounts.key",
        // The default of 20 requests per second is too slow for tests.
        "kube-api-qps=1000",
        "kube-api-burst=1000",
        "horizontal-pod-autoscaler-sync-period=1s",
        "resource-quota-sync-period=2s",
        "pvclaimbinder-sync-period=1s",
    ])
}

pub(crate) fn scheduler() -> Vec<String> {
    to_flags([
        "kubeconfig=kubeconfig",
        "leader-elect=false",
        "secure-port=0",
        "kube-api-qps=1000",
        "kube-api-burst=1000",
    ])
}

pub(crate) fn kwok(ports: &Ports) -> Vec<String> {
    let mut flags = to_flags([
        "kubeconfig=kubeconfig",
        "config=kwok.yaml",
        "manage-all-nodes=true",
        "node-lease-duration-seconds=40",
        "cidr=10.244.0.1/16",
        "node-ip=127.0.0.1",
    ]);
    // The default is to listen on all addresses.
    flags.push(format!("--server-address={}", ports.kwok.address()));
    flags
}

fn local_url(port: &ReservedPort) -> String {
    format!("http://{}", port.address())
}

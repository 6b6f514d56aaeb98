//! The flags each program is started with. Files are named relative to the control plane's folder.

use crate::control_plane::Ports;

fn all<const N: usize>(flags: [&str; N]) -> Vec<String> {
    flags.map(|flag| format!("--{flag}")).to_vec()
}

pub(crate) fn etcd(ports: Ports) -> Vec<String> {
    let (client, peer) = (url(ports.etcd), url(ports.etcd_peer));
    let mut flags = all(["data-dir=etcd", "unsafe-no-fsync", "name=only", "log-level=warn"]);
    flags.extend([
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=only={peer}"),
    ]);
    flags
}

pub(crate) fn api_server(ports: Ports) -> Vec<String> {
    let mut flags = all([
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
        // Priority and fairness would take the place of what a test wants to see.
        "max-requests-inflight=1000",
        "max-mutating-requests-inflight=1000",
    ]);
    flags.push(format!("--secure-port={}", ports.api));
    flags.push(format!("--etcd-servers={}", url(ports.etcd)));
    flags
}

pub(crate) fn controller_manager() -> Vec<String> {
    all([
        "kubeconfig=kubeconfig",
        "leader-elect=false",
        // Serves nothing.
        "secure-port=0",
        "root-ca-file=ca.crt",
        "service-account-private-key-file=accounts.key",
        // 20 requests a second is the default: too slow to be waited for.
        "kube-api-qps=1000",
        "kube-api-burst=1000",
        "horizontal-pod-autoscaler-sync-period=1s",
        "resource-quota-sync-period=2s",
        "pvclaimbinder-sync-period=1s",
    ])
}

pub(crate) fn scheduler() -> Vec<String> {
    all([
        "kubeconfig=kubeconfig",
        "leader-elect=false",
        "secure-port=0",
        "kube-api-qps=1000",
        "kube-api-burst=1000",
    ])
}

pub(crate) fn kwok(ports: Ports) -> Vec<String> {
    let mut flags = all([
        "kubeconfig=kubeconfig",
        "config=kwok.yaml",
        "manage-all-nodes=true",
        "node-lease-duration-seconds=40",
        "cidr=10.244.0.1/16",
        "node-ip=127.0.0.1",
    ]);
    // By default it would listen on all addresses.
    flags.push(format!("--server-address=127.0.0.1:{}", ports.kwok));
    flags
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

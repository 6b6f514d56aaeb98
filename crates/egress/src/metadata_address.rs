//! The addresses at which clouds serve the metadata of a virtual machine, with credentials of it, and other services of its host.
//!
//! Each row has its source. All of 169.254.0.0/16 and fe80::/10 is refused too, because these are link-local: there are the services of
//! most clouds. The rows of that range say what a translator in the network must not be asked for.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The services of IPv4.
const METADATA_V4: [Ipv4Addr; 10] = [
    // Amazon EC2, Azure, Google Cloud, Oracle, OpenStack and most others: their documentation of instance metadata.
    Ipv4Addr::new(169, 254, 169, 254),
    // Google Kubernetes Engine, metadata server of a node: its documentation of Workload Identity.
    Ipv4Addr::new(169, 254, 169, 252),
    // Amazon ECS, credentials of a task: its documentation of task roles.
    Ipv4Addr::new(169, 254, 170, 2),
    // Amazon EKS, Pod Identity Agent: its documentation of Pod Identity.
    Ipv4Addr::new(169, 254, 170, 23),
    // Scaleway: cloud-init, documentation of its datasource Scaleway.
    Ipv4Addr::new(169, 254, 42, 42),
    // Tencent Cloud, metadata.tencentyun.com: its documentation of instance metadata.
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(169, 254, 10, 10),
    // Alibaba Cloud: its documentation of instance metadata.
    Ipv4Addr::new(100, 100, 100, 200),
    // Oracle Cloud Classic: its documentation of instance metadata.
    Ipv4Addr::new(192, 0, 0, 192),
    // Azure, WireServer of the host: its documentation of the address.
    Ipv4Addr::new(168, 63, 129, 16),
];

/// The networks of services of IPv6, with the length of their prefix in bits, from 1 to 128.
const METADATA_V6: [(Ipv6Addr, u32); 6] = [
    // Amazon EC2, metadata fd00:ec2::254, Pod Identity Agent fd00:ec2::23, time and names: its documentation of instance metadata.
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32),
    // Google Cloud, fd20:ce::254: its documentation of the metadata server, machines with IPv6 alone.
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0), 32),
    // Oracle Cloud, fd00:c1::a9fe:a9fe: its SDK for Python, signer of instance principals.
    (Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0, 0), 64),
    // Scaleway, fd00:42::42: cloud-init, documentation of its datasource Scaleway.
    (Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0), 64),
    // Akamai (Linode), fd00:a9fe:a9fe::1: cloud-init, documentation of its datasource Akamai.
    (Ipv6Addr::new(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 0), 48),
    // Alibaba Cloud, fd00:100::100:200: cloud-init, tests of its datasource AliYun.
    (Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200), 128),
];

/// Where a translator to IPv4 has the four bytes of the address (RFC 6052, section 2.2): behind a prefix of 96, 64, 56, 48, 40 or 32 bits.
/// Byte 8 is none of them.
const EMBEDDED_V4: [[usize; 4]; 6] =
    [[12, 13, 14, 15], [9, 10, 11, 12], [7, 9, 10, 11], [6, 7, 9, 10], [5, 6, 7, 9], [4, 5, 6, 7]];

/// Whether an address is that of a metadata service.
pub(crate) fn is_metadata_v4(address: Ipv4Addr) -> bool {
    METADATA_V4.contains(&address)
}

/// Whether an address is that of a metadata service, or one behind which a translator of the network may have one. Which prefix a network
/// translates is not known, so every position counts. Of private addresses that end with a link-local IPv4 address none is reached.
pub(crate) fn is_metadata_v6(address: Ipv6Addr) -> bool {
    let octets = address.octets();
    let ends_link_local = address.is_unique_local() && octets[12..14] == [169, 254];
    let is_in =
        |(network, length): &(Ipv6Addr, u32)| (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0;
    let is_embedded = |at: &[usize; 4]| {
        let [a, b, c, d] = at.map(|byte| octets[byte]);
        is_metadata_v4(Ipv4Addr::new(a, b, c, d))
    };
    ends_link_local || METADATA_V6.iter().any(is_in) || EMBEDDED_V4.iter().any(is_embedded)
}

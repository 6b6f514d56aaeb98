//! System calls that a renderer does not need, denied by seccomp: whatever the kernel offers otherwise, there is no network then.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::BoxError;

/// Numbers of system calls with this bit are those of the x32 ABI, which a kernel for `x86_64` may offer beside its own.
#[cfg(target_arch = "x86_64")]
const X32_BIT: i64 = 0x4000_0000;
/// Denied calls that have another number there: sendmsg, ptrace, rt_sigqueueinfo, rt_tgsigqueueinfo, sendmmsg, process_vm_readv and
/// process_vm_writev.
#[cfg(target_arch = "x86_64")]
const X32_DENIED: [i64; 7] = [518, 521, 524, 536, 538, 539, 540];

/// Calls that are always denied.
const DENIED: &[i64] = &[
    // Network and local sockets. A renderer has none: all descriptors of the server are closed when it starts.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    // Its operations are not checked by this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes of the same user, such as the server.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // A process group that the server does not kill.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Parts of the kernel that are rarely needed and often attacked.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Denies the calls for this process and the program that it becomes. Sets `no_new_privs`.
///
/// # Errors
/// The kernel has no seccomp, or the architecture is not supported.
pub(super) fn deny() -> Result<(), BoxError> {
    let pid = u64::try_from(nix::unistd::getpid().as_raw())?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    // Threads only: a child would outlive a server that is killed.
    let is_no_thread = SeccompCmpOp::MaskedEq(u64::try_from(libc::CLONE_THREAD)?);
    rules.insert(libc::SYS_clone, vec![rule(SeccompCmpArgLen::Qword, is_no_thread, 0)?]);
    // Signals to other processes; the runtime of Go signals its own threads. The program keeps the id of this process.
    rules.insert(libc::SYS_tgkill, vec![rule(SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, pid)?]);
    // The end of the process with its server.
    let death_signal = u64::try_from(libc::PR_SET_PDEATHSIG)?;
    rules.insert(libc::SYS_prctl, vec![rule(SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, death_signal)?]);
    // The flags of `clone3` are in memory, which a filter can't read. Libraries use `clone` if it does not exist.
    let unknown: BTreeMap<i64, Vec<SeccompRule>> = [(libc::SYS_clone3, Vec::new())].into();
    for (rules, error) in [(rules, libc::EPERM), (unknown, libc::ENOSYS)] {
        let denied = SeccompAction::Errno(u32::try_from(error)?);
        let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
        let filter = SeccompFilter::new(add_x32(rules), SeccompAction::Allow, denied, architecture)?;
        let program: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// A rule for the first argument of a call.
fn rule(length: SeccompCmpArgLen, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BoxError> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, length, operator, value)?])?)
}

/// Adds the rules for the x32 ABI.
#[cfg(target_arch = "x86_64")]
fn add_x32(mut rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    let same: Vec<_> = rules.iter().map(|(call, rules)| (call | X32_BIT, rules.clone())).collect();
    rules.extend(same);
    rules.extend(X32_DENIED.map(|call| (call | X32_BIT, Vec::new())));
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn add_x32(rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    rules
}

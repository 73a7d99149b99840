//! Which system calls a command has: those that look into other processes, build namespaces and mounts, or
//! reach far into the kernel are refused.
//!
//! Invariant: a filter looks at numbers only, so nothing here judges a path.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::error::ContainError;

/// Which sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Of the file system, the internet and netlink.
    Ordinary,
    /// Only two that are connected to each other.
    Pairs,
}

/// Refused with EPERM, whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

/// `quotactl_fd` and `open_tree_attr`, which the library has no names for; all machines have them there.
const REFUSED_BY_NUMBER: [i64; 2] = [443, 467];

/// The kinds of namespaces, as `clone` and `unshare` take them.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
/// One more that only `unshare` takes; in `clone` the bit is one of a signal's number.
const CLONE_NEWTIME: u64 = 0x80;

/// The calls that put typed characters or pasted text into a terminal.
const TERMINAL: [u64; 2] = [0x5412, 0x541c];

const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// From this number on, on `x86_64`, are the calls of the x32 machine, which no rule by number would see.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Installs the filter, for good.
pub(super) fn filter(sockets: Sockets) -> Result<(), ContainError> {
    for program in programs(sockets).map_err(|error| refused(&error))? {
        seccompiler::apply_filter(&program).map_err(|error| refused(&error))?;
    }
    Ok(())
}

fn refused(error: &dyn std::fmt::Display) -> ContainError {
    ContainError::refused("filter the system calls", error.to_string())
}

/// One program for each error that a call may be refused with.
fn programs(sockets: Sockets) -> Result<Vec<BpfProgram>, BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let by_number = REFUSED.iter().copied().chain(REFUSED_BY_NUMBER);
    refused.extend(by_number.map(|call| (call, vec![])));
    let kinds = NAMESPACES.map(|kind| u64::from(kind.unsigned_abs()));
    refused.insert(libc::SYS_clone, any_bit(&kinds)?);
    refused.insert(
        libc::SYS_unshare,
        any_bit(&[&kinds[..], &[CLONE_NEWTIME]].concat())?,
    );
    let commands = TERMINAL.map(|command| equal(1, command).map(|equal| vec![equal]));
    refused.insert(libc::SYS_ioctl, all_of(commands)?);
    if sockets == Sockets::Pairs {
        refused.insert(libc::SYS_socket, vec![]);
    }

    // Its flags are in memory, where no filter looks; the libraries then use `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let no_family = BTreeMap::from([(libc::SYS_socket, vec![no_other_family()?])]);

    let mut programs = vec![
        compile(refused, libc::EPERM)?,
        compile(absent, libc::ENOSYS)?,
    ];
    if sockets == Sockets::Ordinary {
        programs.push(compile(no_family, libc::EAFNOSUPPORT)?);
    }
    #[cfg(target_arch = "x86_64")]
    programs.push(without_x32());
    Ok(programs)
}

fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, BackendError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, machine)?.try_into()
}

/// The kernel takes the lower half of these arguments only.
fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    let half = SeccompCmpArgLen::Dword;
    SeccompCondition::new(argument, half, SeccompCmpOp::Eq, value)
}

fn any_bit(bits: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    all_of(bits.iter().map(|bit| {
        let half = SeccompCmpArgLen::Dword;
        let is_set = SeccompCondition::new(0, half, SeccompCmpOp::MaskedEq(*bit), *bit)?;
        Ok(vec![is_set])
    }))
}

fn all_of(
    conditions: impl IntoIterator<Item = Result<Vec<SeccompCondition>, BackendError>>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let conditions = conditions.into_iter();
    conditions.map(|all| SeccompRule::new(all?)).collect()
}

fn no_other_family() -> Result<SeccompRule, BackendError> {
    let others = FAMILIES.map(|family| {
        let half = SeccompCmpArgLen::Dword;
        SeccompCondition::new(0, half, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    });
    SeccompRule::new(others.into_iter().collect::<Result<_, _>>()?)
}

/// Loads the number of the call, and refuses it with ENOSYS if it is one of x32.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let allow = step(RETURN, 0, libc::SECCOMP_RET_ALLOW);
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        allow,
        step(RETURN, 0, refuse),
    ]
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;

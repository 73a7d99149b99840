//! The filter of a command's system calls: those that look into other processes, build namespaces and mounts, or
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

/// The calls that differ by backend and access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallFilter {
    pub(super) sockets: Sockets,
    /// True if processes may be traced, as debuggers, strace and LeakSanitizer do.
    ///
    /// That is safe in a process namespace of the command's own, for root as well. The command can name only its own
    /// processes, which are all held alike, and the init. The init closes its memory before it starts the command, and
    /// no process of the command has the capability that would open it. Landlock lets a process trace only those that
    /// have all its restrictions, and the kernel filters a call after a tracer has changed it.
    pub(super) traces: bool,
    /// True if modes, owners, times and attributes of files may be changed where nothing else refuses it.
    pub(super) changes_metadata: bool,
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

/// The calls that read and write the memory of other processes.
const TRACING: [libc::c_long; 3] = [
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
];

/// The calls that change the mode, the owner, the times or the attributes of a file. Landlock holds none of them.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

/// `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which older versions of the library have no names for.
const METADATA_BY_NUMBER: [i64; 4] = [452, 463, 466, 469];

/// `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR`, by which `chattr` sets the flags of a file.
const METADATA_CONTROLS: [u64; 2] = [0x4008_6602, 0x401c_5820];

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
pub(super) fn filter(calls: CallFilter) -> Result<(), ContainError> {
    for program in programs(calls).map_err(|error| refused(&error))? {
        seccompiler::apply_filter(&program).map_err(|error| refused(&error))?;
    }
    Ok(())
}

fn refused(error: &dyn std::fmt::Display) -> ContainError {
    ContainError::refused("filter the system calls", error.to_string())
}

/// One program for each error that a call may be refused with.
fn programs(filter: CallFilter) -> Result<Vec<BpfProgram>, BackendError> {
    let mut calls: Vec<i64> = REFUSED.to_vec();
    calls.extend(REFUSED_BY_NUMBER);
    let mut controls = TERMINAL.to_vec();
    if !filter.traces {
        calls.extend(TRACING);
    }
    if !filter.changes_metadata {
        calls.extend(METADATA);
        calls.extend(METADATA_BY_NUMBER);
        controls.extend(METADATA_CONTROLS);
    }
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    refused.extend(calls.into_iter().map(|call| (call, vec![])));
    let kinds = NAMESPACES.map(|kind| u64::from(kind.unsigned_abs()));
    refused.insert(libc::SYS_clone, any_bit(&kinds)?);
    refused.insert(
        libc::SYS_unshare,
        any_bit(&[&kinds[..], &[CLONE_NEWTIME]].concat())?,
    );
    let controls = controls.into_iter();
    let controls = controls.map(|control| equal(1, control).map(|equal| vec![equal]));
    refused.insert(libc::SYS_ioctl, all_of(controls)?);
    if filter.sockets == Sockets::Pairs {
        refused.insert(libc::SYS_socket, vec![]);
    }

    // Its flags are in memory, where no filter looks; the libraries then use `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let no_family = BTreeMap::from([(libc::SYS_socket, vec![no_other_family()?])]);

    let mut programs = vec![
        compile(refused, libc::EPERM)?,
        compile(absent, libc::ENOSYS)?,
    ];
    if filter.sockets == Sockets::Ordinary {
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

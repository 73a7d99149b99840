use super::*;

/// The kernel's data for a filter: the number of the call, the machine, and the arguments.
fn data(call: i64, arguments: &[u64]) -> Vec<u8> {
    let machine: u32 = if cfg!(target_arch = "x86_64") {
        0xc000_003e
    } else {
        0xc000_00b7
    };
    let mut bytes = Vec::new();
    bytes.extend(u32::try_from(call).unwrap().to_ne_bytes());
    bytes.extend(machine.to_ne_bytes());
    bytes.extend(0_u64.to_ne_bytes());
    for number in 0..6 {
        bytes.extend(arguments.get(number).unwrap_or(&0).to_ne_bytes());
    }
    bytes
}

/// Runs a program as the kernel does.
fn answer(program: &BpfProgram, data: &[u8]) -> u32 {
    let (mut at, mut held) = (0, 0_u32);
    loop {
        let step = &program[at];
        let jump = |holds| usize::from(if holds { step.jt } else { step.jf });
        at += 1;
        match step.code {
            0x20 => {
                let from = usize::try_from(step.k).unwrap();
                held = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x05 => at += usize::try_from(step.k).unwrap(),
            0x15 => at += jump(held == step.k),
            0x25 => at += jump(held > step.k),
            0x35 => at += jump(held >= step.k),
            0x54 => held &= step.k,
            0x06 => return step.k,
            other => panic!("no such step: {other:#x}"),
        }
    }
}

/// The filter that refuses the least.
const ORDINARY: CallFilter = CallFilter {
    sockets: Sockets::Ordinary,
    traces: true,
    changes_metadata: true,
};

/// The error that a call is refused with; zero if it is not.
fn refusal(filter: CallFilter, call: i64, arguments: &[u64]) -> libc::c_int {
    let data = data(call, arguments);
    let answers = programs(filter).unwrap();
    let answers = answers.iter().map(|program| answer(program, &data));
    let refused = answers.filter(|answer| *answer != libc::SECCOMP_RET_ALLOW);
    let errors = refused.map(|answer| {
        assert_eq!(answer & 0xffff_0000, libc::SECCOMP_RET_ERRNO, "{call}");
        i32::try_from(answer & 0xffff).unwrap()
    });
    errors.max().unwrap_or(0)
}

fn ordinary(call: i64, arguments: &[u64]) -> libc::c_int {
    refusal(ORDINARY, call, arguments)
}

/// Spec: [BOX-08]
#[test]
fn calls_that_reach_out_are_refused() {
    for call in REFUSED.iter().copied().chain(REFUSED_BY_NUMBER) {
        assert_eq!(ordinary(call, &[]), libc::EPERM, "{call}");
    }
    for call in [
        libc::SYS_read,
        libc::SYS_openat,
        libc::SYS_execve,
        libc::SYS_kill,
    ] {
        assert_eq!(ordinary(call, &[u64::MAX; 6]), 0, "{call}");
    }
}

/// Spec: [BOX-08]
#[test]
fn threads_and_processes_can_be_made_and_namespaces_cannot() {
    // What glibc passes for a thread, and for a process.
    let thread = 0x003d_0f00;
    let process = 0x0120_0011;
    for flags in [thread, process] {
        assert_eq!(ordinary(libc::SYS_clone, &[flags]), 0);
    }
    for kind in NAMESPACES {
        let kind = u64::from(kind.unsigned_abs());
        for flags in [kind, kind | process, kind | 0xffff_ffff_0000_0000] {
            assert_eq!(
                ordinary(libc::SYS_clone, &[flags]),
                libc::EPERM,
                "{flags:x}"
            );
            assert_eq!(
                ordinary(libc::SYS_unshare, &[flags]),
                libc::EPERM,
                "{flags:x}"
            );
        }
    }
    assert_eq!(ordinary(libc::SYS_unshare, &[CLONE_NEWTIME]), libc::EPERM);
    let files = u64::from(libc::CLONE_FILES.unsigned_abs());
    assert_eq!(ordinary(libc::SYS_unshare, &[files]), 0);
    assert_eq!(ordinary(libc::SYS_clone3, &[]), libc::ENOSYS);
}

/// Spec: [BOX-08]
#[test]
fn nothing_can_be_typed_into_a_terminal() {
    for command in [0x5412, 0x541c] {
        for upper in [0, 0x1_0000_0000] {
            assert_eq!(
                ordinary(libc::SYS_ioctl, &[0, command | upper]),
                libc::EPERM
            );
        }
    }
    assert_eq!(ordinary(libc::SYS_ioctl, &[0, libc::TIOCGWINSZ]), 0);
}

/// Spec: [BOX-06], [BOX-08]
#[test]
fn only_families_of_sockets_that_programs_need_are_made() {
    let with = |sockets| CallFilter {
        sockets,
        ..ORDINARY
    };
    let made = |sockets, family: libc::c_int| {
        let family = u64::from(family.unsigned_abs());
        refusal(with(sockets), libc::SYS_socket, &[family])
    };
    for family in FAMILIES {
        assert_eq!(made(Sockets::Ordinary, family), 0);
        assert_eq!(made(Sockets::Pairs, family), libc::EPERM);
    }
    for family in [
        libc::AF_VSOCK,
        libc::AF_PACKET,
        libc::AF_ALG,
        libc::AF_BLUETOOTH,
    ] {
        assert_eq!(made(Sockets::Ordinary, family), libc::EAFNOSUPPORT);
        assert_eq!(made(Sockets::Pairs, family), libc::EPERM);
    }
    let pair = refusal(with(Sockets::Pairs), libc::SYS_socketpair, &[1]);
    assert_eq!(pair, 0);
}

/// Spec: [BOX-450]
#[test]
fn processes_are_traced_only_where_the_filter_lets_them() {
    let without = CallFilter {
        traces: false,
        ..ORDINARY
    };
    for call in TRACING {
        assert_eq!(refusal(ORDINARY, call, &[]), 0, "{call}");
        assert_eq!(refusal(without, call, &[]), libc::EPERM, "{call}");
    }
    for call in [libc::SYS_pidfd_getfd, libc::SYS_kcmp] {
        assert_eq!(refusal(ORDINARY, call, &[]), libc::EPERM, "{call}");
    }
}

/// Spec: [BOX-451]
#[test]
fn metadata_of_files_is_changed_only_where_the_filter_lets_it() {
    let without = CallFilter {
        changes_metadata: false,
        ..ORDINARY
    };
    for call in METADATA.iter().copied().chain(METADATA_BY_NUMBER) {
        assert_eq!(refusal(ORDINARY, call, &[]), 0, "{call}");
        assert_eq!(refusal(without, call, &[]), libc::EPERM, "{call}");
    }
    for control in METADATA_CONTROLS {
        let arguments = [0, control];
        assert_eq!(refusal(ORDINARY, libc::SYS_ioctl, &arguments), 0);
        let refused = refusal(without, libc::SYS_ioctl, &arguments);
        assert_eq!(refused, libc::EPERM);
    }
    for call in [libc::SYS_openat, libc::SYS_newfstatat, libc::SYS_getxattr] {
        assert_eq!(refusal(without, call, &[u64::MAX; 6]), 0, "{call}");
    }
}

/// Spec: [BOX-08]
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_x32_are_refused() {
    for call in [0, 521, libc::SYS_ptrace] {
        assert_eq!(ordinary(i64::from(X32) + call, &[]), libc::ENOSYS);
    }
}

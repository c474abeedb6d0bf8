//! The system calls of the keepers, each wrapped once, so that their callers read as plain steps.
//!
//! Everything here must be safe to call between `fork` and `exec`: see the parent module.

use std::ptr;

use libc::{c_char, c_int, c_void, pid_t};

use super::{FORWARDED, KILL_TREE};
use crate::process::sys::{CallFailed, check, empty_set};

pub(super) enum Reaped {
    Child(pid_t, c_int),
    /// There are children, none has ended.
    Nothing,
    NoChildren,
}

pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: always allowed.
    unsafe { libc::_exit(code) }
}

pub(super) fn own_pid() -> pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getpid() }
}

pub(super) fn parent() -> pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getppid() }
}

pub(super) fn kill(pid: pid_t, signal: c_int) {
    // SAFETY: no pointers. The pid is an unreaped child, so it can't be another's.
    unsafe { libc::kill(pid, signal) };
}

pub(super) fn close(fd: c_int) {
    // SAFETY: the descriptor is the keeper's own.
    unsafe { libc::close(fd) };
}

pub(super) fn parent_death_signal(signal: c_int) {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
}

pub(super) fn become_subreaper() -> Result<(), CallFailed> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) })
}

pub(super) fn pipe() -> Result<(c_int, c_int), CallFailed> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((ends[0], ends[1]))
}

/// `fork`, with new namespaces for the child; `None` in the child.
///
/// The raw call, because the C library's `fork` runs handlers and takes locks. What it leaves out,
/// a cached thread id, is used by nothing that a keeper or `exec` does.
pub(super) fn clone(namespaces: c_int) -> Result<Option<pid_t>, CallFailed> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    const NONE: libc::c_long = 0;
    // SAFETY: with no stack given the child goes on with a copy of this one, as after fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, NONE, NONE, NONE, NONE) };
    match pid {
        0 => Ok(None),
        1.. => Ok(Some(pid as pid_t)),
        _ => Err(CallFailed),
    }
}

/// The same, with the child in a control group.
pub(super) fn clone_into(namespaces: c_int, group: c_int) -> Result<Option<pid_t>, CallFailed> {
    /// As of Linux 5.7.
    #[repr(C, align(8))]
    #[derive(Default)]
    struct CloneArguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let arguments = CloneArguments {
        flags: u64::from(namespaces.cast_unsigned()) | CLONE_INTO_CGROUP,
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        cgroup: u64::from(group.cast_unsigned()),
        ..CloneArguments::default()
    };
    let size = size_of::<CloneArguments>();
    // SAFETY: as above; a structure of the size that is given.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) };
    match pid {
        0 => Ok(None),
        1.. => Ok(Some(pid as pid_t)),
        _ => Err(CallFailed),
    }
}

/// Tells if the other end of a pipe is closed.
pub(super) fn hung_up(fd: c_int) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: 0,
        revents: 0,
    };
    // SAFETY: one entry, and no waiting.
    unsafe { libc::poll(&raw mut poll, 1, 0) };
    poll.revents & libc::POLLHUP != 0
}

pub(super) fn close_all_but([one, other]: [c_int; 2]) {
    let (low, high) = if one < other {
        (one, other)
    } else {
        (other, one)
    };
    close_range(0, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, c_int::MAX);
}

fn close_range(first: c_int, last: c_int) {
    if last < first {
        return;
    }
    // SAFETY: a keeper uses none of these descriptors again.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // Kernels before 5.9. Descriptors above this are not ralph's way to work.
    for fd in first..=last.min(4096) {
        close(fd);
    }
}

/// Waits for a blocked signal that keepers care for.
pub(super) fn next_signal() -> c_int {
    let mut set = empty_set();
    for signal in FORWARDED
        .into_iter()
        .chain([libc::SIGCHLD, KILL_TREE.as_raw()])
    {
        // SAFETY: the set was initialised.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    loop {
        // SAFETY: the set was initialised; no information is asked for.
        let signal = unsafe { libc::sigwaitinfo(&raw const set, ptr::null_mut()) };
        if signal > 0 {
            return signal;
        }
    }
}

pub(super) fn reap(pid: pid_t) -> Reaped {
    let mut status = 0;
    // SAFETY: the status is valid for writing.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } {
        0 => Reaped::Nothing,
        child @ 1.. => Reaped::Child(child, status),
        _ => Reaped::NoChildren,
    }
}

/// Waits until a child has ended.
pub(super) fn wait_for(pid: pid_t) {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
}

/// Waits until the other end of a pipe is closed.
pub(super) fn wait_for_end(fd: c_int) {
    let mut byte = 0_u8;
    // SAFETY: one byte is valid for writing.
    unsafe { libc::read(fd, (&raw mut byte).cast::<c_void>(), 1) };
}

/// Tells if a child was stopped since this was last asked. Leaves alone how it ended.
pub(super) fn has_stopped(pid: pid_t) -> bool {
    // SAFETY: all zeros is a valid value, and is what it stays if there is nothing to tell.
    unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WSTOPPED | libc::WNOHANG;
        let asked = libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut found, how);
        asked == 0 && found.si_pid() == pid
    }
}

pub(super) fn report(fd: c_int, kind: c_int, value: c_int) {
    let message = [kind, value];
    // SAFETY: eight initialised bytes. The pipe is empty, so the write is whole and does not block.
    unsafe { libc::write(fd, message.as_ptr().cast(), 8) };
}

/// Kills children, and the orphans that come to us as their parents die, until there is none.
///
/// Children and not a process group: every tool of an agent runs in a session of its own.
pub(super) fn kill_and_reap_all() {
    loop {
        if kill_children().is_err() {
            return;
        }
        loop {
            match reap(-1) {
                Reaped::Child(..) => {}
                Reaped::NoChildren => return,
                Reaped::Nothing => break,
            }
        }
        pause_for_a_child();
    }
}

/// Waits for the next death, yet not long: an orphan may have come after the list was read.
fn pause_for_a_child() {
    let mut set = empty_set();
    let limit = libc::timespec {
        tv_sec: 0,
        tv_nsec: 2_000_000,
    };
    // SAFETY: set and limit are initialised; no information is asked for.
    unsafe {
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const limit);
    }
}

fn kill_children() -> Result<(), CallFailed> {
    // SAFETY: a constant path; the buffer is written up to its length only.
    unsafe {
        let fd = libc::open(
            c"/proc/thread-self/children".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        check(fd)?;
        let mut buffer = [0_u8; 4096];
        let mut pid: pid_t = 0;
        loop {
            let got = libc::read(fd, buffer.as_mut_ptr().cast::<c_void>(), buffer.len());
            let Ok(got) = usize::try_from(got) else { break };
            if got == 0 {
                break;
            }
            for &byte in buffer.iter().take(got) {
                if byte.is_ascii_digit() {
                    pid = pid.wrapping_mul(10).wrapping_add(pid_t::from(byte - b'0'));
                } else if pid > 0 {
                    kill(pid, libc::SIGKILL);
                    pid = 0;
                }
            }
        }
        libc::close(fd);
    }
    Ok(())
}

/// Maps the user and the group to themselves in the new user namespace.
pub(super) fn map_own_user(inside: (u32, u32), outside: (u32, u32)) -> Result<(), CallFailed> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    let mut line = [0; 32];
    let length = map_line(&mut line, inside.0, outside.0);
    write_file(c"/proc/self/uid_map", &line[..length])?;
    let length = map_line(&mut line, inside.1, outside.1);
    write_file(c"/proc/self/gid_map", &line[..length])
}

/// Writes `inside outside 1`, without an allocation.
fn map_line(line: &mut [u8; 32], inside: u32, outside: u32) -> usize {
    let mut length = 0;
    for id in [inside, outside] {
        let mut digits = [0; 10];
        let mut rest = id;
        let mut count = 0;
        while count == 0 || rest > 0 {
            digits[count] = b'0' + (rest % 10) as u8;
            rest /= 10;
            count += 1;
        }
        for digit in digits[..count].iter().rev() {
            line[length] = *digit;
            length += 1;
        }
        line[length] = b' ';
        length += 1;
    }
    line[length] = b'1';
    length + 1
}

fn write_file(path: &std::ffi::CStr, bytes: &[u8]) -> Result<(), CallFailed> {
    // SAFETY: path and bytes are valid for their lengths.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(fd)?;
        let wrote = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        if wrote < 0 {
            // Before close, which may change errno.
            return Err(CallFailed);
        }
        libc::close(fd);
    }
    Ok(())
}

/// Shows the tree its own processes only. Best effort.
pub(super) fn mount_own_proc() {
    // Mounts of the outside still come in and are let go of, none goes out. Only if that worked may
    // anything be mounted: else it would show outside.
    if set_propagation(libc::MS_SLAVE).is_ok() {
        let _ = mount_proc();
    }
}

/// Says how mounts go from and to the outside, for all there are.
pub(super) fn set_propagation(kind: libc::c_ulong) -> Result<(), CallFailed> {
    // SAFETY: a constant string; the others are not read.
    check(unsafe {
        libc::mount(
            ptr::null(),
            c"/".as_ptr(),
            ptr::null(),
            libc::MS_REC | kind,
            ptr::null(),
        )
    })
}

pub(super) fn mount_proc() -> Result<(), CallFailed> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: constant strings.
    check(unsafe {
        libc::mount(
            c"proc".as_ptr(),
            c"/proc".as_ptr(),
            c"proc".as_ptr(),
            flags,
            ptr::null(),
        )
    })
}

pub(super) fn change_folder(path: &std::ffi::CStr) -> Result<(), CallFailed> {
    // SAFETY: the string is valid.
    check(unsafe { libc::chdir(path.as_ptr()) })
}

/// Brings up the loopback interface of a new network namespace. Best effort: without it nothing is reached.
pub(super) fn raise_loopback() {
    // SAFETY: the request is initialised, and the descriptor is ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as c_char;
        request.ifr_name[1] = b'o' as c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(socket);
    }
}

/// Listens at an address, and gives the listener away. This process keeps nothing of it.
pub(super) fn open_door(address: &libc::sockaddr_in, to: c_int) -> Result<(), CallFailed> {
    #[repr(C, align(8))]
    struct Control {
        header: libc::cmsghdr,
        fd: c_int,
    }
    // SAFETY: all structures are initialised and of the sizes that are given; the descriptor is ours.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let listener = libc::socket(libc::AF_INET, kind, 0);
        check(listener)?;
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        check(libc::bind(listener, ptr::from_ref(address).cast(), length))?;
        check(libc::listen(listener, 128))?;
        let mut byte = [0_u8; 1];
        let mut part = libc::iovec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: 1,
        };
        let mut control: Control = std::mem::zeroed();
        control.header.cmsg_level = libc::SOL_SOCKET;
        control.header.cmsg_type = libc::SCM_RIGHTS;
        control.header.cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
        control.fd = listener;
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
        check(libc::sendmsg(to, &raw const message, libc::MSG_NOSIGNAL) as c_int)?;
        libc::close(listener);
    }
    Ok(())
}

/// Sets the name of this process among those of the machine.
/// Lowers the size of file that the process can write. It may raise the limit again, which who watches it sees.
pub(super) fn limit_files(most: u64) -> Result<(), CallFailed> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is valid for writing, and for reading.
    unsafe {
        check(libc::getrlimit64(libc::RLIMIT_FSIZE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_cur.min(most);
        check(libc::setrlimit64(libc::RLIMIT_FSIZE, &raw const limit))
    }
}

pub(super) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the string is valid.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Keeps ralph's environment, of which a keeper is a copy, from the tree: the program is the same
/// user, and could read `/proc/1/environ`.
pub(super) fn hide() {
    unsafe extern "C" {
        static environ: *const *mut c_char;
    }
    // SAFETY: a keeper is a single thread in memory of its own and never reads the environment; the
    // list ends with a null pointer, each string with a zero.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let mut at = *entry;
            while *at != 0 {
                *at = 0;
                at = at.add(1);
            }
            entry = entry.add(1);
        }
    }
}

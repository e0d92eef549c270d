/* What user code may ask of the kernel (SBX-04), on both engines. Everything else is EPERM. Groups say why they are in;
   what is left out, and why:
     namespaces and mounts      unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen … mount_setattr
     other processes' memory    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
     kernel attack surface      bpf perf_event_open userfaultfd io_uring_* keyctl add_key request_key
     the machine                reboot kexec_* init_module … settimeofday clock_settime swapon acct syslog quotactl
     hardware                   iopl ioperm modify_ldt
     machine-wide slots         io_setup io_submit … (ENOSYS, so that libraries do without)
     reaching files by handle   open_by_handle_at name_to_handle_at
     watching whole mounts      fanotify_init fanotify_mark lookup_dcookie
   Checked by argument in seccomp.c, so not in the list: clone clone3 io_setup socket socketpair ioctl personality. */
#ifndef CAISSON_SYSCALLS_H
#define CAISSON_SYSCALLS_H

/* Calls that exist on x86 only stand behind this. */
#if defined(__x86_64__)
#define X86_CALLS                                                                                                      \
  SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_pipe, SYS_select, SYS_dup2, SYS_pause, SYS_alarm, SYS_fork,           \
      SYS_vfork, SYS_getdents, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_creat, SYS_link, SYS_unlink, SYS_symlink,         \
      SYS_readlink, SYS_chmod, SYS_chown, SYS_lchown, SYS_getpgrp, SYS_utime, SYS_utimes, SYS_futimesat, SYS_time,     \
      SYS_epoll_create, SYS_epoll_wait, SYS_epoll_wait_old, SYS_epoll_ctl_old, SYS_inotify_init, SYS_signalfd,         \
      SYS_eventfd, SYS_poll, SYS_arch_prctl, SYS_mknod,
#else
#define X86_CALLS
#endif

/* Newer than the C library's headers on some hosts. */
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif

#define ALLOWED_CALLS                                                                                                  \
  {                                                                                                                    \
    X86_CALLS                                                                                                          \
    /* files and folders */                                                                                            \
    SYS_openat, SYS_openat2, SYS_close, SYS_close_range, SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64,      \
        SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_fstat, SYS_newfstatat,        \
        SYS_statx, SYS_statfs, SYS_fstatfs, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_mkdirat,            \
        SYS_mknodat, /* FIFOs and sockets; device nodes need a capability nobody has */                                \
        SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_faccessat,           \
        SYS_faccessat2, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_truncate,               \
        SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_readahead, SYS_sync, SYS_syncfs, SYS_fsync, SYS_fdatasync,    \
        SYS_sync_file_range, SYS_flock, SYS_fcntl, SYS_umask, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_tee,  \
        SYS_vmsplice, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,       \
        SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,               \
        SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_memfd_create,                              \
    /* descriptors and waiting */                                                                                      \
        SYS_dup, SYS_dup3, SYS_pipe2, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,      \
        SYS_epoll_pwait2, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,   \
    /* memory */                                                                                                       \
        SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock,       \
        SYS_mlock2, SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_membarrier, SYS_pkey_alloc, SYS_pkey_free,          \
        SYS_pkey_mprotect, SYS_get_mempolicy, SYS_mbind, SYS_set_mempolicy, SYS_remap_file_pages,                      \
    /* processes and threads */                                                                                        \
        SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_kill, SYS_tkill, SYS_tgkill,    \
        SYS_pidfd_open, SYS_pidfd_send_signal, SYS_getpid, SYS_getppid, SYS_gettid, SYS_setpgid, SYS_getpgid,          \
        SYS_setsid, SYS_getsid, SYS_getpriority, SYS_setpriority, SYS_sched_yield, SYS_sched_getaffinity,              \
        SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_setparam, SYS_sched_getscheduler,                         \
        SYS_sched_setscheduler, SYS_sched_getattr, SYS_sched_setattr, SYS_sched_get_priority_max,                      \
        SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_ioprio_get, SYS_ioprio_set, SYS_prctl,              \
        SYS_set_tid_address, SYS_set_robust_list, SYS_get_robust_list, SYS_futex, SYS_rseq, SYS_restart_syscall,       \
        SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_getrusage, SYS_times, SYS_getcpu,                             \
        SYS_seccomp, /* a filter on top of this one only narrows: browsers need it */                                  \
    /* signals */                                                                                                      \
        SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait,                \
        SYS_rt_sigsuspend, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack,                                \
    /* identity: reading it, and changes that can only go from one's own id to one's own id */                         \
        SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_setuid,     \
        SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,              \
        SYS_setgroups, SYS_capget, SYS_capset,                                                                         \
    /* time and the system's face */                                                                                   \
        SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_getitimer,      \
        SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun,                   \
        SYS_timer_delete, SYS_uname, SYS_sysinfo, SYS_getrandom,                                                       \
    /* sockets: socket() itself is checked by family and type */                                                       \
        SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_shutdown, SYS_getsockname, SYS_getpeername,    \
        SYS_getsockopt, SYS_setsockopt, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg,              \
        SYS_recvmmsg,                                                                                                  \
    /* inter-process communication, in a namespace of its own */                                                       \
        SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_msgget,   \
        SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive,         \
        SYS_mq_notify, SYS_mq_getsetattr,                                                                              \
  }

/* Of AF_INET and AF_INET6: the default of a type, TCP, UDP, and ICMP (1, 58) for ping. Not MPTCP (262), UDP-Lite (136), SCTP,
   DCCP, L2TP: programs that ask for MPTCP go on with TCP. */
#define ALLOWED_PROTOCOLS                                                                                              \
  { 0, 6, 17, 1, 58 }

/* TIOCSTI types into the terminal of whoever started us, TIOCLINUX pastes there, TIOCSETD loads line disciplines. */
#define REFUSED_IOCTLS                                                                                                 \
  { 0x5412, 0x541c, 0x5423 }

/* PER_LINUX, PER_LINUX32, each with and without UNAME26, and the query; as Docker's profile has it. */
#define ALLOWED_PERSONALITIES                                                                                          \
  { 0x0, 0x0008, 0x20000, 0x20008, 0xffffffff }

#endif

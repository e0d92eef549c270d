/* System calls that reach the machine or the kernel's deeper parts. None of them harms the machine where it succeeds. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

static void judge(const char *what, long result) {
  if (result >= 0) gained("%s (%ld)", what, result);
  else missed("%s", what);
}

static int load_bpf(int count, char **words) {
  (void)count, (void)words;
  uint32_t map[32] = {2 /* array */, 4, 4, 1};
  judge("a bpf map", syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, map, sizeof map));
  uint64_t code[2] = {0xb7 /* r0 = 0 */, 0x95 /* exit */};
  struct {
    uint32_t type, length;
    uint64_t code, license;
    uint32_t rest[24];
  } program = {1 /* socket filter */, 2, (uintptr_t)code, (uintptr_t) "GPL", {0}};
  judge("a bpf program", syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, &program, sizeof program));
  return 0;
}

static int open_perf_event(int count, char **words) {
  (void)count, (void)words;
  uint32_t event[32] = {1 /* software */, sizeof event, 0 /* cpu clock */};
  judge("a perf event of itself", syscall(SYS_perf_event_open, event, 0, -1, -1, 0));
  judge("a perf event of the machine", syscall(SYS_perf_event_open, event, -1, 0, -1, 0));
  return 0;
}

static int open_userfault(int count, char **words) {
  (void)count, (void)words;
  judge("a userfault descriptor", syscall(SYS_userfaultfd, O_CLOEXEC));
  judge("a user-mode userfault descriptor", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
  int fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  judge("/dev/userfaultfd", fd);
  return 0;
}

static int open_ring(int count, char **words) {
  (void)count, (void)words;
  uint32_t parameters[32] = {0};
  judge("an io_uring", syscall(SYS_io_uring_setup, 4, parameters));
  return 0;
}

static int load_kernel(int count, char **words) {
  (void)count, (void)words;
  judge("kexec_load of nothing", syscall(SYS_kexec_load, 0, 0, NULL, 0));
#ifdef SYS_kexec_file_load
  judge("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 4 /* no initramfs */));
#endif
  return 0;
}

/* A kernel that reads the image has let us in, whatever it thinks of the image. */
static int load_module(int count, char **words) {
  (void)count, (void)words;
  char image[128] = "\177ELF";
  long result = syscall(SYS_init_module, image, sizeof image, "");
  judge("init_module", result < 0 && errno == ENOEXEC ? 0 : result);
  int fd = memfd_create("module", 0);
  if (fd < 0 || write(fd, image, sizeof image) < 0) missed("a file for the module");
  result = syscall(SYS_finit_module, fd, "", 0);
  judge("finit_module", result < 0 && errno == ENOEXEC ? 0 : result);
  judge("delete_module", syscall(SYS_delete_module, "caisson-none", O_NONBLOCK));
  return 0;
}

/* Never in the namespace that owns the machine: there the call is not made at all. */
static int reboot_machine(int count, char **words) {
  (void)count, (void)words;
  if (on_the_machine()) return gained("the machine's own pid namespace"), 0;
  say("calling reboot");
  judge("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0x1234567, NULL));
  return 0;
}

/* To what it is now, so that success changes nothing. */
static int set_clock(int count, char **words) {
  (void)count, (void)words;
  struct timespec now;
  struct timeval seconds;
  clock_gettime(CLOCK_REALTIME, &now);
  judge("clock_settime", clock_settime(CLOCK_REALTIME, &now));
  gettimeofday(&seconds, NULL);
  judge("settimeofday", settimeofday(&seconds, NULL));
  struct timex look = {.modes = 0};
  adjtimex(&look);
  struct timex same = {.modes = ADJ_TICK, .tick = look.tick};
  judge("adjtimex", look.tick ? adjtimex(&same) : -1);
  return 0;
}

static int swap_on(int count, char **words) {
  (void)count, (void)words;
  static char page[4096];
  char text[4096] = "";
  unlink("swap-file");
  int fd = open("swap-file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  for (int i = 0; fd >= 0 && i < 256; i++)
    if (write(fd, page, sizeof page) < 0) missed("writing the swap file");
  ((uint32_t *)(page + 1024))[0] = 1;
  ((uint32_t *)(page + 1024))[1] = 255;
  memcpy(page + sizeof page - 10, "SWAPSPACE2", 10);
  if (fd < 0 || pwrite(fd, page, sizeof page, 0) < 0 || fsync(fd) < 0) missed("the swap file's head");
  int result = swapon("swap-file", 0);
  int list = open("/proc/swaps", O_RDONLY);
  if (list >= 0 && read(list, text, sizeof text - 1) > 0 && strstr(text, "swap-file")) gained("swap space");
  else missed("swapon");
  if (result == 0) swapoff("swap-file");
  return unlink("swap-file");
}

static int reach_hardware(int count, char **words) {
  (void)count, (void)words;
#if defined(__x86_64__)
  judge("iopl", syscall(SYS_iopl, 3));
  judge("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
#endif
  for (int i = 0; i < 3; i++) {
    static const char *const paths[] = {"/dev/port", "/dev/mem", "/dev/kmem"};
    judge(paths[i], open(paths[i], O_RDWR | O_CLOEXEC));
  }
  return 0;
}

static int account(int count, char **words) {
  (void)count, (void)words;
  int fd = open("account", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  int result = acct("account");
  judge("process accounting", result);
  if (result == 0) acct(NULL);
  if (fd >= 0) close(fd);
  judge("fanotify_init", syscall(SYS_fanotify_init, 0, O_RDONLY));
  return unlink("account");
}

/* read-kernel-log: prints the newest of it. */
static int read_kernel_log(int count, char **words) {
  static char text[1 << 20];
  (void)count, (void)words;
  long size = syscall(SYS_syslog, 3, text, sizeof text - 1);
  if (size < 0) missed("syslog");
  else fwrite(text, 1, (size_t)size, stdout);
  show("/dev/kmsg");
  show("/proc/kmsg");
  return 0;
}

/* read-key SERIAL */
static int read_key(int count, char **words) {
  char text[4096] = "";
  long serial = count > 1 ? number(words[1]) : 0;
  long size = syscall(SYS_keyctl, 11 /* READ */, serial, text, sizeof text - 1, 0);
  if (size < 0) missed("reading key %ld", serial);
  else say("%.*s", (int)size, text);
  judge("a key of its own", syscall(SYS_add_key, "user", "caisson-probe", "x", 1, -2 /* the process's keyring */));
  return 0;
}

/* hold-key SECRET: in the user's keyring, readable by everybody, until standard input ends. */
static int hold_key(int count, char **words) {
  char byte;
  if (count < 2) return 64;
  long serial = syscall(SYS_add_key, "user", "caisson-canary", words[1], strlen(words[1]), -4);
  if (serial < 0 || syscall(SYS_keyctl, 5 /* SETPERM */, serial, 0x3f3f3f3f) < 0) return missed("holding a key"), 1;
  say("ready %ld", serial);
  while (read(0, &byte, 1) > 0) {
  }
  return (int)syscall(SYS_keyctl, 9 /* UNLINK */, serial, -4);
}

#if defined(__x86_64__)
static long call_as_i386(long number, long first) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first) : "memory", "r8", "r9", "r10", "r11");
  return result;
}
#endif

/* call-by-other-tables: unshare by the i386 and the x32 number, which a careless filter does not know. */
static int call_by_other_tables(int count, char **words) {
  (void)count, (void)words;
#if defined(__x86_64__)
  char before[64] = "", after[64] = "";
  if (readlink("/proc/self/ns/uts", before, sizeof before - 1) < 0) missed("the uts namespace's name");
  syscall(0x40000000 | SYS_unshare, CLONE_NEWUTS);
  call_as_i386(310, CLONE_NEWUTS);
  call_as_i386(310, CLONE_NEWUSER | CLONE_NEWUTS);
  if (readlink("/proc/self/ns/uts", after, sizeof after - 1) < 0) missed("the uts namespace's new name");
  if (strcmp(before, after)) gained("a namespace: %s became %s", before, after);
#else
  say("this machine has one table");
#endif
  return 0;
}

/* pretend NUMBER... -- COMMAND...: the command, under a filter that answers these calls with success and makes none of
   them: for what this kernel lacks or what no machine should do in a test. */
static int pretend(int count, char **words) {
  struct sock_filter code[128] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)}};
  unsigned short length = 1;
  int i = 1;
  for (; i < count && strcmp(words[i], "--") && length < 120; i++) {
    code[length++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)number(words[i])};
    code[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 0};
  }
  code[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  struct sock_fprog filter = {length, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
    return missed("the filter"), 1;
  return dispatch(count - i - 1, words + i + 1);
}

const struct command call_commands[] = {
    {"load-bpf", load_bpf},
    {"open-perf-event", open_perf_event},
    {"open-userfault", open_userfault},
    {"open-ring", open_ring},
    {"load-kernel", load_kernel},
    {"load-module", load_module},
    {"reboot", reboot_machine},
    {"set-clock", set_clock},
    {"swap-on", swap_on},
    {"reach-hardware", reach_hardware},
    {"account", account},
    {"read-kernel-log", read_kernel_log},
    {"read-key", read_key},
    {"hold-key", hold_key},
    {"call-by-other-tables", call_by_other_tables},
    {"pretend", pretend},
    {NULL, NULL},
};

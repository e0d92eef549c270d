#define _GNU_SOURCE
#include "guest.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "syscalls.h"

/* SBX-04: the guest and every process of user code run under this filter, on both engines. The allowlist is data (syscalls.h); it
   becomes a binary search, since under gVisor the sentry interprets the filter on each call. */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture"
#endif

enum { PROGRAM_MAX = 4096, NEW_NAMESPACES = 0x7e020080 /* every CLONE_NEW* flag, CLONE_NEWTIME included */ };
static struct sock_filter program[PROGRAM_MAX];
static unsigned short length;

static void emit(uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
  if (length == PROGRAM_MAX) die("seccomp program");
  program[length++] = (struct sock_filter){code, yes, no, k};
}
static void load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void answer(uint32_t action) { emit(BPF_RET | BPF_K, action, 0, 0); }
static void deny(int error) { answer(SECCOMP_RET_ERRNO | (uint32_t)error); }
static size_t low_word(int argument) { return offsetof(struct seccomp_data, args) + 8 * (size_t)argument; }

static int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

/* Binary search over allowed[from, to): a leaf of up to four compares, then refusal. */
static void emit_search(const long *allowed, size_t from, size_t to) {
  if (to - from <= 4) {
    for (size_t i = from; i < to; i++) {
      emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
      answer(SECCOMP_RET_ALLOW);
    }
    return deny(EPERM);
  }
  size_t middle = (from + to) / 2;
  emit(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)allowed[middle], 1, 0);
  unsigned short jump = length;
  emit(BPF_JMP | BPF_JA, 0, 0, 0); /* taken below the middle; patched once the upper half is laid out */
  emit_search(allowed, middle, to);
  program[jump].k = (uint32_t)(length - jump - 1);
  emit_search(allowed, from, middle);
}

/* What stands between begin_call and end_call is for one call only, and must decide it. */
static unsigned short begin_call(long number) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 1, 0);
  emit(BPF_JMP | BPF_JA, 0, 0, 0);
  return (unsigned short)(length - 1);
}
static void end_call(unsigned short start) { program[start].k = (uint32_t)(length - start - 1); }

static void deny_if_any(size_t word, uint32_t bits, int error) {
  load(word);
  emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  deny(error);
}

static void check_clone(void) {
  unsigned short start = begin_call(SYS_clone);
  deny_if_any(low_word(0), NEW_NAMESPACES, EPERM);
  answer(SECCOMP_RET_ALLOW);
  end_call(start);
}

/* Libraries do without what is not there: clone3, whose flags lie in memory, and asynchronous reads and writes, whose
   slots all sandboxes of a machine share. */
static void check_missing(long number) {
  unsigned short start = begin_call(number);
  deny(ENOSYS);
  end_call(start);
}

/* Stream, datagram and seqpacket sockets of four families; never raw, packet, vsock or anything odd. */
static void check_socket(long number) {
  unsigned short start = begin_call(number);
  load(low_word(1));
  emit(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SOCK_RAW, 0, 3);
  load(low_word(0)); /* netlink is spoken over SOCK_RAW too */
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
  deny(EPERM);
  load(low_word(1));
  emit(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  emit(BPF_JMP | BPF_JGT | BPF_K, SOCK_SEQPACKET, 0, 1);
  deny(EPERM);
  load(low_word(0));
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 6, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 5, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 4, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
  deny(EAFNOSUPPORT);
  load(low_word(2));
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0 /* NETLINK_ROUTE */, 0, 1);
  answer(SECCOMP_RET_ALLOW);
  deny(EPERM);
  end_call(start);
}

static void check_ioctl(void) {
  static const uint32_t refused[] = REFUSED_IOCTLS;
  unsigned short start = begin_call(SYS_ioctl);
  load(low_word(1));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
    deny(EPERM);
  }
  answer(SECCOMP_RET_ALLOW);
  end_call(start);
}

static void check_personality(void) {
  static const uint32_t allowed[] = ALLOWED_PERSONALITIES;
  unsigned short start = begin_call(SYS_personality);
  load(low_word(0));
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
    answer(SECCOMP_RET_ALLOW);
  }
  deny(EPERM);
  end_call(start);
}

static void allow(long number) {
  unsigned short start = begin_call(number);
  answer(SECCOMP_RET_ALLOW);
  end_call(start);
}

static void begin_program(void) {
  length = 0;
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
  deny(ENOSYS);
  load(offsetof(struct seccomp_data, nr));
}

/* Put on PID 1 itself before it starts anything: all it ever forks is under the filter, at no cost a run. */
void seccomp_apply(void) {
  static long allowed[] = ALLOWED_CALLS;
  size_t count = sizeof allowed / sizeof *allowed;
  qsort(allowed, count, sizeof *allowed, compare);
  begin_program();
#if defined(__x86_64__)
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* the x32 calls */
  deny(ENOSYS);
#endif
  check_clone();
  check_missing(SYS_clone3);
  check_missing(SYS_io_setup);
  check_socket(SYS_socket);
  check_socket(SYS_socketpair);
  check_ioctl();
  check_personality();
  if (privilege_may_rename()) allow(SYS_sethostname); /* of this process alone: it takes a capability that no other has */
  emit_search(allowed, 0, count);
  struct sock_fprog filter = {length, program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) die("seccomp");
}

/* EXE-13: where policy lets nobody listen, no socket of a program takes an address. One that only sends a datagram is given one
   all the same. The guest itself listens, so each newborn puts this on. */
const struct sock_fprog *seccomp_of_newborns;

static void check_refused(long number) {
  unsigned short start = begin_call(number);
  deny(EACCES);
  end_call(start);
}

void seccomp_refuse_listeners(void) {
  static struct sock_fprog filter;
  begin_program();
  check_refused(SYS_bind);
  check_refused(SYS_listen);
  answer(SECCOMP_RET_ALLOW);
  filter = (struct sock_fprog){length, program};
  seccomp_of_newborns = &filter;
}

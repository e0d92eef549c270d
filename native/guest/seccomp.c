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

/* SBX-04: the guest and every process of user code run under this filter, on both engines. The allowlist is data (syscalls.h). It
   becomes a binary search over its ranges whose jumps all go to one of a few answers at the end: gVisor works on a longer program,
   of one answer a call, for most of a sandbox's start. */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture"
#endif

enum { PROGRAM_MAX = 1024, NEW_NAMESPACES = 0x7e020080 /* every CLONE_NEW* flag, CLONE_NEWTIME included */ };
static struct sock_filter program[PROGRAM_MAX];
static unsigned short length;

/* Where a jump goes: to the next instruction, over some, or to an answer, which is laid out when the rest is. */
enum { NEXT = 0, ALLOW = 0x1000, REFUSE, MISSING, UNKNOWN_FAMILY, UNKNOWN_PROTOCOL, REFUSE_PORT, ANSWERS_END };
static const uint32_t answers[] = {
    SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO | EPERM,
    SECCOMP_RET_ERRNO | ENOSYS,
    SECCOMP_RET_ERRNO | EAFNOSUPPORT,
    SECCOMP_RET_ERRNO | EPROTONOSUPPORT,
    SECCOMP_RET_ERRNO | EACCES,
};
static uint16_t yes_of[PROGRAM_MAX], no_of[PROGRAM_MAX];

static void emit(uint16_t code, uint32_t k, uint16_t yes, uint16_t no) {
  if (length == PROGRAM_MAX) die("seccomp program");
  yes_of[length] = yes;
  no_of[length] = no;
  program[length++] = (struct sock_filter){code, 0, 0, k};
}
static void load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void if_equal(uint32_t k, uint16_t yes, uint16_t no) { emit(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no); }
static size_t low_word(int argument) { return offsetof(struct seccomp_data, args) + 8 * (size_t)argument; }

static uint8_t distance(uint16_t to, unsigned short from, const unsigned short *places) {
  unsigned far = to < ALLOW ? to : places[to - ALLOW] - from - 1U;
  if (far > UINT8_MAX) die("seccomp jump");
  return (uint8_t)far;
}

static bool is_wanted(uint16_t answer) {
  for (unsigned short i = 0; i < length; i++)
    if (yes_of[i] == answer || no_of[i] == answer) return true;
  return false;
}

static struct sock_fprog finish(void) {
  unsigned short places[ANSWERS_END - ALLOW] = {0}, end = length;
  for (uint16_t answer = ALLOW; answer < ANSWERS_END; answer++) {
    if (!is_wanted(answer)) continue;
    places[answer - ALLOW] = length;
    emit(BPF_RET | BPF_K, answers[answer - ALLOW], 0, 0);
  }
  for (unsigned short i = 0; i < end; i++) {
    program[i].jt = distance(yes_of[i], i, places);
    program[i].jf = distance(no_of[i], i, places);
  }
  return (struct sock_fprog){length, program};
}

static int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

/* Of sorted calls: each first one of a range, and each first one past it. */
static size_t find_bounds(const long *allowed, size_t count, uint32_t *bounds) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || allowed[i] > allowed[i - 1] + 1) bounds[found++] = (uint32_t)allowed[i];
    if (i + 1 == count || allowed[i + 1] > allowed[i] + 1) bounds[found++] = (uint32_t)allowed[i] + 1;
  }
  return found;
}

/* A call past an odd number of bounds is in a range. */
static uint16_t leaf(size_t passed) { return passed % 2 ? ALLOW : REFUSE; }

/* Lays out the search for how many bounds, at least `from` and at most `to`, a call is past. They differ. */
static void emit_search(const uint32_t *bounds, size_t from, size_t to) {
  size_t middle = (from + to + 1) / 2;
  unsigned short node = length;
  emit(BPF_JMP | BPF_JGE | BPF_K, bounds[middle - 1], middle == to ? leaf(to) : NEXT, leaf(from));
  if (middle < to) emit_search(bounds, middle, to);
  if (from == middle - 1) return;
  no_of[node] = (uint16_t)(length - node - 1);
  emit_search(bounds, from, middle - 1);
}

/* What stands between begin_call and end_call is for one call only, and must decide it. */
static unsigned short begin_call(long number) {
  if_equal((uint32_t)number, NEXT, NEXT);
  return (unsigned short)(length - 1);
}
static void end_call(unsigned short start) { no_of[start] = (uint16_t)(length - start - 1); }

static void check_clone(void) {
  unsigned short start = begin_call(SYS_clone);
  load(low_word(0));
  emit(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, REFUSE, ALLOW);
  end_call(start);
}

/* Stream, datagram and seqpacket sockets of four families; never raw, packet, vsock or anything odd. Of the internet's the
   protocols are a list, too: others are code of the kernel that no program needs, and that some kernels load on demand. */
static void check_sockets(void) {
  static const uint32_t protocols[] = ALLOWED_PROTOCOLS;
  size_t count = sizeof protocols / sizeof *protocols;
  if_equal(SYS_socketpair, 1 /* into what follows for both */, NEXT);
  unsigned short start = begin_call(SYS_socket);
  load(low_word(1));
  emit(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  if_equal(SOCK_RAW, NEXT, 2 /* over the two of netlink */);
  load(low_word(0)); /* netlink is spoken over SOCK_RAW too */
  if_equal(AF_NETLINK, 6 /* to its protocol, below */, REFUSE);
  emit(BPF_JMP | BPF_JGT | BPF_K, SOCK_SEQPACKET, REFUSE, NEXT);
  load(low_word(0));
  if_equal(AF_UNIX, ALLOW, NEXT);
  if_equal(AF_INET, 4 /* to the protocols of the internet */, NEXT);
  if_equal(AF_INET6, 3, NEXT);
  if_equal(AF_NETLINK, NEXT, UNKNOWN_FAMILY);
  load(low_word(2));
  if_equal(0 /* NETLINK_ROUTE */, ALLOW, REFUSE);
  load(low_word(2));
  for (size_t i = 0; i < count; i++) if_equal(protocols[i], ALLOW, i + 1 < count ? NEXT : UNKNOWN_PROTOCOL);
  end_call(start);
}

static void check_ioctl(void) {
  static const uint32_t refused[] = REFUSED_IOCTLS;
  size_t count = sizeof refused / sizeof *refused;
  unsigned short start = begin_call(SYS_ioctl);
  load(low_word(1));
  for (size_t i = 0; i < count; i++) if_equal(refused[i], REFUSE, i + 1 < count ? NEXT : ALLOW);
  end_call(start);
}

static void check_personality(void) {
  static const uint32_t allowed[] = ALLOWED_PERSONALITIES;
  size_t count = sizeof allowed / sizeof *allowed;
  unsigned short start = begin_call(SYS_personality);
  load(low_word(0));
  for (size_t i = 0; i < count; i++) if_equal(allowed[i], ALLOW, i + 1 < count ? NEXT : REFUSE);
  end_call(start);
}

static void begin_program(void) {
  length = 0;
  load(offsetof(struct seccomp_data, arch));
  if_equal(NATIVE_ARCH, NEXT, MISSING);
  load(offsetof(struct seccomp_data, nr));
}

/* Put on PID 1 itself before it starts anything: all it ever forks is under the filter, at no cost a run. */
void seccomp_apply(void) {
  static long allowed[] = ALLOWED_CALLS;
  enum { COUNT = sizeof allowed / sizeof *allowed };
  static uint32_t bounds[2 * COUNT];
  qsort(allowed, COUNT, sizeof *allowed, compare);
  begin_program();
#if defined(__x86_64__)
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, MISSING, NEXT); /* the x32 calls */
#endif
  check_clone();
  /* Libraries do without what is not there: clone3, whose flags lie in memory, and asynchronous reads and writes, whose
     slots all sandboxes of a machine share. */
  if_equal(SYS_clone3, MISSING, NEXT);
  if_equal(SYS_io_setup, MISSING, NEXT);
  check_sockets();
  check_ioctl();
  check_personality();
  /* Of this process alone: it takes a capability that no other has. */
  if (privilege_may_rename()) if_equal(SYS_sethostname, ALLOW, NEXT);
  emit_search(bounds, 0, find_bounds(allowed, COUNT, bounds));
  struct sock_fprog filter = finish();
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) die("seccomp");
}

/* EXE-13: where policy lets nobody listen, no socket of a program takes an address. One that only sends a datagram is given one
   all the same. The guest itself listens, so each newborn puts this on. */
const struct sock_fprog *seccomp_of_newborns;

void seccomp_refuse_listeners(void) {
  static struct sock_fprog filter;
  begin_program();
  if_equal(SYS_bind, REFUSE_PORT, NEXT);
  if_equal(SYS_listen, REFUSE_PORT, ALLOW);
  filter = finish();
  seccomp_of_newborns = &filter;
}

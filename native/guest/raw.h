/* System calls without the C library, for a newborn that shares the guest's memory: the library's own would write errno
   and other state of the guest's. A failure is a negative errno. */
#ifndef CAISSON_RAW_H
#define CAISSON_RAW_H

#include <stddef.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Sanitizers keep books of stacks and memory; a newborn is on neither of theirs. */
#define NEWBORN __attribute__((no_sanitize("address", "undefined"), noinline))

#if defined(__x86_64__)

static inline long raw_call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

/* Starts a process at enter(argument) on the stack that ends at top, a multiple of 16. */
static inline long raw_clone(unsigned long flags, void *top, void (*enter)(void *), void *argument) {
  void **stack = (void **)top - 2;
  stack[0] = (void *)enter;
  stack[1] = argument;
  long result;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "pop %%rax\n\t"
                   "pop %%rdi\n\t"
                   "call *%%rax\n\t"
                   "ud2\n"
                   "1:"
                   : "=a"(result)
                   : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(0L), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

static inline long raw_call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

static inline long raw_clone(unsigned long flags, void *top, void (*enter)(void *), void *argument) {
  void **stack = (void **)top - 2;
  stack[0] = (void *)enter;
  stack[1] = argument;
  register long x8 __asm__("x8") = SYS_clone;
  register long x0 __asm__("x0") = (long)flags;
  register long x1 __asm__("x1") = (long)stack;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, 0\n\t"
                   "ldp x1, x0, [sp], 16\n\t"
                   "blr x1\n\t"
                   "brk 1\n"
                   "1:"
                   : "+r"(x0), "+r"(x1)
                   : "r"(x8), "r"(x2), "r"(x3), "r"(x4)
                   : "memory");
  return x0;
}

#else
#error "no system calls for this architecture"
#endif

#define CALL(name, a, b, c, d) raw_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0)

#endif

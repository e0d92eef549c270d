/* What the sanitizers find in the guest is told to the host like every other reason for which a guest ends: the sandbox is
   lost, and the text says where. Part of the sanitized guest alone. */
#define _GNU_SOURCE
#include "../guest/guest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void __sanitizer_set_death_callback(void (*callback)(void));
void __asan_set_error_report_callback(void (*callback)(const char *));
void __ubsan_get_current_report_data(const char **kind, const char **message, const char **file, unsigned *line,
                                     unsigned *column, char **address);

/* No leaks at the end: PID 1 never returns. Little is held back of what was freed: a sandbox's memory is small. */
const char *__asan_default_options(void) {
  return "detect_leaks=0:exitcode=86:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:allocator_may_return_null=1:detect_stack_use_after_return=0";
}
const char *__ubsan_default_options(void) { return "exitcode=86:print_stacktrace=0"; }

static char finding[120] = "sanitizer: the report has no text";

static void keep(const char *text) {
  const char *at = strstr(text, "Sanitizer: ");
  snprintf(finding, sizeof finding, "%s", at ? at : text);
  for (char *c = finding; *c; c++)
    if (*c < ' ') *c = ' ';
}

/* A worker's finding is its exit code: its standard output is the caller's data. */
static void tell(void) {
  if (getpid() != 1) return;
  errno = EFAULT;
  die(finding);
}

void __ubsan_on_report(void) {
  const char *kind, *message, *file;
  unsigned line, column;
  char *address;
  __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
  snprintf(finding, sizeof finding, "Sanitizer: %s at %s:%u", kind, file, line);
  tell(); /* its library has callbacks of its own, and none for the end */
}

/* Mistakes to be found, by signals that do not exist: the tests see that a finding reaches the host. */
void __real_process_signal(struct stream *s, uint32_t mode, int number);
void __wrap_process_signal(struct stream *s, uint32_t mode, int number);
void __wrap_process_signal(struct stream *s, uint32_t mode, int number) {
  enum { TOO_FAR = 9001, TOO_MUCH = 9002 };
  if (number == TOO_FAR) ((volatile char *)s)[sizeof *s] = 1;
  if (number == TOO_MUCH) *(volatile int *)&number += INT_MAX;
  __real_process_signal(s, mode, number);
}

__attribute__((constructor)) static void prepare(void) {
  __asan_set_error_report_callback(keep);
  __sanitizer_set_death_callback(tell);
}

/* One line a reply: `SEQ ok key=value…` or `SEQ err NAME text`. */
#include "helper.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int reply_fd = STDOUT_FILENO;
static const char *reply_seq = "0";
static const char *current_step = "";
static int64_t step_started_us;
static char timings[1024];

void reply_to(int fd, const char *seq) {
  reply_fd = fd;
  reply_seq = seq;
  step_started_us = clock_us();
}

int reply_descriptor(void) { return reply_fd; }

static void end_step(void) {
  int64_t now = clock_us();
  size_t used = strlen(timings);
  if (*current_step != '\0')
    snprintf(timings + used, sizeof timings - used, "%s%s:%lld", used == 0 ? "" : ",", current_step,
             (long long)(now - step_started_us));
  step_started_us = now;
}

void reply_step(const char *step) {
  end_step();
  current_step = step;
}

const char *reply_timings(void) {
  end_step();
  current_step = "";
  return timings;
}

static const struct {
  int error;
  const char *name;
} names[] = {
    {EPERM, "EPERM"},   {ENOENT, "ENOENT"},       {ESRCH, "ESRCH"},     {EIO, "EIO"},           {ENXIO, "ENXIO"},
    {EBADF, "EBADF"},   {EAGAIN, "EAGAIN"},       {ENOMEM, "ENOMEM"},   {EACCES, "EACCES"},     {EBUSY, "EBUSY"},
    {EEXIST, "EEXIST"}, {EXDEV, "EXDEV"},         {ENODEV, "ENODEV"},   {ENOTDIR, "ENOTDIR"},   {EISDIR, "EISDIR"},
    {EINVAL, "EINVAL"}, {ENFILE, "ENFILE"},       {EMFILE, "EMFILE"},   {EFBIG, "EFBIG"},       {ENOSPC, "ENOSPC"},
    {EROFS, "EROFS"},   {EMLINK, "EMLINK"},       {ENOSYS, "ENOSYS"},   {ENOTEMPTY, "ENOTEMPTY"}, {ELOOP, "ELOOP"},
    {E2BIG, "E2BIG"},   {ENAMETOOLONG, "ENAMETOOLONG"}, {ETIMEDOUT, "ETIMEDOUT"}, {EOPNOTSUPP, "EOPNOTSUPP"},
    {EDQUOT, "EDQUOT"}, {ECHILD, "ECHILD"},       {EOVERFLOW, "EOVERFLOW"}, {EBADMSG, "EBADMSG"},
};

const char *error_name(int error) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].error == error) return names[i].name;
  return "EIO";
}

static void send_line(char *line, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)line[i] < ' ') line[i] = ' ';
  line[length] = '\n';
  write_whole(reply_fd, line, length + 1);
}

void reply_format_error(char *line, size_t size, const char *seq, int error, const char *text) {
  snprintf(line, size, "%s err %s %s", seq, error_name(error), text);
}

static NORETURN void fail_text(int error, const char *format, va_list values) {
  char text[REPLY_BYTES_MAX / 2];
  char line[REPLY_BYTES_MAX];
  vsnprintf(text, sizeof text, format, values);
  int length = snprintf(line, sizeof line - 1, "%s err %s %s%s%s: %s", reply_seq, error_name(error), current_step,
                        *current_step == '\0' ? "" : ": ", text, strerror(error));
  send_line(line, (size_t)length);
  _exit(1);
}

void fail(const char *format, ...) {
  int error = errno;
  va_list values;
  va_start(values, format);
  fail_text(error, format, values);
}

void fail_with(int error, const char *format, ...) {
  va_list values;
  va_start(values, format);
  fail_text(error, format, values);
}

void fail_late(const char *text) {
  static char line[REPLY_BYTES_MAX];
  const char *parts[] = {reply_seq, " err ETIMEDOUT ", text, "\n"};
  size_t length = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (const char *at = parts[i]; *at != '\0' && length < sizeof line; at++) line[length++] = *at;
  write_whole(reply_fd, line, length);
  _exit(1);
}

void reply_ok(const char *format, ...) {
  char text[REPLY_BYTES_MAX / 2];
  char line[REPLY_BYTES_MAX];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  int length = snprintf(line, sizeof line - 1, "%s ok %s", reply_seq, text);
  send_line(line, (size_t)length);
  _exit(0);
}

void reply_begun(void) {
  char line[64];
  int length = snprintf(line, sizeof line - 1, "%s ok", reply_seq);
  send_line(line, (size_t)length);
}

#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interpreters that have started before their run comes (EXE-07): a Python that forks runs (warm.py), and a Node that waits
   for its only one (warm.js). Both wait as root of the sandbox, whom user code can neither signal nor trace (hazard 26), with
   two capabilities, setuid and setgid, that PID 1 lets them inherit and that no run keeps. */

extern const char python_text[], node_text[];
__asm__(".section .rodata\n"
        "python_text: .incbin \"native/guest/warm.py\"\n.byte 0\n"
        "node_text: .incbin \"native/guest/warm.js\"\n.byte 0\n"
        ".previous\n");

enum { PYTHON, NODE, KINDS };
enum { REQUEST_BYTES = 128 * 1024, REPLY_BYTES = 128, ENVIRONMENT_BYTES = 4096, VARIABLES_MAX = 64, SETTLE_MS = 2 };
enum { LEAVE_MOST_MS = 2000, MEMORY_BACK_MS = 200 };

struct warm {
  pid_t pid;
  int channel;
  bool ready, answered, useless; /* useless: it ended and had never been ready; it is not tried again */
  struct start *start;
  struct pipes pipes; /* Node's: those of its run to be */
  uint64_t used_ms;
  uint32_t runs;
};

static struct warm warms[KINDS] = {{.channel = -1}, {.channel = -1}};
static char environment_bytes[ENVIRONMENT_BYTES];
static char *environment[VARIABLES_MAX + 1];
static size_t environment_count;
static uint64_t idle_ms;
static uint64_t heard_us; /* when a run was begun last */
static bool cold;
static uint64_t cold_ms, left_ms; /* since when it is so; when the last one went for it */
static bool copies_slowly; /* gVisor, told by the memory limit that is ours to watch there */

/* ---- starting one ---- */

static void put_arguments(struct spec *spec, int kind) {
  const char *const python[] = {"python3", "-c", "exec(__import__('sys').argv.pop(), {'__name__': 'caisson'})",
                                copies_slowly ? "copies-slowly" : "copies-fast", python_text, NULL};
  static const char *const node[] = {"node", "-e", node_text, NULL};
  const char *const *words = kind == PYTHON ? python : node;
  for (spec->argument_count = 0; words[spec->argument_count]; spec->argument_count++)
    spec->arguments[spec->argument_count] = (char *)words[spec->argument_count];
  spec->arguments[spec->argument_count] = NULL;
}

/* Python runs code that it finds in its home as it starts. The user's must not be run by root: it is told of one that is not there. */
static void put_environment(struct spec *spec, int kind) {
  spec->environment_count = 0;
  for (size_t i = 0; i < environment_count; i++)
    if (kind != PYTHON || strncmp(environment[i], "HOME=", 5)) spec->environment[spec->environment_count++] = environment[i];
  if (kind == PYTHON) spec->environment[spec->environment_count++] = "HOME=/.caisson/none";
  if (kind == NODE) spec->environment[spec->environment_count++] = "LD_PRELOAD=/.caisson/standby.so";
  spec->environment[spec->environment_count] = NULL;
}

static void begin(int kind) {
  static struct spec spec;
  struct warm *w = &warms[kind];
  int ends[2] = {-1, -1};
  if (w->pid || w->useless || cold || !environment_count) return;
  put_arguments(&spec, kind);
  put_environment(&spec, kind);
  if (pipes_open(&w->pipes, kind == NODE) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    w->start = start_program(&spec, NULL, 0, pipes_io(&w->pipes, ends[1]), &w->pid);
  }
  if (ends[1] >= 0) close(ends[1]);
  if (!w->start) { /* too many processes or descriptors now: the next run tries again */
    if (ends[0] >= 0) close(ends[0]);
    pipes_close(&w->pipes);
    return;
  }
  pipes_close_far(&w->pipes);
  if (kind == PYTHON) pipes_close(&w->pipes);
  w->channel = ends[0];
  w->ready = w->answered = false;
  w->runs = 0;
  w->used_ms = now_ms();
  fcntl(w->channel, F_SETFL, O_NONBLOCK);
  poll_add(w->channel, EPOLLIN, POLL_WARM, (uint32_t)kind);
  children_left = true;
}

static void hang_up(struct warm *w) {
  if (w->channel >= 0) poll_close(w->channel);
  w->channel = -1;
  w->ready = false;
}

/* What every run of this sandbox finds in its environment; the interpreters get it, and nothing of a run's own. */
void warm_configure(const struct spec *spec) {
  size_t used = 0;
  environment_count = 0;
  for (size_t i = 0; i < spec->environment_count && i < VARIABLES_MAX; i++) {
    size_t size = strlen(spec->environment[i]) + 1;
    if (size > ENVIRONMENT_BYTES - used) break;
    environment[environment_count++] = memcpy(environment_bytes + used, spec->environment[i], size);
    used += size;
  }
  idle_ms = spec->timeout_ms;
  copies_slowly = spec->flags & FLAG_WATCH_MEMORY;
  bool was_cold = cold;
  cold = spec->flags & FLAG_COLD;
  if (cold && !was_cold) cold_ms = now_ms();
  if (spec->flags & FLAG_WARM_PYTHON) begin(PYTHON);
  if (spec->flags & FLAG_WARM_NODE) begin(NODE);
}

/* This is a copy of a sandbox: its Node has drawn what the original's has. Python loads nothing that draws before its run. */
void warm_renew(void) {
  hang_up(&warms[NODE]);
  warms[NODE].answered = true; /* that it was not ready yet says nothing of the next one */
}

/* ---- handing a run over ---- */

static bool put_word(char *request, size_t *used, const char *word) {
  size_t size = strlen(word) + 1;
  if (size > REQUEST_BYTES - *used) return false;
  memcpy(request + *used, word, size);
  *used += size;
  return true;
}

/* Numbers, folder, code, arguments after it, variables; each ends with a NUL but the last. 0 where it does not fit. */
static size_t put_request(char *request, const struct stream *s, const struct spec *spec) {
  char numbers[128];
  size_t used = 0, after = spec->argument_count - 3;
  snprintf(numbers, sizeof numbers, "%u %u %llu %llu %llu %zu", s->id, RUN_GROUP + s->slot,
           (unsigned long long)(spec->cpu_ms + 999) / 1000, (unsigned long long)spec->processes,
           (unsigned long long)spec->open_files, after);
  bool fits = put_word(request, &used, numbers) && put_word(request, &used, spec->folder ? spec->folder : "/");
  for (size_t i = 2; fits && i < spec->argument_count; i++) fits = put_word(request, &used, spec->arguments[i]);
  for (size_t i = 0; fits && i < spec->environment_count; i++) fits = put_word(request, &used, spec->environment[i]);
  return fits ? used - 1 : 0;
}

static bool send_request(const struct warm *w, const char *request, size_t size, const struct pipes *pipes) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(3 * sizeof(int))];
  } control = {.bytes = {0}};
  struct iovec part = {(void *)request, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (pipes) {
    struct start_io io = pipes_io(pipes, -1);
    int descriptors[3] = {io.in, io.out, io.err};
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof descriptors);
    memcpy(CMSG_DATA(&control.header), descriptors, sizeof descriptors);
  }
  return sendmsg(w->channel, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool hand_to_python(struct stream *s, struct warm *w, const char *request, size_t size, struct pipes *pipes, bool input) {
  if (!pipes_open(pipes, input) || !send_request(w, request, size, pipes)) {
    pipes_close(pipes);
    return false;
  }
  pipes_close_far(pipes);
  s->pid = 0; /* told in an answer */
  w->runs++;
  return true;
}

static bool hand_to_node(struct stream *s, struct warm *w, const struct spec *spec, const char *request, size_t size,
                         struct pipes *pipes) {
  if (!start_limit(w->pid, spec) || !send_request(w, request, size, NULL)) {
    hang_up(w);
    return false;
  }
  *pipes = w->pipes;
  if (!(spec->flags & FLAG_STDIN)) {
    close(pipes->in[1]);
    pipes->in[1] = -1;
  }
  s->pid = w->pid;
  s->warm_channel = w->channel;
  poll_change(s->warm_channel, EPOLLIN, POLL_WARM, KINDS + s->slot);
  *w = (struct warm){.channel = -1};
  return true;
}

static void settle(struct warm *w, bool reaped) {
  if (w->start && start_outcome(w->start, reaped) >= 0) w->start = NULL;
}

/* Gives the run to an interpreter that waits; false where none does, and the run starts plainly. */
bool warm_start(struct stream *s, const struct spec *spec, struct pipes *pipes) {
  static char request[REQUEST_BYTES];
  if (!(spec->flags & (FLAG_WARM_PYTHON | FLAG_WARM_NODE)) || spec->argument_count < 3) return false;
  int kind = spec->flags & FLAG_WARM_PYTHON ? PYTHON : NODE;
  struct warm *w = &warms[kind];
  w->used_ms = now_ms();
  if (!w->pid) begin(kind);
  if (!w->ready || cold) return false;
  settle(w, false);
  size_t size = put_request(request, s, spec);
  if (!size) return false;
  bool given = kind == PYTHON ? hand_to_python(s, w, request, size, pipes, spec->flags & FLAG_STDIN)
                              : hand_to_node(s, w, spec, request, size, pipes);
  if (given) s->warm = (uint8_t)(kind + 1);
  return given;
}

/* ---- what they say ---- */

static void told_started(struct stream *s, pid_t pid) {
  heard_us = clock_run_us();
  s->pid = pid;
  run_has_pid(s);
}

static void told_ended(struct stream *s, int status, unsigned long long cpu_us, long rss_kib) {
  struct rusage use = {.ru_maxrss = rss_kib};
  use.ru_utime.tv_sec = (time_t)(cpu_us / 1000000);
  use.ru_utime.tv_usec = (suseconds_t)(cpu_us % 1000000);
  if (s->reaped) return;
  s->reaped = true;
  run_account(s, &use);
  run_main_ended(s, status);
}

static void take_reply(struct warm *w, const char *reply) {
  unsigned id;
  int number;
  unsigned long long cpu_us;
  long rss_kib;
  if (reply[0] == 'R' && w) {
    w->ready = w->answered = true;
    w->used_ms = now_ms();
    return;
  }
  struct stream *s = sscanf(reply + 1, "%u", &id) == 1 ? stream_find(id) : NULL;
  if (!s || !s->run || !s->warm) return;
  if (reply[0] == 'S' && sscanf(reply, "S%u %d", &id, &number) == 2) told_started(s, number);
  else if (reply[0] == 'F' && sscanf(reply, "F%u %d", &id, &number) == 2) run_not_started(s, number);
  else if (reply[0] == 'E' && sscanf(reply, "E%u %d %llu %ld", &id, &number, &cpu_us, &rss_kib) == 4)
    told_ended(s, number, cpu_us, rss_kib);
}

/* False once the other end has gone. */
static bool take_replies(int channel, struct warm *w) {
  char reply[REPLY_BYTES];
  ssize_t size;
  while ((size = recv(channel, reply, sizeof reply - 1, MSG_DONTWAIT)) > 0) {
    reply[size] = 0;
    take_reply(w, reply);
  }
  return size < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The parent has ended, and its children are PID 1's: a run's process that is not was reaped, and nobody told of it. */
static bool is_lost(const struct stream *s) {
  siginfo_t info;
  if (!s || !s->run || s->warm != PYTHON + 1 || s->reaped) return false;
  return s->pid == 0 || waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

/* Runs that were given away and not begun end as if killed: whoever was to begin them was. */
static void end_lost(void) {
  for (uint32_t i = 0; i < streams_end; i++)
    if (is_lost(streams[i])) told_ended(streams[i], SIGKILL, 0, 0);
}

/* Whether a run that is to end still waits to be begun. A parent that has begun none for so long is ended, and its runs with it. */
bool warm_awaits(const struct stream *s, uint64_t patience_us) {
  if (s->warm != PYTHON + 1 || s->pid != 0 || s->reaped || !warms[PYTHON].pid) return false;
  if (clock_run_us() - heard_us > patience_us) kill(warms[PYTHON].pid, SIGKILL);
  return true;
}

void warm_event(uint32_t which) {
  if (which >= KINDS) {
    struct stream *s = which - KINDS < STREAMS_MAX ? streams[which - KINDS] : NULL;
    if (s && s->warm_channel >= 0 && !take_replies(s->warm_channel, NULL)) {
      poll_close(s->warm_channel);
      s->warm_channel = -1;
    }
    return;
  }
  struct warm *w = &warms[which];
  if (w->channel >= 0 && !take_replies(w->channel, w)) hang_up(w);
}

/* ---- their ends ---- */

/* Whether the process that was reaped is one of these. */
bool warm_ended(pid_t pid) {
  for (int kind = 0; kind < KINDS; kind++) {
    struct warm *w = &warms[kind];
    if (w->pid != pid) continue;
    /* From here on no child of it can say that it begins a run, and so none does. */
    if (w->channel >= 0) {
      shutdown(w->channel, SHUT_RDWR);
      take_replies(w->channel, w);
    }
    settle(w, true);
    bool useless = !w->answered && !cold;
    if (cold) left_ms = now_ms();
    hang_up(w);
    if (kind == NODE) pipes_close(&w->pipes);
    if (kind == PYTHON) end_lost();
    *w = (struct warm){.channel = -1, .useless = useless};
    return true;
  }
  return false;
}

/* A run has ended with its whole tree: the next Node waits from now on. */
void warm_run_ended(struct stream *s) {
  if (s->warm == PYTHON + 1 && warms[PYTHON].runs > 0) warms[PYTHON].runs--;
  if (s->warm == NODE + 1) begin(NODE);
}

static uint64_t due_ms(const struct warm *w) {
  if (w->start) return 0;
  if (w->channel < 0 || !w->ready || w->runs > 0) return UINT64_MAX;
  return cold ? 0 : idle_ms ? w->used_ms + idle_ms : UINT64_MAX;
}

uint64_t warm_due_ms(uint64_t now) {
  uint64_t due = UINT64_MAX;
  for (int kind = 0; kind < KINDS; kind++) {
    uint64_t at = warms[kind].start ? now + SETTLE_MS : due_ms(&warms[kind]);
    if (at < due) due = at;
  }
  return due;
}

/* Whether memory is held, or comes back just now, that is none of any run's: interpreters go for the cold. */
bool warm_leaving(uint64_t now) {
  if (!cold || now - cold_ms > LEAVE_MOST_MS) return false;
  return warms[PYTHON].pid || warms[NODE].pid || now - left_ms < MEMORY_BACK_MS;
}

/* One that nobody used for long goes: it ends by itself when its channel does. */
void warm_step(uint64_t now) {
  for (int kind = 0; kind < KINDS; kind++) {
    struct warm *w = &warms[kind];
    settle(w, false);
    if (!w->start && now >= due_ms(w)) hang_up(w);
  }
}

#define _GNU_SOURCE
#include "tunnel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

int guest_epoll = -1;
static int signal_fd = -1;
static uint64_t lease_ms;
uint64_t guest_last_ping_ms;

void die(const char *what) {
  wire_error(0, errno, what);
  wire_flush();
  _exit(70);
}

/* That the other end has gone is told whatever is asked for: where nothing is, once, and not at every turn. */
static void poll_control(int op, int fd, uint32_t events, enum poll_tag tag, uint32_t slot) {
  struct epoll_event event = {.events = events ? events : EPOLLET, .data.u64 = (uint64_t)tag << 32 | slot};
  if (epoll_ctl(guest_epoll, op, fd, &event) < 0) die("epoll_ctl");
}
void poll_add(int fd, uint32_t events, enum poll_tag tag, uint32_t slot) {
  poll_control(EPOLL_CTL_ADD, fd, events, tag, slot);
}
void poll_remove(int fd) { poll_control(EPOLL_CTL_DEL, fd, 0, 0, 0); }
/* Closing alone would not do: a newborn has a copy of every descriptor until it becomes its program, and so long the closed
   one would be polled on, with events for whichever stream has the slot next. */
void poll_close(int fd) {
  epoll_ctl(guest_epoll, EPOLL_CTL_DEL, fd, NULL); /* refused for one that is not polled */
  close(fd);
}
void poll_change(int fd, uint32_t events, enum poll_tag tag, uint32_t slot) {
  poll_control(EPOLL_CTL_MOD, fd, events, tag, slot);
}

static void set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) die("fcntl");
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* All are blocked here and in newborns, which have this process's dispositions too: the default ones. */
static void prepare_signals(void) {
  sigset_t set;
  sigfillset(&set);
  if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) die("sigprocmask");
  for (int number = 1; number <= 64; number++) signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0) die("signalfd");
}

/* 0 to 4 are taken (3 and 4 by epoll and the signals' descriptor), so that a newborn can lay its own there; of the runtime's only
   the wire is kept. */
static void prepare_descriptors(void) {
  close_all_from(NOTHING);
  if (open("/dev/null", O_RDWR | O_CLOEXEC) != NOTHING) die("/dev/null");
  guest_epoll = epoll_create1(EPOLL_CLOEXEC);
  if (guest_epoll < 0) die("epoll_create1");
  struct rlimit limit; /* descriptors that stay are counted against a limit that a runtime may have set low */
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  set_nonblocking(WIRE_IN);
  set_nonblocking(WIRE_OUT);
}

static void reap(void) {
  struct signalfd_siginfo info;
  if (read(signal_fd, &info, sizeof info) == sizeof info) children_reap((pid_t)info.ssi_pid);
}

void configure(const struct spec *spec) {
  lease_ms = spec->lease_ms;
  bool paused = spec->flags & FLAG_PAUSED; /* the clocks of runs stand still */
  clock_pause(paused);
  tunnels_pause(paused);
  memory_limit(spec->flags & FLAG_WATCH_MEMORY ? spec->memory_bytes : 0);
  guest_last_ping_ms = now_ms();
  if (name_set(spec->name)) warm_renew();
  warm_configure(spec);
}

/* An ephemeral sandbox ends by itself when its owner has gone (SBX-16). A long sleep of this process itself (a pause,
   a stopped machine) is not the owner's silence: the lease then starts anew. */
static void keep_lease(uint64_t slept_ms) {
  if (!lease_ms) return;
  uint64_t now = now_ms();
  if (slept_ms > lease_ms / 2) {
    guest_last_ping_ms = now;
  } else if (now - guest_last_ping_ms > lease_ms) {
    _exit(0); /* PID 1: everything in the sandbox ends with it */
  }
}

static int sooner(int a, int b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static int wait_ms(void) {
  if (children_more) return 0;
  uint64_t lease_look_ms = lease_ms / 8 < WAIT_MOST_MS ? lease_ms / 8 : WAIT_MOST_MS;
  int wait = sooner(lease_ms ? (int)lease_look_ms : -1, runs_wait_ms());
  return streams_running() ? sooner(wait, memory_wait_ms()) : wait;
}

static void dispatch(uint32_t events, uint64_t data) {
  uint32_t slot = (uint32_t)data;
  struct stream *s = slot < SLOTS_MAX ? streams[slot] : NULL;
  switch ((enum poll_tag)(data >> 32)) {
    case POLL_WIRE_IN: wire_receive(); break;
    case POLL_WIRE_OUT: break; /* wire_flush follows every round */
    case POLL_SIGNAL: reap(); break;
    case POLL_INPUT: if (s) stream_input_event(s, events); break;
    case POLL_OUTPUT:
      if (s) stream_output_event(s, 0, events);
      if (s && s->terminal) stream_pump_input(s);
      break;
    case POLL_ERROR: if (s) stream_output_event(s, 1, events); break;
    case POLL_WARM: warm_event(slot); break;
    case POLL_TUNNEL: if (s) tunnel_event(s, events); break;
  }
}

static _Noreturn void serve(void) {
  struct epoll_event events[64];
  for (;;) {
    uint64_t before = now_ms();
    int wait = wait_ms();
    int count = epoll_wait(guest_epoll, events, 64, wait);
    if (count < 0 && errno != EINTR) die("epoll_wait");
    clock_read();
    for (int i = 0; i < count; i++) dispatch(events[i].events, events[i].data.u64);
    uint64_t elapsed = now_ms() - before;
    keep_lease(wait >= 0 && elapsed > (uint64_t)wait ? elapsed - (uint64_t)wait : 0);
    if (children_more) children_reap(0);
    if (streams_running() && memory_exceeded()) runs_kill_biggest();
    runs_step();
    streams_sweep();
    wire_flush();
  }
}

/* What a host asks for that this guest does not know must not be passed over. */
struct wishes {
  bool copy_memory;
  bool no_listeners;
};
static struct wishes read_wishes(int count, char **words) {
  struct wishes wishes = {0};
  for (int i = 1; i < count; i++) {
    errno = EINVAL;
    if (!strcmp(words[i], "copy-memory")) wishes.copy_memory = true;
    else if (!strcmp(words[i], "no-listeners")) wishes.no_listeners = true;
    else die("argument");
  }
  return wishes;
}

int main(int count, char **words) {
  struct wishes wishes = read_wishes(count, words);
  prepare_descriptors();
  prepare_signals();
  oom_prepare();
  devices_prepare();
  loopback_prepare();
  trust_prepare();
  name_prepare();
  privilege_prepare();
  start_prepare(wishes.copy_memory);
  seccomp_apply();
  if (wishes.no_listeners) seccomp_refuse_listeners();
  poll_add(WIRE_IN, EPOLLIN, POLL_WIRE_IN, SLOTS_MAX);
  poll_add(WIRE_OUT, 0, POLL_WIRE_OUT, SLOTS_MAX);
  poll_add(signal_fd, EPOLLIN, POLL_SIGNAL, SLOTS_MAX);
  clock_read();
  serve();
}

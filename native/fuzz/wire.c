/* The guest's end of the wire, fed by a host that says anything: the real wire.c, stream.c, spec.c, tunnel.c, listen.c and datagram.c over
   real pipes and sockets. The
   programs that it would start are played here, since an input may ask for any.

   An input is a list of steps: [0][u16 size][bytes] the host says these bytes, [1][u8 slot][u16 size] a program writes,
   [2][u8 slot] a program ends, [3][u8 slot][u16 size] a program reads, [4][u16 size] the host reads, [5][u8] time passes,
   [6] a program connects to a listener. Slots from 192 on are those of tunnels. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/mman.h>

#include "../guest/tunnel.h"
#include "network.h"

size_t __sanitizer_get_current_allocated_bytes(void);

enum { TUNNEL_SLOTS = 192 };

struct program {
  int in, out[2];
  bool runs, killed;
};

int guest_epoll = -1;
uint64_t guest_last_ping_ms;
bool children_left;
static uint64_t clock_ms = 1000;
static struct program programs[STREAMS_MAX];
static int host_in, host_out; /* what the guest says, what it is told */

/* ---- the rest of the guest ---- */

uint64_t now_ms(void) { return clock_ms; }
uint64_t now_us(void) { return clock_ms * 1000; }

void die(const char *what) {
  expect(!strcmp(what, "frame too long"), what); /* the one reason for which a host may end it */
  _exit(0);
}

static void poll_fd(int fd) { expect(fcntl(fd, F_GETFD) >= 0, "only open descriptors are waited for"); }
void poll_add(int fd, uint32_t events, enum poll_tag tag, uint32_t slot) {
  (void)events, (void)tag;
  expect(slot <= SLOTS_MAX, "slots are bounded");
  poll_fd(fd);
}
void poll_remove(int fd) { poll_fd(fd); }
void poll_close(int fd) {
  poll_fd(fd);
  close(fd);
}
void poll_change(int fd, uint32_t events, enum poll_tag tag, uint32_t slot) { poll_add(fd, events, tag, slot); }

void configure(const struct spec *spec) { expect(spec->lease_ms <= DURATION_MOST_MS, "times are bounded"); }

static void open_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) exit(2);
}

static void begin(struct stream *s, bool input, int outputs) {
  struct program *p = &programs[s->slot];
  int ends[2];
  expect(!p->runs, "a slot has one program");
  *p = (struct program){-1, {-1, -1}, true, false};
  if (input) {
    open_pipe(ends);
    p->in = ends[0];
    s->in.fd = ends[1];
    s->in.wanted = s->kind == KIND_PROCESS;
    poll_add(s->in.fd, 0, POLL_INPUT, s->slot);
  }
  for (int i = 0; i < outputs; i++) {
    open_pipe(ends);
    s->out[i].fd = ends[0];
    s->out[i].armed = true;
    p->out[i] = ends[1];
    poll_add(ends[0], 0, POLL_OUTPUT, s->slot);
  }
  s->pid = 2;
  s->started = true;
}

void process_start(struct stream *s, const struct spec *spec) {
  if (spec->argument_count == 0) return stream_fail(s, EINVAL);
  for (size_t i = 0; i < spec->argument_count; i++) expect(strlen(spec->arguments[i]) < SPEC_BYTES, "words end");
  for (size_t i = 0; i < spec->environment_count; i++) expect(strlen(spec->environment[i]) < SPEC_BYTES, "words end");
  begin(s, spec->flags & FLAG_STDIN, 2);
}

void file_start(struct stream *s, struct spec *spec) {
  if (!spec->path || strlen(spec->path) > SPEC_BYTES) return stream_fail(s, EINVAL);
  begin(s, true, 1);
}

void process_signal(struct stream *s, uint32_t mode, int number) {
  (void)number;
  if (!s->finished && mode == SIGNAL_TREE && s->slot < STREAMS_MAX) programs[s->slot].killed = true;
}

void pty_resize(struct stream *s, uint64_t size) {
  (void)size;
  wire_error(s->id, EINVAL, "no terminal");
}

/* ---- the programs and the host ---- */

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void end(uint32_t slot) {
  struct program *p = &programs[slot];
  struct exit_record record = {.status = p->killed ? 9 : 0};
  if (!p->runs) return;
  p->runs = false;
  close_end(&p->in), close_end(&p->out[0]), close_end(&p->out[1]);
  streams[slot]->reaped = true;
  stream_finish(streams[slot], &record);
}

static struct stream *tunnel_at(uint32_t step_slot) {
  return step_slot < TUNNEL_SLOTS ? NULL : streams[STREAMS_MAX + step_slot - TUNNEL_SLOTS];
}

static void transfer(int fd, size_t size, bool out) {
  static uint8_t bytes[65536];
  if (fd < 0 || size == 0) return;
  ssize_t done = out ? write(fd, bytes, size) : read(fd, bytes, size);
  (void)done;
}

static void check(const struct stream *s) {
  expect(s->in.consumed <= s->in.received, "input is consumed after it came");
  expect(s->in.received - s->in.consumed <= stream_input_window(s), "input is within its window");
  expect(s->in.credited <= s->in.consumed, "input is credited after it was consumed");
  expect(!s->spec || s->spec_have <= s->spec_size, "a spec is within its size");
  expect(!s->spec || !s->finished, "a stream that has ended waits for no spec");
  for (int i = 0; i < 2; i++) {
    const struct output *o = &s->out[i];
    expect(o->acked <= o->sent && o->sent <= o->tail, "output is acknowledged after it was sent");
    expect(o->acked + wire_unwritten(o) <= o->sent, "output is acknowledged after it was written");
    expect(o->tail - o->acked <= (o->ring ? o->size : 0), "output is within its ring");
  }
}

/* A turn of the guest's loop. */
static void turn(void) {
  for (uint32_t i = 0; i < streams_end; i++) {
    if (!streams[i]) continue;
    if (programs[i].killed) end(i);
    stream_pump_input(streams[i]);
    stream_pump_output(streams[i], 0);
    stream_pump_output(streams[i], 1);
  }
  for (uint32_t i = STREAMS_MAX; i < tunnels_end; i++) {
    struct stream *s = streams[i];
    if (!s || s->socket < 0) continue;
    uint32_t told = far_end(s->socket) < 0 ? EPOLLIN | EPOLLHUP : EPOLLIN;
    if (s->interest || told & EPOLLHUP) tunnel_event(s, told | (s->interest & EPOLLOUT));
  }
  streams_sweep();
  wire_flush();
  expect(tunnels_end <= SLOTS_MAX, "tunnels are bounded");
  for (uint32_t i = STREAMS_MAX; i < tunnels_end; i++)
    if (streams[i]) check(streams[i]);
  expect(streams_end <= STREAMS_MAX, "streams are bounded");
  for (uint32_t i = 0; i < streams_end; i++)
    if (streams[i]) check(streams[i]);
}

static void say(const uint8_t *data, size_t size) {
  while (size > 0) {
    size_t part = size < 4096 ? size : 4096;
    if (write(host_out, data, part) != (ssize_t)part) exit(2); /* the pipe is empty */
    wire_receive();
    turn();
    data += part;
    size -= part;
  }
}

static size_t step(const uint8_t *data, size_t size) {
  uint32_t slot = size > 1 ? data[1] : 0;
  size_t wide = size > 2 ? (size_t)(data[1] | data[2] << 8) : 0, of_slot = size > 3 ? (size_t)(data[2] | data[3] << 8) : 0;
  struct program *p = &programs[slot];
  struct stream *tunnel = tunnel_at(slot);
  int far = tunnel ? far_end(tunnel->socket) : -1;
  switch (data[0]) {
    case 0:
      if (size < 3) return size;
      if (wide > size - 3) wide = size - 3;
      say(data + 3, wide);
      return 3 + wide;
    case 1:
      if (p->runs) transfer(p->out[of_slot % 2], of_slot, true);
      transfer(far, of_slot, true);
      return size < 4 ? size : 4;
    case 2:
      end(slot);
      if (tunnel) far_hang_up(tunnel->socket);
      return size < 2 ? size : 2;
    case 3:
      if (p->runs) transfer(p->in, of_slot, false);
      transfer(far, of_slot, false);
      return size < 4 ? size : 4;
    case 4: transfer(host_in, wide, false); return size < 3 ? size : 3;
    case 5: clock_ms += slot; return size < 2 ? size : 2;
    case 6: call_in(); return 1;
    default: return 1;
  }
}

/* Whatever was said: all that was opened can be ended, and gives back what it took. */
static void finish(size_t before) {
  for (uint32_t i = streams_from(0); i < tunnels_end; i = streams_from(i + 1))
    if (streams[i]) stream_close(streams[i]);
  for (int turns = 0; streams_end > 0 || tunnels_end > STREAMS_MAX; turns++) {
    expect(turns < 1000, "every stream can be ended");
    for (uint32_t i = 0; i < streams_end; i++)
      if (streams[i]) end(i);
    clock_ms += 10;
    turn();
    transfer(host_in, 65536, false);
  }
  expect(__sanitizer_get_current_allocated_bytes() <= before + OUTPUT_RING_BYTES + TUNNEL_WINDOW_BYTES + 4096, "memory is given back");
}

static void run(const uint8_t *data, size_t size) {
  int to[2], from[2];
  open_pipe(to), open_pipe(from);
  host_out = fcntl(to[1], F_DUPFD, 1000); /* out of the way of the wire's own numbers */
  host_in = fcntl(from[0], F_DUPFD, 1000);
  if (host_out < 0 || host_in < 0 || dup2(to[0], WIRE_IN) < 0 || dup2(from[1], WIRE_OUT) < 0) exit(2);
  size_t before = __sanitizer_get_current_allocated_bytes();
  for (size_t at = 0; at < size;) {
    at += step(data + at, size - at);
    turn();
  }
  finish(before);
}

const struct target wire_target = {"wire", run};

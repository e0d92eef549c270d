#define _GNU_SOURCE
#include "tunnel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Bytes from the host on their way to a process or a connection. */

static struct stream *pump_due; /* tunnels whose input came with what is being read of the wire */

static void input_ring_give(struct input *in) {
  ring_memory_give(in->ring, in->size);
  in->ring = NULL;
}

static void input_ring_put(struct input *in, uint64_t offset, const uint8_t *data, uint32_t size) {
  uint32_t at = (uint32_t)(offset % in->size), run = in->size - at;
  if (run > size) run = size;
  memcpy(in->ring + at, data, run);
  memcpy(in->ring, data + run, size - run);
}

/* Makes room for so many bytes in all. */
static void input_ring_fit(struct input *in, uint64_t need) {
  struct input old = *in;
  if (in->ring && need <= in->size) return;
  if (!in->ring && need <= OUTPUT_RING_BYTES && spare_ring) in->size = OUTPUT_RING_BYTES;
  else if (!in->ring && need > OUTPUT_RING_BYTES && spare_window) in->size = TUNNEL_WINDOW_BYTES;
  else for (in->size = SMALL_RING_BYTES; in->size < need;) in->size *= 2;
  in->ring = ring_memory_take(in->size);
  for (uint64_t offset = old.consumed; old.ring && offset < old.received;) {
    uint32_t at = (uint32_t)(offset % old.size), run = old.size - at;
    if (run > old.received - offset) run = (uint32_t)(old.received - offset);
    input_ring_put(in, offset, old.ring + at, run);
    offset += run;
  }
  if (old.ring) input_ring_give(&old);
}

void stream_input_stop(struct stream *s) {
  if (s->in.fd >= 0 && is_tunnel(s->kind)) shutdown(s->in.fd, SHUT_WR);
  else if (s->in.fd >= 0) poll_close(s->in.fd);
  s->in.fd = -1;
  s->in.consumed = s->in.received;
  if (s->in.ring) input_ring_give(&s->in);
}

/* What comes for a connection in many frames goes out in one write. */
static void pump_input_later(struct stream *s) {
  if (!is_tunnel(s->kind)) return stream_pump_input(s);
  if (s->pump_due) return;
  s->pump_due = true;
  s->next_due = pump_due;
  pump_due = s;
}

void streams_pump_due(void) {
  while (pump_due) {
    struct stream *s = pump_due;
    pump_due = s->next_due;
    s->pump_due = false;
    stream_pump_input(s);
    tunnel_settle(s);
  }
}

static void input_broken(struct stream *s) {
  if (errno == ECONNRESET) /* told once, and whoever reads on finds an end like any other */
    s->exit = (struct exit_record){.status = ECONNRESET, .flags = EXIT_NOT_STARTED};
  stream_input_stop(s); /* EPIPE: the process closed its input */
}

/* Frames for one connection before which nothing waits: they go out by one write, from where they were read. */
enum { GATHERED_MAX = WIRE_READ_BYTES / FROM_HOST_FRAME_BYTES };
static struct stream *gathered_for;
static struct iovec gathered[GATHERED_MAX];
static int gathered_count;

static bool gather(struct stream *s, const uint8_t *data, uint32_t size) {
  if (!is_tunnel(s->kind) || (!gathered_for && s->in.consumed < s->in.received)) return false;
  gathered_for = s;
  gathered[gathered_count++] = (struct iovec){(uint8_t *)(uintptr_t)data, size};
  s->in.received += size;
  if (gathered_count == GATHERED_MAX) streams_input_pass(0);
  return true;
}

static void keep_the_rest(struct input *in, size_t taken) {
  uint64_t offset = in->consumed;
  in->consumed += taken;
  if (in->consumed == in->received) return;
  input_ring_fit(in, in->received - in->consumed);
  for (int i = 0; i < gathered_count; i++) {
    size_t skip = taken < gathered[i].iov_len ? taken : gathered[i].iov_len;
    taken -= skip;
    offset += skip;
    input_ring_put(in, offset, (uint8_t *)gathered[i].iov_base + skip, (uint32_t)(gathered[i].iov_len - skip));
    offset += gathered[i].iov_len - skip;
  }
}

/* Passes on what was gathered, unless it is for this stream. */
void streams_input_pass(uint32_t unless) {
  struct stream *s = gathered_for;
  if (!s || s->id == unless) return;
  gathered_for = NULL;
  ssize_t size = writev(s->in.fd, gathered, gathered_count);
  if (size < 0 && errno != EAGAIN) input_broken(s);
  else keep_the_rest(&s->in, size < 0 ? 0 : (size_t)size);
  gathered_count = 0;
  s->in.armed = s->in.consumed < s->in.received;
  tunnel_settle(s);
}

uint32_t stream_input_window(const struct stream *s) { return is_tunnel(s->kind) ? TUNNEL_WINDOW_BYTES : INPUT_WINDOW_BYTES; }

void stream_input(struct stream *s, uint64_t offset, const uint8_t *data, uint32_t size) {
  struct input *in = &s->in;
  if (s->kind == KIND_DATAGRAMS) return datagrams_send(s, offset, data, size);
  if (offset + size <= in->received) return; /* sent again after a resync */
  if (offset > in->received || offset + size - in->consumed > stream_input_window(s) || in->end)
    return wire_error(s->id, EPROTO, "input out of order");
  data += in->received - offset;
  size -= (uint32_t)(in->received - offset);
  if (in->fd < 0) { /* nobody reads: taken and dropped */
    in->received += size;
    in->consumed = in->received;
    return;
  }
  if (gather(s, data, size)) return;
  input_ring_fit(in, in->received - in->consumed + size);
  input_ring_put(in, in->received, data, size);
  in->received += size;
  pump_input_later(s);
}

void stream_input_end(struct stream *s) {
  s->in.end = true;
  pump_input_later(s);
}

void stream_pump_input(struct stream *s) {
  struct input *in = &s->in;
  if (in->fd < 0) return;
  while (in->consumed < in->received) {
    uint32_t at = (uint32_t)(in->consumed % in->size), run = in->size - at;
    if (run > in->received - in->consumed) run = (uint32_t)(in->received - in->consumed);
    ssize_t written = write(in->fd, in->ring + at, run);
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) return input_broken(s);
    in->consumed += (uint64_t)written;
  }
  if (in->consumed == in->received && in->end) return stream_input_stop(s);
  if (in->consumed == in->received && in->ring) input_ring_give(in);
  if (s->terminal) return;
  bool wanted = in->consumed < in->received;
  if (wanted != in->armed && !is_tunnel(s->kind)) poll_change(in->fd, wanted ? EPOLLOUT : 0, POLL_INPUT, s->slot);
  in->armed = wanted;
}

/* epoll tells of a pipe's end whatever it was asked, again and again: what is not to be read now is taken out of it. */
void stream_input_event(struct stream *s, uint32_t events) {
  if (events & EPOLLERR && !s->terminal) stream_input_stop(s); /* the process closed its input */
  else stream_pump_input(s);
}

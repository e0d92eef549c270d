#define _GNU_SOURCE
#include "tunnel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

struct stream *streams[SLOTS_MAX];
uint32_t streams_end; /* no slot from here on is taken, up to STREAMS_MAX */
uint32_t tunnels_end = STREAMS_MAX; /* nor from here on */
uint32_t streams_highest; /* ids only grow: an OPEN that is repeated after a resync runs nothing twice */
static uint32_t rings_bytes;
uint8_t *spare_ring, *spare_window; /* memory that is new costs a fault a page */

enum { BUCKETS = 256 };
static struct stream *buckets[BUCKETS]; /* by id: ids grow one by one, so they spread evenly */

static uint8_t **spare_of(uint32_t size) {
  return size == OUTPUT_RING_BYTES ? &spare_ring : size == TUNNEL_WINDOW_BYTES ? &spare_window : NULL;
}

uint8_t *ring_memory_take(uint32_t size) {
  uint8_t **spare = spare_of(size), *ring = spare ? *spare : NULL;
  if (ring) *spare = NULL;
  else if (!(ring = malloc(size))) die("out of memory");
  return ring;
}

void ring_memory_give(uint8_t *ring, uint32_t size) {
  uint8_t **spare = spare_of(size);
  if (spare && !*spare) *spare = ring;
  else free(ring);
}

/* A large ring leaves room for those of others: one connection at a time has it. */
static bool large_fits(void) { return rings_bytes + TUNNEL_WINDOW_BYTES <= RINGS_TOTAL_BYTES - RINGS_OF_OTHERS_BYTES; }

static void ring_take(struct output *o) {
  if (o->much && large_fits()) o->size = TUNNEL_WINDOW_BYTES;
  else o->size = rings_bytes + OUTPUT_RING_BYTES <= RINGS_TOTAL_BYTES ? OUTPUT_RING_BYTES : SMALL_RING_BYTES;
  rings_bytes += o->size;
  o->ring = ring_memory_take(o->size);
}

static void ring_give(struct output *o) {
  if (!o->ring) return;
  rings_bytes -= o->size;
  ring_memory_give(o->ring, o->size);
  o->ring = NULL;
}

/* Of a connection that writes more than its ring holds: under gVisor a call costs more than the bytes it moves. */
static void ring_grow(struct output *o) {
  struct output old = *o;
  o->much = true;
  if (old.size != OUTPUT_RING_BYTES || !large_fits()) return;
  rings_bytes -= old.size;
  ring_take(o);
  for (uint64_t at = o->acked; at < o->tail;) {
    size_t from = (size_t)(at % old.size), run = old.size - from; /* the smaller size divides the larger */
    if (run > o->tail - at) run = (size_t)(o->tail - at);
    memcpy(o->ring + at % o->size, old.ring + from, run);
    at += run;
  }
  ring_memory_give(old.ring, old.size);
}

/* Where `size` bytes from an offset on lie: in two parts where they pass the end of the ring. */
int ring_parts(const struct output *o, uint64_t offset, size_t size, struct iovec *parts) {
  size_t at = (size_t)(offset % o->size), run = o->size - at;
  if (run >= size) return parts[0] = (struct iovec){o->ring + at, size}, 1;
  parts[0] = (struct iovec){o->ring + at, run};
  parts[1] = (struct iovec){o->ring, size - run};
  return 2;
}

struct stream *stream_find(uint32_t id) {
  struct stream *s = buckets[id % BUCKETS];
  while (s && s->id != id) s = s->in_bucket;
  return s;
}

static void find_no_more(struct stream *s) {
  struct stream **at = &buckets[s->id % BUCKETS];
  while (*at != s) at = &(*at)->in_bucket;
  *at = s->in_bucket;
}

struct stream *stream_open(uint32_t id, uint8_t kind, uint32_t spec_size) {
  uint32_t first = is_tunnel(kind) ? STREAMS_MAX : 0, last = is_tunnel(kind) ? SLOTS_MAX : STREAMS_MAX;
  uint32_t *end = is_tunnel(kind) ? &tunnels_end : &streams_end;
  for (uint32_t i = first; i < last; i++) {
    if (streams[i]) continue;
    struct stream *s = calloc(1, sizeof *s);
    uint8_t *spec = malloc(spec_size ? spec_size : 1);
    if (!s || !spec) {
      free(s), free(spec);
      return NULL;
    }
    s->id = id;
    s->kind = kind;
    s->spec = spec;
    s->spec_size = spec_size;
    s->slot = i;
    s->in.fd = s->out[0].fd = s->out[1].fd = s->warm_channel = s->socket = -1;
    streams_highest = id;
    if (i >= *end) *end = i + 1;
    s->in_bucket = buckets[id % BUCKETS];
    buckets[id % BUCKETS] = s;
    return streams[i] = s;
  }
  return NULL;
}

static void start(struct stream *s) {
  static struct spec spec;
  if (!spec_parse(s->spec, s->spec_size, &spec)) stream_fail(s, EINVAL);
  else if (s->kind == KIND_PROCESS) process_start(s, &spec);
  else if (is_tunnel(s->kind)) tunnel_start(s, &spec);
  else file_start(s, &spec);
  free(s->spec);
  s->spec = NULL;
}

/* Of a stream whose spec is not whole. */
static void give_up(struct stream *s, int error) {
  free(s->spec);
  s->spec = NULL;
  stream_fail(s, error);
}

void stream_spec_bytes(struct stream *s, const uint8_t *data, uint32_t size) {
  if (!s->spec) return; /* it has all of it, or was given up */
  if (size > s->spec_size - s->spec_have) return give_up(s, EPROTO);
  memcpy(s->spec + s->spec_have, data, size);
  s->spec_have += size;
  if (s->spec_have == s->spec_size) start(s);
}

void stream_fail(struct stream *s, int error) {
  struct exit_record record = {.status = error, .flags = EXIT_NOT_STARTED};
  stream_finish(s, &record);
}

void stream_finish(struct stream *s, const struct exit_record *record) {
  if (s->finished) return;
  s->finished = true;
  s->exit = *record;
  if (s->in.fd >= 0) poll_close(s->in.fd);
  s->in.fd = -1;
  s->drain_end = s->out[0].tail + TERMINAL_LEFT_BYTES;
  /* What is in the pipes is the run's; whatever still holds their other end is not. */
  stream_pump_output(s, 0);
  stream_pump_output(s, 1);
}

static void output_eof(const struct stream *s, struct output *o) {
  if (o->fd >= 0 && !is_tunnel(s->kind)) poll_close(o->fd);
  o->fd = -1;
  o->eof = true;
  o->eof_ms = now_ms();
  if (is_tunnel(s->kind) && o->tail == o->acked) ring_give(o);
}
void stream_output_stop(struct stream *s) { output_eof(s, &s->out[0]); }

/* A ring is taken for bytes, not for an end. */
static ssize_t read_first(struct output *o) {
  static uint8_t first[SMALL_RING_BYTES];
  ssize_t size = read(o->fd, first, sizeof first);
  if (size <= 0) return size;
  ring_take(o);
  memcpy(o->ring, first, (size_t)size);
  return size;
}

/* A ring is filled again when half of it is free: under gVisor a call costs more than the bytes it moves. What is in it is
   acknowledged but for less than half of the smallest ring, so that room always comes. */
static bool output_full(const struct output *o) { return o->ring && o->tail - o->acked > o->size / 2; }

static ssize_t read_output(const struct stream *s, struct output *o, uint32_t *room) {
  if (!o->ring && o->tail == 0 && !is_tunnel(s->kind)) return *room = SMALL_RING_BYTES, read_first(o);
  if (!o->ring) ring_take(o);
  *room = o->size - (uint32_t)(o->tail - o->acked);
  struct iovec parts[2];
  return readv(o->fd, parts, ring_parts(o, o->tail, *room, parts));
}

void stream_pump_output(struct stream *s, int index) {
  struct output *o = &s->out[index];
  if (o->fd < 0) {
    if (s->finished) o->eof = true;
    return;
  }
  if (!o->unblocked) fcntl(o->fd, F_SETFL, O_NONBLOCK);
  o->unblocked = true;
  for (;;) {
    if (output_full(o)) break;
    if (s->terminal && s->finished && o->tail >= s->drain_end) return output_eof(s, o); /* somebody else writes there */
    uint32_t room;
    ssize_t size = read_output(s, o, &room);
    if (size > 0) {
      o->tail += (uint64_t)size;
      if ((uint32_t)size == room && is_tunnel(s->kind)) ring_grow(o);
      if (size >= PIPE_BYTES && !o->grown && !s->terminal && !is_tunnel(s->kind)) { /* it writes more than the pipe holds: a refusal leaves it as it is */
        (void)!fcntl(o->fd, F_SETPIPE_SZ, OUTPUT_RING_BYTES);
        o->grown = true;
      }
      if ((uint32_t)size < room && !s->finished && !s->terminal) break; /* the pipe is empty: level-triggered polling tells of more */
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN && !s->finished) break;
    if (size < 0 && errno == EIO && s->terminal && !s->finished) break; /* no process has it open: one may open it again */
    if (size < 0 && is_tunnel(s->kind)) s->exit = (struct exit_record){.status = errno, .flags = EXIT_NOT_STARTED};
    return output_eof(s, o);
  }
  if (s->terminal) return;
  bool wanted = !output_full(o);
  if (is_tunnel(s->kind)) {
    if (o->tail == o->acked) ring_give(o);
  } else if (wanted && !o->armed) poll_add(o->fd, EPOLLIN, index ? POLL_ERROR : POLL_OUTPUT, s->slot);
  if (!wanted && o->armed && !is_tunnel(s->kind)) poll_remove(o->fd);
  o->armed = wanted;
}

/* A pipe that was asked for bytes and tells only of its end has none: most runs write to one of theirs at most. */
void stream_output_event(struct stream *s, int index, uint32_t events) {
  struct output *o = &s->out[index];
  if (events == EPOLLHUP && o->armed && o->fd >= 0 && !s->terminal) output_eof(s, o);
  else stream_pump_output(s, index);
}

/* Whole, or not at all where there is no room. */
void stream_output_put(struct stream *s, const uint8_t *data, uint32_t size) {
  struct output *o = &s->out[0];
  struct iovec parts[2];
  if (!o->ring) ring_take(o);
  if (o->tail - o->acked + size > o->size) return;
  int count = ring_parts(o, o->tail, size, parts);
  memcpy(parts[0].iov_base, data, parts[0].iov_len);
  if (count == 2) memcpy(parts[1].iov_base, data + parts[0].iov_len, parts[1].iov_len);
  o->tail += size;
}

/* Bytes that the guest itself puts among a terminal's output. */
void stream_output_add(struct stream *s, const uint8_t *data, uint32_t size) {
  stream_pump_output(s, 0); /* what came before stands before */
  if (s->out[0].fd >= 0) stream_output_put(s, data, size);
}

/* The end of output is told with the exit that mostly follows at once: one frame less wakes the host. */
uint64_t stream_end_due_ms(const struct stream *s, const struct output *o) {
  if (!o->eof || o->end_sent || o->sent != o->tail) return UINT64_MAX;
  return s->finished || s->kind != KIND_PROCESS ? 0 : o->eof_ms + END_DELAY_MS;
}

void stream_acked(struct stream *s, int channel, uint64_t offset) {
  if (channel != CHANNEL_OUT && channel != CHANNEL_ERR) return;
  struct output *o = &s->out[channel - CHANNEL_OUT];
  if (offset > o->sent - wire_unwritten(o) || offset < o->acked) return; /* stale, or of what was never sent */
  o->acked = offset;
  if (o->acked == o->tail && (o->eof || is_tunnel(s->kind))) ring_give(o);
  if (o->eof) return;
  stream_pump_output(s, channel - CHANNEL_OUT);
  tunnel_settle(s);
}

/* The host has stored the exit record, or gives the stream up: what still runs is ended first. */
void stream_close(struct stream *s) {
  s->closing = true;
  if (s->spec) give_up(s, ECANCELED); /* the rest of it will not come: there is nothing to end */
  else if (is_tunnel(s->kind)) tunnel_drop(s);
  else if (!s->finished) process_signal(s, SIGNAL_TREE, 0);
}

void stream_resync(struct stream *s) {
  if (s->spec) give_up(s, ECANCELED); /* the rest of it was the former owner's to send */
  if (is_tunnel(s->kind)) tunnel_resync(s);
  for (int i = 0; i < 2; i++) {
    s->out[i].sent = s->out[i].acked;
    s->out[i].end_sent = false;
  }
  s->in.credited = s->in.consumed;
  s->in.end_sent = false;
  s->started_sent = s->exit_sent = false;
  s->state_due = !s->closing; /* one that a former owner gave up is nobody's, and may vanish at any moment */
}

static void release(uint32_t slot) {
  struct stream *s = streams[slot];
  streams[slot] = NULL;
  find_no_more(s);
  stream_input_stop(s);
  if (s->warm_channel >= 0) poll_close(s->warm_channel);
  for (int i = 0; i < 2; i++) {
    output_eof(s, &s->out[i]);
    ring_give(&s->out[i]);
  }
  free(s->spec);
  free(s);
  while (streams_end && !streams[streams_end - 1]) streams_end--;
  while (tunnels_end > STREAMS_MAX && !streams[tunnels_end - 1]) tunnels_end--;
  listeners_again(); /* a descriptor may be free */
}

void streams_sweep(void) {
  for (uint32_t i = streams_from(0); i < tunnels_end; i = streams_from(i + 1)) {
    struct stream *s = streams[i];
    if (s && s->closing && s->finished && !s->run && (s->pid <= 0 || s->reaped) && !wire_holds(s)) release(i);
  }
}

bool streams_running(void) {
  for (uint32_t i = 0; i < streams_end; i++)
    if (streams[i] && streams[i]->kind == KIND_PROCESS && !streams[i]->finished) return true;
  return false;
}

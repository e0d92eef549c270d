#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

struct stream *streams[STREAMS_MAX];
uint32_t streams_end; /* no slot from here on is taken */
uint32_t streams_highest; /* ids only grow: an OPEN that is repeated after a resync runs nothing twice */
static uint32_t rings_bytes;
static uint8_t *spare_ring;

static uint8_t *ring_take(uint32_t *size) {
  *size = rings_bytes + OUTPUT_RING_BYTES <= RINGS_TOTAL_BYTES ? OUTPUT_RING_BYTES : SMALL_RING_BYTES;
  rings_bytes += *size;
  if (*size == OUTPUT_RING_BYTES && spare_ring) {
    uint8_t *ring = spare_ring;
    spare_ring = NULL;
    return ring;
  }
  uint8_t *ring = malloc(*size);
  if (!ring) die("out of memory");
  return ring;
}

static void ring_give(struct output *o) {
  if (!o->ring) return;
  rings_bytes -= o->size;
  if (o->size == OUTPUT_RING_BYTES && !spare_ring) spare_ring = o->ring;
  else free(o->ring);
  o->ring = NULL;
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
  for (uint32_t i = 0; i < streams_end; i++)
    if (streams[i] && streams[i]->id == id) return streams[i];
  return NULL;
}

struct stream *stream_open(uint32_t id, uint8_t kind, uint32_t spec_size) {
  for (uint32_t i = 0; i < STREAMS_MAX; i++) {
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
    s->in.fd = s->out[0].fd = s->out[1].fd = s->warm_channel = s->keeper_fd = -1;
    streams_highest = id;
    if (i >= streams_end) streams_end = i + 1;
    return streams[i] = s;
  }
  return NULL;
}

static void start(struct stream *s) {
  static struct spec spec;
  if (!spec_parse(s->spec, s->spec_size, &spec)) stream_fail(s, EINVAL);
  else if (s->kind == KIND_PROCESS) process_start(s, &spec);
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
  if (s->in.fd >= 0) close(s->in.fd);
  s->in.fd = -1;
  if (s->keeper_fd >= 0) close(s->keeper_fd);
  s->keeper_fd = -1;
  s->drain_end = s->out[0].tail + TERMINAL_LEFT_BYTES;
  /* What is in the pipes is the run's; whatever still holds their other end is not. */
  stream_pump_output(s, 0);
  stream_pump_output(s, 1);
}

static void input_stop(struct stream *s) {
  if (s->in.fd >= 0) close(s->in.fd);
  s->in.fd = -1;
  s->in.consumed = s->in.received;
  free(s->in.ring);
  s->in.ring = NULL;
}

void stream_input(struct stream *s, uint64_t offset, const uint8_t *data, uint32_t size) {
  struct input *in = &s->in;
  if (offset + size <= in->received) return; /* sent again after a resync */
  if (offset > in->received || offset + size - in->consumed > INPUT_RING_BYTES || in->end)
    return wire_error(s->id, EPROTO, "input out of order");
  data += in->received - offset;
  size -= (uint32_t)(in->received - offset);
  if (in->fd < 0) { /* nobody reads: taken and dropped */
    in->received += size;
    in->consumed = in->received;
    return;
  }
  if (!in->ring && !(in->ring = malloc(INPUT_RING_BYTES))) die("out of memory");
  for (uint32_t done = 0; done < size;) {
    uint32_t at = (uint32_t)(in->received % INPUT_RING_BYTES), run = INPUT_RING_BYTES - at;
    if (run > size - done) run = size - done;
    memcpy(in->ring + at, data + done, run);
    in->received += run;
    done += run;
  }
  stream_pump_input(s);
}

void stream_input_end(struct stream *s) {
  s->in.end = true;
  stream_pump_input(s);
}

void stream_pump_input(struct stream *s) {
  struct input *in = &s->in;
  if (in->fd < 0) return;
  while (in->consumed < in->received) {
    uint32_t at = (uint32_t)(in->consumed % INPUT_RING_BYTES), run = INPUT_RING_BYTES - at;
    if (run > in->received - in->consumed) run = (uint32_t)(in->received - in->consumed);
    ssize_t written = s->terminal ? pty_write(s, in->ring + at, run) : write(in->fd, in->ring + at, run);
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) return input_stop(s); /* EPIPE: the process closed its input */
    in->consumed += (uint64_t)written;
  }
  if (in->consumed == in->received && in->end) return input_stop(s);
  if (s->terminal) return;
  bool wanted = in->consumed < in->received;
  if (wanted != in->armed) poll_change(in->fd, wanted ? EPOLLOUT : 0, POLL_INPUT, s->slot);
  in->armed = wanted;
}

/* epoll tells of a pipe's end whatever it was asked, again and again: what is not to be read now is taken out of it. */
void stream_input_event(struct stream *s, uint32_t events) {
  if (events & EPOLLERR && !s->terminal) input_stop(s); /* the process closed its input */
  else stream_pump_input(s);
}

static void output_eof(struct output *o) {
  if (o->fd >= 0) close(o->fd);
  o->fd = -1;
  o->eof = true;
  o->eof_ms = now_ms();
}

/* A ring is taken for bytes, not for an end. */
static ssize_t read_first(struct output *o) {
  static uint8_t first[SMALL_RING_BYTES];
  ssize_t size = read(o->fd, first, sizeof first);
  if (size <= 0) return size;
  o->ring = ring_take(&o->size);
  memcpy(o->ring, first, (size_t)size);
  return size;
}

/* A ring is filled again when half of it is free: under gVisor a call costs more than the bytes it moves. What is in it is
   acknowledged but for less than half of the smallest ring, so that room always comes. */
static bool output_full(const struct output *o) { return o->ring && o->tail - o->acked > o->size / 2; }

static ssize_t read_output(struct output *o, uint32_t *room) {
  if (!o->ring && o->tail == 0) return *room = SMALL_RING_BYTES, read_first(o);
  if (!o->ring) o->ring = ring_take(&o->size);
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
    if (s->terminal && s->finished && o->tail >= s->drain_end) return output_eof(o); /* somebody else writes there */
    uint32_t room;
    ssize_t size = read_output(o, &room);
    if (size > 0) {
      o->tail += (uint64_t)size;
      if (size >= PIPE_BYTES && !o->grown && !s->terminal) { /* it writes more than the pipe holds: a refusal leaves it as it is */
        (void)!fcntl(o->fd, F_SETPIPE_SZ, OUTPUT_RING_BYTES);
        o->grown = true;
      }
      if ((uint32_t)size < room && !s->finished && !s->terminal) break; /* the pipe is empty: level-triggered polling tells of more */
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN && !s->finished) break;
    if (size < 0 && errno == EIO && s->terminal && !s->finished) break; /* no process has it open: one may open it again */
    return output_eof(o);
  }
  if (s->terminal) return;
  bool wanted = !output_full(o);
  if (wanted && !o->armed) poll_add(o->fd, EPOLLIN, index ? POLL_ERROR : POLL_OUTPUT, s->slot);
  if (!wanted && o->armed) poll_remove(o->fd);
  o->armed = wanted;
}

/* A pipe that was asked for bytes and tells only of its end has none: most runs write to one of theirs at most. */
void stream_output_event(struct stream *s, int index, uint32_t events) {
  struct output *o = &s->out[index];
  if (events == EPOLLHUP && o->armed && o->fd >= 0 && !s->terminal) output_eof(o);
  else stream_pump_output(s, index);
}

/* Bytes that the guest itself puts among a terminal's output; left out where there is no room. */
void stream_output_add(struct stream *s, const uint8_t *data, uint32_t size) {
  struct output *o = &s->out[0];
  stream_pump_output(s, 0); /* what came before stands before */
  if (o->fd < 0) return;
  if (!o->ring) o->ring = ring_take(&o->size);
  if (o->tail - o->acked + size > o->size) return;
  for (uint32_t i = 0; i < size; i++) o->ring[o->tail++ % o->size] = data[i];
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
  if (o->acked == o->tail && o->eof) ring_give(o);
  else stream_pump_output(s, channel - CHANNEL_OUT);
}

/* The host has stored the exit record, or gives the stream up: what still runs is ended first. */
void stream_close(struct stream *s) {
  s->closing = true;
  if (s->spec) give_up(s, ECANCELED); /* the rest of it will not come: there is nothing to end */
  else if (!s->finished) process_signal(s, SIGNAL_TREE, 0);
}

void stream_resync(struct stream *s) {
  if (s->spec) give_up(s, ECANCELED); /* the rest of it was the former owner's to send */
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
  input_stop(s);
  if (s->warm_channel >= 0) close(s->warm_channel);
  for (int i = 0; i < 2; i++) {
    output_eof(&s->out[i]);
    ring_give(&s->out[i]);
  }
  free(s->spec);
  free(s);
  while (streams_end && !streams[streams_end - 1]) streams_end--;
}

void streams_sweep(void) {
  for (uint32_t i = 0; i < streams_end; i++) {
    struct stream *s = streams[i];
    if (s && s->closing && s->finished && !s->run && (s->pid <= 0 || s->reaped) && !wire_holds(s)) release(i);
  }
}

bool streams_running(void) {
  for (uint32_t i = 0; i < streams_end; i++)
    if (streams[i] && streams[i]->kind == KIND_PROCESS && !streams[i]->finished) return true;
  return false;
}

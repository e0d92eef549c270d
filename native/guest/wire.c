#define _GNU_SOURCE
#include "tunnel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

/* The layout of docs/wire.md, little-endian as every machine this runs on. */
struct header {
  uint32_t size;
  uint8_t type, channel;
  uint16_t epoch;
  uint32_t stream, reserved;
  uint64_t offset;
};
_Static_assert(sizeof(struct header) == HEADER_BYTES, "wire header");

enum { CONTROL_BYTES = 4096, CONTROL_FRAME_MAX = 256, ERRORS_MAX = 16, ERROR_TEXT_BYTES = 120 };

struct hello {
  uint8_t nonce[NONCE_BYTES];
  uint32_t version, streams, input_window, output_window;
  uint32_t highest, live; /* the last stream id taken; how many streams follow as STATE */
};
struct state {
  uint32_t kind, finished;
  uint64_t input_received, input_consumed, acked[2], spot;
};
struct failure {
  uint32_t stream;
  int32_t error;
  char text[ERROR_TEXT_BYTES];
};

static uint16_t epoch;
static bool attached, hello_due, pong_due, waiting;
static uint8_t nonce[NONCE_BYTES];
static uint64_t pong_value;
static struct failure failures[ERRORS_MAX];
static size_t failure_count;

/* The frame under way: control bytes, then maybe a piece of a ring. */
static uint8_t control[CONTROL_BYTES];
static size_t control_size;
static const struct output *slice;
static uint64_t slice_at;
static size_t slice_size, written;
static struct stream *slice_of;
static uint32_t turn;

bool wire_holds(const struct stream *s) { return slice_of == s; }

/* Bytes that count as sent and still lie in the ring, to be written. */
uint64_t wire_unwritten(const struct output *o) {
  if (!slice_of || slice != o) return 0;
  return written < control_size ? slice_size : control_size + slice_size - written;
}

void wire_error(uint32_t stream, int error, const char *text) {
  if (stream && failure_count >= ERRORS_MAX - 1) return; /* the first ones tell the cause */
  if (failure_count == ERRORS_MAX) failure_count--; /* the last place is the sandbox's own: why it ends comes last */
  struct failure *f = &failures[failure_count++];
  f->stream = stream;
  f->error = error;
  strncpy(f->text, text, sizeof f->text - 1);
}

/* ---- from the host ---- */

static void resync(const struct header *h, const uint8_t *payload) {
  if (h->size != NONCE_BYTES) return;
  epoch = h->epoch;
  memcpy(nonce, payload, NONCE_BYTES);
  attached = hello_due = true;
  pong_due = false;
  control_size = slice_size = written = 0; /* the new owner reads past the torn frame, up to its nonce */
  slice_of = NULL;
  guest_last_ping_ms = now_ms();
  for (uint32_t i = streams_from(0); i < tunnels_end; i = streams_from(i + 1))
    if (streams[i]) stream_resync(streams[i]);
}

static void open_stream(const struct header *h, const uint8_t *payload) {
  if (h->stream <= streams_highest) return; /* sent again after a resync, or stale */
  if (h->channel < KIND_PROCESS || h->channel > KIND_LAST || h->offset > SPEC_BYTES)
    return wire_error(h->stream, EINVAL, "bad open");
  struct stream *s = stream_open(h->stream, h->channel, (uint32_t)h->offset);
  if (!s) return wire_error(h->stream, EMFILE, "too many streams");
  stream_spec_bytes(s, payload, h->size);
}

static void receive_configuration(uint8_t *payload, uint32_t size) {
  static struct spec spec;
  if (!spec_parse(payload, size, &spec)) return wire_error(0, EINVAL, "bad configuration");
  configure(&spec);
}

static void receive_frame(const struct header *h, uint8_t *payload) {
  streams_input_pass(h->type == FRAME_DATA ? h->stream : 0);
  if (h->type == FRAME_RESYNC) return resync(h, payload);
  if (!attached || h->epoch != epoch) return;
  if (h->type == FRAME_PING) {
    pong_due = true;
    pong_value = h->offset;
    guest_last_ping_ms = now_ms();
    return;
  }
  if (h->type == FRAME_CONFIG) return receive_configuration(payload, h->size);
  if (h->type == FRAME_OPEN) return open_stream(h, payload);
  struct stream *s = stream_find(h->stream);
  if (!s) return; /* ended on this side while the frame was under way */
  switch ((enum frame_type)h->type) {
    case FRAME_DATA:
      if (h->channel == CHANNEL_SPEC) stream_spec_bytes(s, payload, h->size);
      else stream_input(s, h->offset, payload, h->size);
      break;
    case FRAME_CREDIT: stream_acked(s, h->channel, h->offset); break;
    case FRAME_END: stream_input_end(s); break;
    case FRAME_SIGNAL: process_signal(s, h->channel, (int)h->offset); break;
    case FRAME_CLOSE: stream_close(s); break;
    case FRAME_RESIZE: pty_resize(s, h->offset); break;
    default: wire_error(h->stream, EPROTO, "unknown frame"); break;
  }
}

void wire_receive(void) {
  static uint8_t buffer[WIRE_READ_BYTES];
  static size_t have;
  ssize_t size = read(WIRE_IN, buffer + have, sizeof buffer - have);
  if (size <= 0) return; /* never the end: this program holds the FIFO open for writing too */
  have += (size_t)size;
  size_t at = 0;
  while (have - at >= HEADER_BYTES) {
    struct header h;
    memcpy(&h, buffer + at, HEADER_BYTES);
    if (h.size > FROM_HOST_FRAME_BYTES - HEADER_BYTES) {
      errno = EPROTO;
      die("frame too long");
    }
    if (have - at < HEADER_BYTES + h.size) break;
    receive_frame(&h, buffer + at + HEADER_BYTES);
    at += HEADER_BYTES + h.size;
  }
  streams_input_pass(0);
  memmove(buffer, buffer + at, have - at);
  have -= at;
  streams_pump_due();
}

/* ---- to the host ---- */

static void put(enum frame_type type, uint8_t channel, uint32_t stream, uint64_t offset, const void *data,
                uint32_t size) {
  struct header h = {size, (uint8_t)type, channel, epoch, stream, 0, offset};
  memcpy(control + control_size, &h, HEADER_BYTES);
  if (size) memcpy(control + control_size + HEADER_BYTES, data, size);
  control_size += HEADER_BYTES + size;
}

static bool room(void) { return control_size + CONTROL_FRAME_MAX <= CONTROL_BYTES; }

static void put_hello(void) {
  struct hello hello = {{0}, WIRE_VERSION, SLOTS_MAX, INPUT_WINDOW_BYTES, OUTPUT_RING_BYTES, streams_highest, 0};
  for (uint32_t i = streams_from(0); i < tunnels_end; i = streams_from(i + 1))
    if (streams[i] && streams[i]->state_due) hello.live++;
  memcpy(hello.nonce, nonce, NONCE_BYTES);
  put(FRAME_HELLO, 0, 0, 0, &hello, sizeof hello);
}

static void put_state(const struct stream *s) {
  struct state state = {s->kind, s->finished, s->in.received, s->in.consumed, {s->out[0].acked, s->out[1].acked},
                        s->spot};
  put(FRAME_STATE, 0, s->id, 0, &state, sizeof state);
}

static bool credit_due(const struct stream *s) {
  uint64_t owed = s->in.consumed - s->in.credited;
  return owed >= stream_input_window(s) / 4 || (owed && s->in.consumed == s->in.received);
}

/* What the host must learn of a stream follows from its state, so nothing is queued and a resync repeats it all. */
static void put_stream(struct stream *s) {
  if (s->state_due) {
    put_state(s);
    s->state_due = false;
  }
  if (s->started && !s->started_sent) {
    if (is_tunnel(s->kind)) put(FRAME_STARTED, 0, s->id, s->spot, &s->listener, sizeof s->listener);
    else put(FRAME_STARTED, 0, s->id, (uint64_t)s->pid, NULL, 0);
    s->started_sent = true;
  }
  if (credit_due(s)) {
    s->in.credited = s->in.consumed;
    put(FRAME_CREDIT, CHANNEL_IN, s->id, s->in.consumed, NULL, 0);
  }
  if (s->in.wanted && s->in.fd < 0 && !s->in.end && !s->in.end_sent) {
    put(FRAME_END, CHANNEL_IN, s->id, s->in.received, NULL, 0);
    s->in.end_sent = true;
  }
  for (int i = 0; i < 2; i++) {
    struct output *o = &s->out[i];
    uint64_t due = stream_end_due_ms(s, o);
    if (due == UINT64_MAX || (due && due > now_ms())) continue;
    put(FRAME_END, (uint8_t)(CHANNEL_OUT + i), s->id, o->tail, NULL, 0);
    o->end_sent = true;
  }
  if (s->finished && !s->exit_sent && s->out[0].end_sent && s->out[1].end_sent) {
    put(FRAME_EXIT, 0, s->id, 0, &s->exit, sizeof s->exit);
    s->exit_sent = true;
  }
}

static void gather_control(void) {
  if (hello_due) {
    put_hello();
    hello_due = false;
  }
  if (pong_due) {
    put(FRAME_PONG, 0, 0, pong_value, NULL, 0);
    pong_due = false;
  }
  for (; failure_count > 0 && room(); failure_count--) {
    struct failure *f = &failures[0];
    put(FRAME_ERROR, 0, f->stream, (uint64_t)f->error, f->text, (uint32_t)strlen(f->text));
    memmove(f, f + 1, (failure_count - 1) * sizeof *f);
  }
  for (uint32_t i = streams_from(0); i < tunnels_end && room(); i = streams_from(i + 1))
    if (streams[i]) put_stream(streams[i]);
}

/* One frame a stream in turn, so that a noisy one slows no other. */
static bool choose_slice(void) {
  uint32_t all = streams_end + tunnels_end - STREAMS_MAX;
  for (uint32_t n = 0; n < 2 * all; n++) {
    turn = (turn + 1) % (2 * all);
    struct stream *s = streams[turn / 2 < streams_end ? turn / 2 : turn / 2 - streams_end + STREAMS_MAX];
    if (!s || s->closing) continue;
    struct output *o = &s->out[turn % 2];
    if (o->sent == o->tail) continue;
    slice_size = o->tail - o->sent > TO_HOST_PAYLOAD_BYTES ? TO_HOST_PAYLOAD_BYTES : (size_t)(o->tail - o->sent);
    slice = o;
    slice_at = o->sent;
    slice_of = s;
    put(FRAME_DATA, (uint8_t)(CHANNEL_OUT + turn % 2), s->id, o->sent, NULL, 0);
    uint32_t size = (uint32_t)slice_size;
    memcpy(control + control_size - HEADER_BYTES, &size, sizeof size);
    o->sent += slice_size;
    return true;
  }
  return false;
}

static bool write_some(void) {
  struct iovec parts[3];
  int count = 0;
  if (written < control_size) parts[count++] = (struct iovec){control + written, control_size - written};
  size_t of_slice = written > control_size ? written - control_size : 0;
  if (of_slice < slice_size) count += ring_parts(slice, slice_at + of_slice, slice_size - of_slice, parts + count);
  ssize_t size = writev(WIRE_OUT, parts, count);
  if (size < 0) return false;
  written += (size_t)size;
  return true;
}

static void wait_writable(bool wanted) {
  if (wanted == waiting) return;
  waiting = wanted;
  poll_change(WIRE_OUT, wanted ? EPOLLOUT : 0, POLL_WIRE_OUT, SLOTS_MAX);
}

void wire_flush(void) {
  if (!attached) return;
  for (;;) {
    if (written == control_size + slice_size) {
      written = control_size = slice_size = 0;
      slice_of = NULL;
      gather_control();
      if (room() && !choose_slice() && control_size == 0) return wait_writable(false);
    }
    if (!write_some()) return wait_writable(errno == EAGAIN || errno == EINTR);
  }
}

/* Listeners and connections of a sandbox, and what streams do otherwise where one of these is their source. */
#ifndef CAISSON_TUNNEL_H
#define CAISSON_TUNNEL_H

#include "guest.h"

static inline bool is_tunnel(uint8_t kind) { return kind >= KIND_LISTEN && kind <= KIND_DATAGRAMS; }

/* stream.c */
extern uint8_t *spare_ring, *spare_window; /* of OUTPUT_RING_BYTES and of TUNNEL_WINDOW_BYTES, or NULL */
uint8_t *ring_memory_take(uint32_t size);
void ring_memory_give(uint8_t *ring, uint32_t size);
void stream_output_stop(struct stream *s);

/* input.c */
uint32_t stream_input_window(const struct stream *s);
void stream_input_stop(struct stream *s);
void streams_input_pass(uint32_t unless);
void streams_pump_due(void);

/* tunnel.c */
void tunnel_start(struct stream *s, const struct spec *spec);
void tunnel_connected(struct stream *s, int fd);
void tunnel_watch(struct stream *s, uint32_t events);
void tunnel_interest(struct stream *s, uint32_t events);
void tunnel_settle(struct stream *s);
void tunnel_drop(struct stream *s);
void tunnel_resync(struct stream *s);
void tunnel_event(struct stream *s, uint32_t events);
void tunnels_pause(bool paused);

/* listen.c */
void bind_spot(struct stream *s, const struct spec *spec, int type);
void listen_start(struct stream *s, const struct spec *spec);
void listen_event(struct stream *s);
void listen_wait(struct stream *s);
void listen_forget(struct stream *s);
void listeners_again(void);
bool listen_holds(uint16_t port);

/* datagram.c */
void datagrams_start(struct stream *s, const struct spec *spec);
void datagrams_event(struct stream *s);
void datagrams_send(struct stream *s, uint64_t offset, const uint8_t *data, uint32_t size);

/* loopback.c */
void loopback_prepare(void);

#endif

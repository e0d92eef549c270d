#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Datagrams to a place that the owner asked for, each with a head before it; so are the answers, one a frame. As datagrams
   are: what finds no room is dropped. */

struct head {
  uint32_t size;
  uint32_t port;
  uint64_t address;
};
enum { DATAGRAM_BYTES = FROM_HOST_FRAME_BYTES - HEADER_BYTES - sizeof(struct head), PORTION = 64 };

void datagrams_start(struct stream *s, const struct spec *spec) { bind_spot(s, spec, SOCK_DGRAM); }

void datagrams_event(struct stream *s) {
  static uint8_t record[sizeof(struct head) + DATAGRAM_BYTES + 1];
  for (int i = 0; i < PORTION; i++) {
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    ssize_t size = recvfrom(s->socket, record + sizeof(struct head), DATAGRAM_BYTES + 1, 0, (struct sockaddr *)&from, &from_size);
    if (size < 0) return; /* nothing is left, or an answer of before found nobody: the next look tells */
    if (size == 0 || size > DATAGRAM_BYTES) continue;
    struct head head = {(uint32_t)size, ntohs(from.sin_port), ntohl(from.sin_addr.s_addr)};
    memcpy(record, &head, sizeof head);
    stream_output_put(s, record, sizeof head + (uint32_t)size);
  }
}

void datagrams_send(struct stream *s, uint64_t offset, const uint8_t *data, uint32_t size) {
  struct head head;
  if (offset != s->in.received) return wire_error(s->id, EPROTO, "input out of order");
  s->in.received += size;
  s->in.consumed = s->in.received;
  if (s->socket < 0 || size < sizeof head) return;
  memcpy(&head, data, sizeof head);
  if (head.size != size - sizeof head) return;
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)head.port),
                           .sin_addr.s_addr = htonl((uint32_t)head.address)};
  sendto(s->socket, data + sizeof head, head.size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
}

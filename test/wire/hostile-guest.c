/* A guest that greets properly and then misbehaves in one way, chosen at compile time (-DMODE=…). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { GARBAGE = 1, HUGE, OPENS, NOTHING, UNKNOWN_STREAM, FLOOD, WRONG_EPOCH, BLOCKING, QUIT = 10 };

struct header {
  uint32_t size;
  uint8_t type, channel;
  uint16_t epoch;
  uint32_t stream, reserved;
  uint64_t offset;
};
static struct header in;
static uint8_t body[8192];

static void read_all(void *to, size_t size) {
  for (uint8_t *at = to; size;) {
    ssize_t n = read(0, at, size);
    if (n <= 0) continue;
    at += n;
    size -= (size_t)n;
  }
}
static void send_frame(struct header h, const void *data) {
  static uint8_t frame[70000];
  memcpy(frame, &h, sizeof h);
  if (data) memcpy(frame + sizeof h, data, h.size);
  for (size_t at = 0, all = sizeof h + (data ? h.size : 0); at < all;) {
    ssize_t n = write(1, frame + at, all - at);
    if (n > 0) at += (size_t)n;
  }
}
static void receive(void) {
  read_all(&in, sizeof in);
  if (in.size > sizeof body) _exit(9);
  read_all(body, in.size);
}
static void greet(void) {
  uint8_t hello[40];
  uint32_t numbers[6] = {VERSION, 256, 65536, 262144, 0, 0};
  do receive(); while (in.type != 2);
  memcpy(hello, body, 16);
  memcpy(hello + 16, numbers, 24);
  send_frame((struct header){40, 1, 0, in.epoch, 0, 0, 0}, hello);
}

int main(void) {
  uint16_t epoch;
  if (MODE == NOTHING) for (;;) pause();
  if (MODE == BLOCKING) fcntl(0, F_SETFL, 0), fcntl(1, F_SETFL, 0);
  greet();
  epoch = in.epoch;
  if (MODE == QUIT) return 0;
  if (MODE == BLOCKING) for (;;) pause();
  do receive(); while (in.type != 6 || in.channel != 1); /* the first OPEN of a process */
  uint8_t junk[65536];
  memset(junk, 0x5a, sizeof junk);
  switch (MODE) {
    case GARBAGE: for (;;) if (write(1, junk, sizeof junk) < 0) pause();
    case HUGE: send_frame((struct header){0xffffffff, 8, 1, epoch, in.stream, 0, 0}, NULL); break;
    case OPENS:
      for (uint32_t i = 1; i <= 1000000; i++) send_frame((struct header){0, 6, 1, epoch, i, 0, 0}, NULL);
      break;
    case UNKNOWN_STREAM: send_frame((struct header){1, 8, 1, epoch, 4242, 0, 0}, junk); break;
    case WRONG_EPOCH: send_frame((struct header){0, 7, 0, (uint16_t)(epoch + 1), in.stream, 0, 0}, NULL); break;
    case FLOOD:
      for (uint64_t at = 0;; at += sizeof junk) send_frame((struct header){sizeof junk, 8, 1, epoch, in.stream, 0, at}, junk);
  }
  for (;;) pause();
}

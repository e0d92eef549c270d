/*
 * What the resident process waits for. It is told what is ready, and looks at nothing else: with hundreds of sandboxes
 * each turn would ask each of them. A descriptor is taken out before it is closed: a forked child may have it too.
 */
#include "helper.h"

#include <sys/epoll.h>
#include <unistd.h>

static int loop = -1;

bool loop_open(void) {
  loop = epoll_create1(EPOLL_CLOEXEC);
  return loop >= 0;
}

bool loop_add(int fd, enum source source, unsigned number) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | number};
  return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0;
}

void loop_close(int fd) {
  epoll_ctl(loop, EPOLL_CTL_DEL, fd, NULL);
  close(fd);
}

int loop_wait(struct ready *list, int timeout_ms) {
  struct epoll_event events[READY_MAX];
  int count = epoll_wait(loop, events, READY_MAX, timeout_ms);
  for (int i = 0; i < count; i++)
    list[i] = (struct ready){(enum source)(events[i].data.u64 >> 32), (unsigned)events[i].data.u64};
  return count < 0 && errno == EINTR ? 0 : count;
}

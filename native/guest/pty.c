#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "raw.h"

/* Terminals. The guest has the master, and never the slave: with the slave open elsewhere, the end of a session is a hang-up
   that throws away output which nobody has read yet. */

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

static bool window(uint64_t size, struct winsize *w) {
  uint64_t rows = size & 0xffff, columns = size >> 16;
  if (rows < 1 || rows > TERMINAL_SIDE_MAX || columns < 1 || columns > TERMINAL_SIDE_MAX) return false;
  *w = (struct winsize){.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  return true;
}

void pty_close(struct pty *p) {
  int *all[] = {&p->master, &p->input};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (*all[i] >= 0) close(*all[i]);
    *all[i] = -1;
  }
}

/* Returns false with errno. */
static bool prepare(struct pty *p, const struct winsize *w) {
  int unlock = 0;
  struct termios modes;
  /* The terminal belongs to whoever opens it, and user code must be able to open it again. */
  if (!privilege_borrow_user()) return false;
  p->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  privilege_return_user();
  if (p->master < 0) return false;
  if ((p->input = fcntl(p->master, F_DUPFD_CLOEXEC, 0)) < 0) return false;
  if (ioctl(p->master, TIOCSPTLCK, &unlock) < 0 || ioctl(p->master, TIOCSWINSZ, w) < 0) return false;
  if (tcgetattr(p->master, &modes) < 0) return false;
  modes.c_iflag |= IUTF8;
  return tcsetattr(p->master, TCSANOW, &modes) == 0;
}

bool pty_open(struct pty *p, uint64_t size) {
  struct winsize w;
  *p = NO_PTY;
  if (!window(size, &w)) {
    errno = EINVAL;
    return false;
  }
  if (prepare(p, &w)) return true;
  int error = errno;
  pty_close(p);
  errno = error;
  return false;
}

/* The newborn's part, when it leads a session and has its rights yet. Returns the slave, or a negative errno. */
NEWBORN long pty_enter(const struct pty *p) {
  long slave = CALL(ioctl, p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
  if (slave < 0) return slave;
  long error = CALL(ioctl, slave, TIOCSCTTY, 0, 0);
  return error < 0 ? error : slave;
}

/* The master becomes the stream's input and its one output. Polled by edges: a terminal that nobody has open now is
   hung up, and by level that would wake the guest without end. */
void pty_follow(struct stream *s, struct pty *p) {
  s->in.fd = p->input;
  s->out[0].fd = p->master;
  p->input = p->master = -1;
  s->terminal = s->in.wanted = s->out[1].eof = true;
  poll_add(s->out[0].fd, EPOLLIN | EPOLLOUT | EPOLLET, POLL_OUTPUT, s->slot);
  pty_close(p);
}

void pty_resize(struct stream *s, uint64_t size) {
  struct winsize w;
  if (s->finished) return;
  if (!s->terminal || !window(size, &w)) return wire_error(s->id, EINVAL, "bad resize");
  ioctl(s->out[0].fd, TIOCSWINSZ, &w);
}

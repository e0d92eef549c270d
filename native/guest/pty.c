#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "raw.h"

/* Terminals. The guest has the master; it never keeps the slave where the kernel is Linux: with the slave open elsewhere,
   the end of a session is a hang-up that throws away output which nobody has read yet.

   gVisor's terminals raise no signals and tell their foreground group only to their own session. There a keeper, a
   process of the session under the guest's uid, signals that group when the guest says so; it holds the slave. */

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

static bool window(uint64_t size, struct winsize *w) {
  uint64_t rows = size & 0xffff, columns = size >> 16;
  if (rows < 1 || rows > TERMINAL_SIDE_MAX || columns < 1 || columns > TERMINAL_SIDE_MAX) return false;
  *w = (struct winsize){.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  return true;
}

/* The terminal belongs to whoever opens it, and user code must be able to open it again. The real uid stays: user code
   can signal this process at no time. */
static int open_as_user(const char *path, int flags) {
  if (setresuid((uid_t)-1, USER_ID, (uid_t)-1) < 0) return -1;
  int fd = open(path, flags), error = errno;
  if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0) die("setresuid");
  prctl(PR_SET_DUMPABLE, 0); /* a change of ids may have set it again */
  errno = error;
  return fd;
}

static int open_slave(int master) {
  int number;
  char path[32];
  if (ioctl(master, TIOCGPTN, &number) < 0) return -1;
  snprintf(path, sizeof path, "/dev/pts/%d", number);
  return open_as_user(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void pty_close(struct pty *p) {
  int *all[] = {&p->master, &p->input, &p->slave, &p->keeper[0], &p->keeper[1]};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (*all[i] >= 0) close(*all[i]);
    *all[i] = -1;
  }
}

/* Returns false with errno. */
static bool prepare(struct pty *p, const struct winsize *w) {
  int unlock = 0;
  struct termios modes;
  pid_t group;
  if ((p->master = open_as_user("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) < 0) return false;
  if ((p->input = fcntl(p->master, F_DUPFD_CLOEXEC, 0)) < 0) return false;
  if (ioctl(p->master, TIOCSPTLCK, &unlock) < 0 || ioctl(p->master, TIOCSWINSZ, w) < 0) return false;
  if (tcgetattr(p->master, &modes) < 0) return false;
  modes.c_iflag |= IUTF8;
  if (tcsetattr(p->master, TCSANOW, &modes) < 0) return false;
  if (ioctl(p->master, TIOCGPGRP, &group) == 0) return true; /* Linux: the master knows the session's groups */
  if ((p->slave = open_slave(p->master)) < 0) return false;
  return pipe2(p->keeper, O_CLOEXEC | O_NONBLOCK) == 0 && fcntl(p->keeper[0], F_SETFL, 0) == 0;
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

static _Noreturn void keep(int orders, int slave) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  if (dup2(orders, 0) < 0 || dup2(slave, 1) < 0) _exit(71);
  close_all_from(2);
  setpgid(0, 0);
  prctl(PR_SET_NAME, "caisson-tty");
  for (;;) {
    unsigned char number;
    pid_t group;
    if (read(0, &number, 1) != 1) _exit(0); /* the guest has closed it: the run has ended */
    if (ioctl(1, TIOCGPGRP, &group) < 0 || group <= 1) continue;
    if (number == SIGTSTP && group == getsid(0)) continue; /* the leader's own: nobody is there to let it go on */
    kill(-group, number);
  }
}

/* A grandchild, so that it is nobody's child but PID 1's (gVisor ignores CLONE_PARENT): the program must not find it.
   It has a copy of the newborn's memory. */
NEWBORN static long start_keeper(int orders, int slave) {
  int status = 0;
  long pid = CALL(clone, SIGCHLD, 0, 0, 0);
  if (pid == 0) {
    pid = CALL(clone, SIGCHLD, 0, 0, 0);
    if (pid == 0) keep(orders, slave);
    for (;;) CALL(exit_group, pid < 0, 0, 0, 0);
  }
  if (pid > 0) pid = CALL(wait4, pid, &status, 0, 0);
  return pid > 0 && status ? -EAGAIN : pid;
}

/* The newborn's part, when it leads a session and has its rights yet. Returns the slave, or a negative errno. */
NEWBORN long pty_enter(const struct pty *p) {
  long slave = p->slave, error;
  if (slave < 0) slave = CALL(ioctl, p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
  if (slave < 0) return slave;
  error = CALL(ioctl, slave, TIOCSCTTY, 0, 0);
  if (error >= 0 && p->keeper[0] >= 0) error = start_keeper(p->keeper[0], (int)slave);
  return error < 0 ? error : slave;
}

/* The master becomes the stream's input and its one output. Polled by edges: a terminal that nobody has open now is
   hung up, and by level that would wake the guest without end. */
void pty_follow(struct stream *s, struct pty *p) {
  s->in.fd = p->input;
  s->out[0].fd = p->master;
  s->keeper_fd = p->keeper[1];
  p->input = p->master = p->keeper[1] = -1;
  s->terminal = s->in.wanted = s->out[1].eof = true;
  poll_add(s->out[0].fd, EPOLLIN | EPOLLOUT | EPOLLET, POLL_OUTPUT, s->slot);
  pty_close(p);
}

static void tell_keeper(const struct stream *s, int number) {
  unsigned char byte = (unsigned char)number;
  if (s->keeper_fd >= 0) (void)!write(s->keeper_fd, &byte, 1);
}

void pty_resize(struct stream *s, uint64_t size) {
  struct winsize w;
  if (s->finished) return;
  if (!s->terminal || !window(size, &w)) return wire_error(s->id, EINVAL, "bad resize");
  if (ioctl(s->out[0].fd, TIOCSWINSZ, &w) == 0) tell_keeper(s, SIGWINCH);
}

static int signal_of(const struct termios *modes, uint8_t byte) {
  if (byte == 0) return 0; /* a character that is switched off */
  if (byte == modes->c_cc[VINTR]) return SIGINT;
  if (byte == modes->c_cc[VQUIT]) return SIGQUIT;
  return byte == modes->c_cc[VSUSP] ? SIGTSTP : 0;
}

static void echo(struct stream *s, const struct termios *modes, uint8_t byte) {
  if (!(modes->c_lflag & ECHO)) return;
  uint8_t shown[2] = {'^', byte ^ 0x40};
  bool plain = (byte >= 0x20 && byte != 0x7f) || !(modes->c_lflag & ECHOCTL);
  if (plain) stream_output_add(s, &byte, 1);
  else stream_output_add(s, shown, 2);
}

/* As write(), with the terminal's signals where the kernel has none. */
ssize_t pty_write(struct stream *s, const uint8_t *data, size_t size) {
  struct termios modes;
  if (s->keeper_fd < 0 || tcgetattr(s->in.fd, &modes) < 0 || !(modes.c_lflag & ISIG)) return write(s->in.fd, data, size);
  size_t plain = 0;
  while (plain < size && !signal_of(&modes, data[plain])) plain++;
  if (plain > 0) return write(s->in.fd, data, plain);
  tell_keeper(s, signal_of(&modes, data[0]));
  echo(s, &modes, data[0]);
  return 1;
}

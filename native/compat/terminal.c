/* gVisor releases of 2022 know neither TCSETSF, which Python's tty and curses use, nor TCFLSH, nor TCSBRK. Its terminals
   hold no output back, so waiting for it is nothing; input that was typed before is not thrown away. */
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* The kernel's struct is the beginning of the C library's. */
int tcsetattr(int fd, int action, const struct termios *modes) {
  return (int)syscall(SYS_ioctl, fd, action == TCSANOW ? TCSETS : TCSETSW, modes);
}

static int on_terminal(int fd) {
  struct termios modes;
  return (int)syscall(SYS_ioctl, fd, TCGETS, &modes);
}

int tcflush(int fd, int queue) {
  (void)queue;
  return on_terminal(fd);
}

int tcdrain(int fd) { return on_terminal(fd); }

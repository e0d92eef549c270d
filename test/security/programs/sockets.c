/* Sockets and terminals. */
#define _GNU_SOURCE
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

struct kind {
  const char *name;
  int family, type, protocol;
};

static const struct kind kinds[] = {
    {"packet", AF_PACKET, SOCK_RAW, 0x0300},
    {"packet", AF_PACKET, SOCK_DGRAM, 0x0300},
    {"packet", AF_INET, 10 /* SOCK_PACKET */, 0x0300},
    {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
    {"raw", AF_INET, SOCK_RAW, IPPROTO_RAW},
    {"raw", AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP},
    {"raw", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6},
    {"vsock", 40 /* AF_VSOCK */, SOCK_STREAM, 0},
    {"vsock", 40, SOCK_DGRAM, 0},
};

static void try_socket(const char *name, int family, int type, int protocol) {
  int fd = socket(family, type, protocol);
  if (fd < 0) return missed("%s socket (%d, %d, %d)", name, family, type, protocol);
  gained("%s socket (%d, %d, %d)", name, family, type, protocol);
  close(fd);
}

/* sockets KIND */
static int open_sockets(int count, char **words) {
  if (count < 2) return 64;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, words[1])) try_socket(words[1], kinds[i].family, kinds[i].type, kinds[i].protocol);
  return 0;
}

/* netlink-sockets: every protocol but route. */
static int open_netlink(int count, char **words) {
  (void)count, (void)words;
  for (int protocol = 1; protocol < 23; protocol++) {
    try_socket("netlink", AF_NETLINK, SOCK_RAW, protocol);
    try_socket("netlink", AF_NETLINK, SOCK_DGRAM, protocol);
  }
  return 0;
}

/* other-sockets: every family but Unix, IPv4, IPv6 and netlink, and every type that is none. */
static int open_others(int count, char **words) {
  (void)count, (void)words;
  for (int family = 3; family < 48; family++) {
    if (family == AF_INET6 || family == AF_NETLINK) continue;
    for (int type = 1; type <= 6; type++) {
      int pair[2];
      try_socket("odd", family, type, 0);
      if (socketpair(family, type, 0, pair) == 0) gained("odd socket pair (%d, %d)", family, type);
    }
  }
  return 0;
}

static void show_answer(int fd, const struct sockaddr *address, socklen_t size, const char *what) {
  char text[4096];
  struct timeval patience = {2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ssize_t got = fd < 0 || connect(fd, address, size) < 0 ? -1 : recv(fd, text, sizeof text, 0);
  if (got < 0) missed("connecting to %s", what);
  else say("%s answered %.*s", what, (int)got, text);
  if (fd >= 0) close(fd);
}

/* read-abstract NAME: what an abstract Unix socket says. */
static int read_abstract(int count, char **words) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (count < 2) return 64;
  strncpy(address.sun_path + 1, words[1], sizeof address.sun_path - 2);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(words[1]));
  show_answer(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size, words[1]);
  return 0;
}

/* hold-abstract NAME SECRET: answers with it until standard input ends. */
static int hold_abstract(int count, char **words) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char byte;
  if (count < 3) return 64;
  strncpy(address.sun_path + 1, words[1], sizeof address.sun_path - 2);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(words[1]));
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 8) < 0) return missed("listening"), 1;
  pid_t pid = fork();
  for (int client; pid == 0 && (client = accept(server, NULL, NULL)) >= 0; close(client))
    if (write(client, words[2], strlen(words[2])) < 0) missed("answering");
  say("ready");
  while (read(0, &byte, 1) > 0) {
  }
  return kill(pid, 9);
}

/* read-port PORT: what a TCP port of the loopback says. */
static int read_port(int count, char **words) {
  if (count < 2) return 64;
  in_port_t port = htons((unsigned short)number(words[1]));
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = port};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  show_answer(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&four, sizeof four, "127.0.0.1");
  show_answer(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&any, sizeof any, "0.0.0.0");
  show_answer(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&six, sizeof six, "::1");
  return 0;
}

/* hold-port SECRET: a loopback port of the kernel's choice that answers with it until standard input ends. */
static int hold_port(int count, char **words) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  char byte;
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (count < 2 || bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 8) < 0) return missed("listening"), 1;
  getsockname(server, (struct sockaddr *)&address, &size);
  pid_t pid = fork();
  for (int client; pid == 0 && (client = accept(server, NULL, NULL)) >= 0; close(client))
    if (write(client, words[1], strlen(words[1])) < 0) missed("answering");
  say("ready %d", ntohs(address.sin_port));
  while (read(0, &byte, 1) > 0) {
  }
  return kill(pid, 9);
}

/* A filter that compares the whole request word is passed by bits above the 32 that the kernel looks at. */
static void push_byte(int terminal, const char *name) {
  static const unsigned long requests[] = {0x5412ul, 0xffffffff00005412ul, 0x100005412ul};
  char got = 0;
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    char byte = 'x';
    if (syscall(SYS_ioctl, terminal, requests[i], &byte) < 0) missed("TIOCSTI %lx on %s", requests[i], name);
    else if (read(terminal, &got, 1) == 1 && got == 'x') gained("a typed byte on %s by %lx", name, requests[i]);
  }
  char paste[2] = {3 /* paste the selection */, 0};
  if (ioctl(terminal, 0x541c /* TIOCLINUX */, paste) == 0) gained("a paste on %s", name);
}

/* type-into-terminal: the one we were given, if any; then one of our own, where the call alone must fail. */
static int type_into_terminal(int count, char **words) {
  (void)count, (void)words;
  static const char *const names[] = {"/dev/tty", "/dev/console", "/dev/tty1", "/dev/pts/0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int fd = open(names[i], O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) missed("opening %s", names[i]);
    else gained("terminal %s", names[i]), close(fd);
  }
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return missed("a terminal of its own"), 0;
  pid_t pid = fork();
  if (pid == 0) {
    struct termios mode;
    setsid();
    int terminal = open(ptsname(master), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
    tcgetattr(terminal, &mode);
    cfmakeraw(&mode);
    mode.c_cc[VMIN] = 0;
    mode.c_cc[VTIME] = 1;
    tcsetattr(terminal, TCSANOW, &mode);
    push_byte(terminal, "its own terminal");
    _exit(0);
  }
  waitpid(pid, NULL, 0);
  return 0;
}

const struct command socket_commands[] = {
    {"sockets", open_sockets},         {"netlink-sockets", open_netlink}, {"other-sockets", open_others},
    {"read-abstract", read_abstract},  {"hold-abstract", hold_abstract},  {"read-port", read_port},
    {"hold-port", hold_port},          {"type-into-terminal", type_into_terminal},
    {NULL, NULL},
};

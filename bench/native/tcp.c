/* Bytes and connections over TCP.
   serve PORT BYTES        gives each connection that many bytes; prints its port
   take PORT               reads each connection to its end, then ends it too; prints its port
   pull HOST PORT          reads one to its end; prints bytes and seconds from its first byte
   push HOST PORT BYTES    writes that many and waits for the other end; prints bytes and seconds
   first HOST PORT COUNT   connects that often; prints the microseconds of each from connect to its first byte
   first HOST PORT COUNT PLACE   the same of a proxy's answer to CONNECT PLACE */
#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 18];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void give(int fd, long long left) {
  while (left > 0) {
    ssize_t size = write(fd, buffer, left < (long long)sizeof buffer ? (size_t)left : sizeof buffer);
    if (size <= 0) break;
    left -= size;
  }
}

static void drain(int fd) {
  while (read(fd, buffer, sizeof buffer) > 0) {}
}

/* To each connection a process of its own, unless it is over at once. Less than 0 bytes: they come from the other side. */
static void serve(int port, long long bytes) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 1024) < 0) die("listen");
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) die("accept");
    if (bytes == 1) {
      if (write(fd, buffer, 1) < 0) perror("write");
    } else if (fork() == 0) {
      if (bytes < 0) drain(fd);
      else give(fd, bytes);
      _exit(0);
    }
    close(fd);
  }
}

static struct addrinfo *find(const char *host, const char *port) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(host, port, &hints, &found) != 0) die("name");
  return found;
}

static int reach(const struct addrinfo *to) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) < 0) die("connect");
  return fd;
}

static void pull(const struct addrinfo *to) {
  int fd = reach(to);
  long long bytes = read(fd, buffer, sizeof buffer);
  double start = now();
  for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;) bytes += size;
  printf("%lld %.6f\n", bytes, now() - start);
}

static void push(const struct addrinfo *to, long long bytes) {
  int fd = reach(to);
  double start = now();
  give(fd, bytes);
  shutdown(fd, SHUT_WR);
  drain(fd);
  printf("%lld %.6f\n", bytes, now() - start);
}

static void first(const struct addrinfo *to, int count, const char *place) {
  while (count-- > 0) {
    double start = now();
    int fd = reach(to);
    if (place && dprintf(fd, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", place, place) < 0) die("write");
    if (read(fd, buffer, 1) != 1) die("read");
    printf("%.1f\n", (now() - start) * 1e6);
    close(fd);
  }
}

int main(int count, char **words) {
  if (count == 4 && !strcmp(words[1], "serve")) serve(atoi(words[2]), atoll(words[3]));
  if (count == 3 && !strcmp(words[1], "take")) serve(atoi(words[2]), -1);
  if (count == 4 && !strcmp(words[1], "pull")) return pull(find(words[2], words[3])), 0;
  if (count == 5 && !strcmp(words[1], "push")) return push(find(words[2], words[3]), atoll(words[4])), 0;
  if ((count == 5 || count == 6) && !strcmp(words[1], "first"))
    return first(find(words[2], words[3]), atoi(words[4]), words[5]), 0;
  fprintf(stderr, "serve PORT BYTES | take PORT | pull HOST PORT | push HOST PORT BYTES | first HOST PORT COUNT [PLACE]\n");
  return 2;
}

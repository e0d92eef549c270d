#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* 127.64.0.1/10 on lo: the C library looks up no IPv4 address of a name where 127.0.0.1 is the only one there is (hazard
   21). The guest's own services are reached there with or without it. */
void loopback_prepare(void) {
  struct {
    struct nlmsghdr head;
    struct ifaddrmsg about;
    struct rtattr local_head;
    uint32_t local;
  } ask = {
      .head = {sizeof ask, RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 1, 0},
      .about = {.ifa_family = AF_INET, .ifa_prefixlen = 10, .ifa_scope = RT_SCOPE_HOST, .ifa_index = 1},
      .local_head = {sizeof(struct rtattr) + sizeof(uint32_t), IFA_LOCAL},
      .local = htonl(0x7f400001),
  };
  uint8_t answer[512];
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return;
  if (send(fd, &ask, sizeof ask, 0) == sizeof ask) (void)!recv(fd, answer, sizeof answer, 0);
  close(fd);
}

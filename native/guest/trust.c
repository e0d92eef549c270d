#define _GNU_SOURCE
#include "guest.h"

#include <sys/stat.h>
#include <unistd.h>

/* /etc, which all sandboxes share, says that the bundle of certificates to trust lies in /run, where an owner may place another
   one; until then it is the host's. Where it cannot be made programs trust nobody. */
void trust_prepare(void) {
  mkdir("/run/caisson", 0755);
  (void)!symlink("/etc/ssl/host-bundle.crt", "/run/caisson/ca-bundle.pem");
}

/* A copy that goes on from saved memory has its original's generators: keys drawn in both would be the same. Node has no call
   that seeds OpenSSL anew, so a code context's kernel loads this library as a module, which does. Every generator of
   the process follows the first one. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

extern void RAND_add(const void *data, int size, double bytes) __attribute__((weak)); /* the program's own, or its library's */

void *napi_register_module_v1(void *environment, void *exports) {
  char fresh[48];
  (void)environment;
  if (!RAND_add || syscall(SYS_getrandom, fresh, sizeof fresh, 0) != (long)sizeof fresh) return NULL;
  RAND_add(fresh, sizeof fresh, sizeof fresh);
  return exports;
}

/* What the tests look for with this program, to see that it finds anything. */
#include "fuzz.h"

#include <stdlib.h>

static void run(const uint8_t *data, size_t size) {
  volatile uint8_t *block = malloc(4);
  if (size > 1 && data[0] == 'A') block[data[1] >= 'a' ? 4 : 0] = 1; /* one past the end */
  free((void *)block);
}

const struct target mistake_target = {"mistake", run};

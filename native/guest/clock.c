#include "guest.h"

#include <time.h>

/* The time is read once a turn of the loop, and again after what may take long: under gVisor every look at a clock is a
   system call. */
static uint64_t read_us;

void clock_read(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  read_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
uint64_t now_us(void) { return read_us; }
uint64_t now_ms(void) { return read_us / 1000; }

/* The clock that limits of runs go by. It stands still while the host has paused the sandbox, from before the freezer
   holds until after it lets go, so no limit sees a paused moment. */
static uint64_t lost_us, stopped_us; /* in all pauses before this one; when this one began, or 0 */

void clock_pause(bool paused) {
  if (paused && !stopped_us) {
    stopped_us = now_us();
  } else if (!paused && stopped_us) {
    lost_us += now_us() - stopped_us;
    stopped_us = 0;
  }
}

uint64_t clock_run_us(void) { return (stopped_us ? stopped_us : now_us()) - lost_us; }

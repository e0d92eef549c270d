#define _GNU_SOURCE
#include "guest.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The clock, the limits and the end of runs. Nothing here waits: each turn of the loop does what is due. */

enum { TELL_START_MS = 2, KILL_MS = 5000, KILL_ROUND_MS = 2, CPU_LOOK_MS = 200, MEMORY_LOOK_MS = 50 };

struct run {
  struct start *start; /* until the newborn has become the program, or has ended */
  int start_error;
  bool ending, start_told;
  int clean, needed; /* looks that found nothing, and how many it takes */
  uint64_t timeout_ms, cpu_ms, memory_bytes;
  uint64_t started_us, end_until_us; /* by the clock that a pause stops */
  uint64_t settle_at_ms, look_at_ms, round_at_ms;
  uint64_t reaped_cpu_us, max_rss_bytes;
  struct exit_record exit;
};

static uint64_t scan_ms; /* what the last scan took */

static uint64_t processors(void) {
  static long count;
  if (!count) count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (uint64_t)count : 1;
}

/* CPU time cannot have passed its limit before this much time has passed on all processors. */
static uint64_t first_cpu_look_ms(const struct run *run) { return run->cpu_ms / processors(); }

static uint64_t elapsed_ms(const struct run *run) { return (clock_run_us() - run->started_us) / 1000; }

/* A scan of many processes takes its time; the loop gets at least as much for everything else. */
static uint64_t after_pause(uint64_t now, uint64_t pause_ms) { return now + (pause_ms > scan_ms ? pause_ms : scan_ms); }

static uint64_t next_look(const struct run *run, uint64_t now) {
  uint64_t passed = elapsed_ms(run), look = UINT64_MAX;
  if (run->cpu_ms) {
    uint64_t first = first_cpu_look_ms(run);
    look = first > passed + CPU_LOOK_MS ? now + first - passed : after_pause(now, CPU_LOOK_MS);
  }
  if (run->memory_bytes && look > now + MEMORY_LOOK_MS) look = after_pause(now, MEMORY_LOOK_MS);
  if (run->timeout_ms) {
    uint64_t end = run->timeout_ms > passed ? now + run->timeout_ms - passed : now;
    if (end < look) look = end;
  }
  return look;
}

void run_begin(struct stream *s, const struct spec *spec, struct start *start) {
  clock_read(); /* many may begin in one turn */
  struct run *run = calloc(1, sizeof *run);
  if (!run) die("out of memory");
  run->start = start;
  run->timeout_ms = spec->timeout_ms;
  run->cpu_ms = spec->cpu_ms;
  run->memory_bytes = spec->memory_bytes;
  run->started_us = clock_run_us();
  uint64_t now = now_ms();
  run->settle_at_ms = now + TELL_START_MS + 1;
  run->look_at_ms = next_look(run, now);
  s->run = run;
  children_left = true;
}

static void settle_start(struct stream *s) {
  struct run *run = s->run;
  if (!run->start) return;
  int error = start_outcome(run->start, s->reaped);
  if (error < 0) return;
  run->start = NULL;
  run->start_error = error;
}

bool run_is_newborn(struct stream *s) {
  if (!s->run) return false;
  settle_start(s);
  return s->run->start != NULL;
}

void run_account(struct stream *s, const struct rusage *use) {
  struct run *run = s->run;
  run->reaped_cpu_us += (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000 +
                        (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
  uint64_t rss = (uint64_t)use->ru_maxrss * 1024;
  if (rss > run->max_rss_bytes) run->max_rss_bytes = rss;
}

void run_main_ended(struct stream *s, int status) {
  s->run->exit.status = status;
  run_end(s, 0);
}

void run_end(struct stream *s, uint32_t flags) {
  struct run *run = s->run;
  if (!run || run->ending) return;
  uint64_t now = now_ms();
  run->exit.flags |= flags;
  run->ending = true;
  run->needed = 1;
  run->round_at_ms = now;
  run->end_until_us = clock_run_us() + KILL_MS * 1000;
  if (!s->reaped && s->pid > 0) kill(s->pid, SIGKILL); /* a newborn may not carry the run's group yet */
}

/* The process of a run that an interpreter began is known. */
void run_has_pid(struct stream *s) {
  if (s->run->ending) {
    kill(s->pid, SIGKILL);
    s->run->end_until_us = clock_run_us() + KILL_MS * 1000; /* only now can it be ended */
  } else if (s->early_signal) process_signal(s, SIGNAL_GROUP, s->early_signal);
}

void run_not_started(struct stream *s, int error) { s->run->start_error = error > 0 ? error : EIO; }

static void finish(struct stream *s) {
  struct run *run = s->run;
  struct exit_record *record = &run->exit;
  settle_start(s);
  if (WIFSIGNALED(record->status) && WTERMSIG(record->status) == SIGXCPU) record->flags |= EXIT_CPU_LIMIT;
  record->cpu_us = run->reaped_cpu_us;
  record->max_rss_bytes = run->max_rss_bytes;
  record->wall_us = clock_run_us() - run->started_us;
  if (s->warm) record->flags |= EXIT_WARM;
  if (run->start_error) *record = (struct exit_record){.status = run->start_error, .flags = EXIT_NOT_STARTED};
  s->run = NULL;
  stream_finish(s, record);
  free(run);
  warm_run_ended(s);
}

/* What ends at once is told of once: its start would only wake everybody up. */
static void tell_start(struct stream *s, uint64_t now) {
  struct run *run = s->run;
  if (run->start_told || now < run->settle_at_ms) return;
  settle_start(s);
  if (run->start || s->pid == 0) {
    run->settle_at_ms = now + TELL_START_MS;
  } else {
    run->start_told = true;
    s->started = !run->start_error;
  }
}

/* Whether the run wants a scan, and what of it. */
static bool ask(struct stream *s, uint64_t now, struct tree_sum *sum) {
  struct run *run = s->run;
  if (run->ending) {
    sum->kill = now >= run->round_at_ms;
    return sum->kill;
  }
  if (now < run->look_at_ms) return false;
  if (run->timeout_ms && elapsed_ms(run) >= run->timeout_ms) {
    run_end(s, EXIT_TIMED_OUT);
    return sum->kill = true;
  }
  sum->with_cpu = run->cpu_ms && elapsed_ms(run) >= first_cpu_look_ms(run);
  sum->with_memory = run->memory_bytes > 0;
  if (sum->with_cpu || sum->with_memory) return true;
  run->look_at_ms = next_look(run, now);
  return false;
}

/* Rounds of scan and SIGKILL. One must find nothing, and a second one too where anything moved: what forks behind the first
   one's back is seen by the second. A tree that forks faster than it is killed for KILL_MS wins, and the sandbox ends. */
static void after_round(struct stream *s, const struct tree_sum *sum, bool moved, uint64_t now) {
  struct run *run = s->run;
  if (sum->count || moved) run->needed = 2;
  run->clean = sum->count || !s->reaped ? 0 : run->clean + 1;
  if (run->clean >= run->needed) return finish(s);
  run->round_at_ms = run->clean ? now : after_pause(now, KILL_ROUND_MS);
  if (clock_run_us() <= run->end_until_us) return;
  if (warm_awaits(s, KILL_MS * 1000)) {
    run->end_until_us = clock_run_us() + KILL_MS * 1000;
    return;
  }
  errno = ECHILD;
  die("run could not be ended");
}

static void after_look(struct stream *s, const struct tree_sum *sum, uint64_t now) {
  struct run *run = s->run;
  if (sum->with_cpu && (sum->cpu_us + run->reaped_cpu_us) / 1000 >= run->cpu_ms) run_end(s, EXIT_CPU_LIMIT);
  else if (sum->with_memory && sum->rss_bytes > run->memory_bytes) run_end(s, EXIT_MEMORY_LIMIT);
  else run->look_at_ms = next_look(run, now);
}

static bool scan(struct tree_sum *sums) {
  uint64_t before = now_ms();
  bool moved = tree_scan(sums);
  clock_read();
  scan_ms = now_ms() - before;
  return moved;
}

void runs_step(void) {
  static struct tree_sum sums[STREAMS_MAX];
  bool wanted = false;
  uint64_t now = now_ms();
  for (uint32_t i = 0; i < streams_end; i++) {
    struct stream *s = streams[i];
    sums[i] = (struct tree_sum){.count = 0};
    if (!s || !s->run) continue;
    if (s->run->ending && s->reaped && !children_left) {
      finish(s);
      continue;
    }
    if (!s->run->ending) tell_start(s, now);
    wanted |= ask(s, now, &sums[i]);
  }
  if (now >= oom_due_ms()) oom_lower();
  warm_step(now);
  if (!wanted) return;
  bool moved = scan(sums);
  children_reap(0); /* what the scan saw as a zombie is accounted for before its run ends */
  now = now_ms();
  for (uint32_t i = 0; i < streams_end; i++) {
    struct stream *s = streams[i];
    if (!s || !s->run) continue;
    if (sums[i].kill) after_round(s, &sums[i], moved, now);
    else if (sums[i].with_cpu || sums[i].with_memory) after_look(s, &sums[i], now);
  }
}

/* One at a time: the memory of a run that is ending comes back only as its processes go. */
void runs_kill_biggest(void) {
  static struct tree_sum sums[STREAMS_MAX];
  struct stream *biggest = NULL;
  for (uint32_t i = 0; i < streams_end; i++) {
    sums[i] = (struct tree_sum){.with_memory = true};
    if (streams[i] && streams[i]->run && streams[i]->run->exit.flags & EXIT_MEMORY_LIMIT) return;
  }
  scan(sums);
  for (uint32_t i = 0; i < streams_end; i++) {
    struct stream *s = streams[i];
    if (!s || !s->run || s->run->ending) continue;
    if (!biggest || sums[i].rss_bytes > sums[biggest->slot].rss_bytes) biggest = s;
  }
  if (biggest) run_end(biggest, EXIT_MEMORY_LIMIT);
}

/* Until something is due; -1 where nothing is. */
int runs_wait_ms(void) {
  uint64_t now = now_ms(), due = warm_due_ms(now), lower = oom_due_ms();
  if (lower < due) due = lower;
  for (uint32_t i = 0; i < streams_end; i++) {
    const struct run *run = streams[i] ? streams[i]->run : NULL;
    if (!run) continue;
    uint64_t at = run->ending ? run->round_at_ms : run->look_at_ms;
    if (!run->ending && !run->start_told && run->settle_at_ms < at) at = run->settle_at_ms;
    for (int n = 0; n < 2; n++) {
      uint64_t end = stream_end_due_ms(streams[i], &streams[i]->out[n]);
      if (end < at) at = end;
    }
    if (at < due) due = at;
  }
  if (due == UINT64_MAX) return -1;
  if (due <= now) return 0;
  return due - now > WAIT_MOST_MS ? WAIT_MOST_MS : (int)(due - now);
}

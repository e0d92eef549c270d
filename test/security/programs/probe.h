/* The escape suite's own program: one static file with a word for each thing it tries. It says GAINED only after it has
   seen the effect; a secret it can reach it prints. Everything else it says is for the reader of a failure. */
#ifndef CAISSON_PROBE_H
#define CAISSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct command {
  const char *name;
  int (*run)(int count, char **words); /* words[0] is the command's own name */
};

extern const struct command reading_commands[], call_commands[], mount_commands[], node_commands[], identity_commands[],
    socket_commands[], ipc_commands[], process_commands[], guest_commands[], memory_commands[], count_commands[],
    shared_count_commands[], noise_commands[], swap_commands[];

int dispatch(int count, char **words);

void gained(const char *format, ...) __attribute__((format(printf, 1, 2)));
void missed(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints what is in the file or folder; false where it cannot be opened. */
bool show(const char *path);
bool show_at(int folder, const char *path);
bool write_text(const char *path, const char *text);
long number(const char *text);
long milliseconds(void);

/* Every process of /proc but this one; false from the visitor ends it. */
void each_process(bool (*visit)(pid_t pid, void *context), void *context);
/* "guest" is PID 1, "all" everybody else; otherwise a number. */
size_t find_targets(const char *word, pid_t *list, size_t size);
void read_line(const char *path, char *line, size_t size);

/* Whether a call for all processes or the whole machine would hit the machine itself: then it is not made. */
bool on_the_machine(void);

/* Makes fork() here return a child, or exits with the child's fate; used where a namespace must hold first. */
int run_in_child(int count, char **words);

#endif

/* The guest: PID 1 of a sandbox. Its stdin and stdout are the wire (docs/wire.md); it is the only way in or out. */
#ifndef CAISSON_GUEST_H
#define CAISSON_GUEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits: the same numbers stand in packages/server/src/core/limits.ts. */
enum {
  WIRE_VERSION = 7,
  HEADER_BYTES = 24,
  FROM_HOST_FRAME_BYTES = 4096,
  TO_HOST_PAYLOAD_BYTES = 1024 * 1024,
  OUTPUT_RING_BYTES = 256 * 1024,
  SMALL_RING_BYTES = 16 * 1024,
  PIPE_BYTES = 64 * 1024, /* of a run, unless it writes much */
  RINGS_TOTAL_BYTES = 4 * 1024 * 1024,
  RINGS_OF_OTHERS_BYTES = 1024 * 1024,
  INPUT_WINDOW_BYTES = 64 * 1024,
  TUNNEL_WINDOW_BYTES = 2 * 1024 * 1024, /* each way; few of many connections have it at once */
  WIRE_READ_BYTES = 1024 * 1024, /* as much as the FIFO holds */
  STREAMS_MAX = 512, /* twice what an owner opens: an ended one is held until its owner has said CLOSE */
  TUNNELS_MAX = 4096, /* listeners and connections, likewise */
  SLOTS_MAX = STREAMS_MAX + TUNNELS_MAX,
  BACKLOG = 1024, /* connections that wait to be accepted, a listener */
  SPEC_BYTES = 2560 * 1024,
  ARGUMENTS_MAX = 16384,
  NONCE_BYTES = 16,
  USER_ID = 1000,
  RUN_GROUP = 2000, /* a run's own group is this plus its stream's slot */
  PATH_BYTES = 4096,
  END_DELAY_MS = 2,
  TERMINAL_SIDE_MAX = 1000,
  TERMINAL_LEFT_BYTES = 256 * 1024, /* read of a terminal after its run: what a kernel may still hold of it */
  WAIT_MOST_MS = 3600 * 1000, /* the loop looks again after this long, however far what is due lies */
  WIRE_IN = 0,
  WIRE_OUT = 1,
  NOTHING = 2, /* /dev/null */
};

/* Longer than any machine lives, and far from where sums of times wrap round. */
#define DURATION_MOST_MS (UINT64_C(1) << 53)

enum frame_type {
  FRAME_HELLO = 1,
  FRAME_RESYNC,
  FRAME_CONFIG,
  FRAME_PING,
  FRAME_PONG,
  FRAME_OPEN,
  FRAME_STARTED,
  FRAME_DATA,
  FRAME_CREDIT,
  FRAME_END,
  FRAME_EXIT,
  FRAME_CLOSE,
  FRAME_SIGNAL,
  FRAME_ERROR,
  FRAME_STATE,
  FRAME_RESIZE,
};

enum channel_id { CHANNEL_IN = 0, CHANNEL_OUT = 1, CHANNEL_ERR = 2, CHANNEL_SPEC = 3 };

enum stream_kind {
  KIND_PROCESS = 1,
  KIND_READ,
  KIND_WRITE,
  KIND_LIST,
  KIND_STAT,
  KIND_MKDIR,
  KIND_MOVE,
  KIND_REMOVE,
  KIND_PACK,
  KIND_UNPACK,
  KIND_SEARCH,
  KIND_RESTORE,
  KIND_PLACE,
  KIND_LISTEN,
  KIND_ACCEPT,
  KIND_DIAL,
  KIND_DATAGRAMS,
  KIND_BUSY,
  KIND_LAST = KIND_BUSY,
};

enum signal_mode { SIGNAL_GROUP = 0, SIGNAL_TREE = 1 };

enum exit_flag {
  EXIT_TIMED_OUT = 1,
  EXIT_CPU_LIMIT = 2,
  EXIT_MEMORY_LIMIT = 4,
  EXIT_KILLED = 8,      /* ended by a SIGNAL frame of mode tree */
  EXIT_WARM = 32,       /* an interpreter that had waited ran it */
  EXIT_NOT_STARTED = 16, /* status is an errno: the program could not be started, or the file operation failed */
};

enum spec_tag {
  TAG_ARGUMENT = 1,
  TAG_ENVIRONMENT,
  TAG_FOLDER,
  TAG_TIMEOUT_MS,
  TAG_CPU_MS,
  TAG_PROCESSES,
  TAG_MEMORY_BYTES,
  TAG_OPEN_FILES,
  TAG_FLAGS,
  TAG_PATH,
  TAG_TARGET,
  TAG_OFFSET,
  TAG_LENGTH,
  TAG_MODE,
  TAG_LEASE_MS,
  TAG_TERMINAL, /* rows, and columns times 65536 */
  TAG_COUNT,
  TAG_DEPTH,
  TAG_NAME,
  TAG_TEXT,
  TAG_FILE_BYTES,
  TAG_LINE_BYTES,
  TAG_SPOT, /* a port, and an IPv4 address times 65536 */
};

enum spec_flag {
  FLAG_STDIN = 1,       /* give the process a pipe; otherwise stdin is /dev/null */
  FLAG_PARENTS = 2,     /* make missing parent folders */
  FLAG_RECURSIVE = 4,
  FLAG_REPLACE = 8,
  FLAG_WATCH_MEMORY = 16, /* CONFIG: the memory limit is this program's to enforce (gVisor) */
  FLAG_WARM_PYTHON = 32,  /* the arguments are an interpreter's, `-c` or `-e`, and code: one that waits may run it; */
  FLAG_WARM_NODE = 64,    /* in CONFIG: start one now */
  FLAG_IGNORE_CASE = 128,
  FLAG_BINARY = 256, /* search files that hold a NUL too */
  FLAG_PAUSED = 512, /* CONFIG: the clocks of runs stand still */
  FLAG_EXACT = 1024, /* PACK: in order, with hard links, and with what could not be read */
  FLAG_COLD = 2048,  /* CONFIG: no interpreter may wait; those that do go */
  FLAG_GONE = 4096,  /* PLACE: takes the file away */
  FLAG_SHELL = 8192, /* the arguments are a shell's: where the root has no such one, /bin/sh takes them */
  FLAG_WHOLE = 16384, /* SEARCH: send the files themselves; the host looks through them */
};

/* A parsed OPEN or CONFIG payload. Strings point into the payload, which outlives the spec. */
struct spec {
  char *arguments[ARGUMENTS_MAX + 1];
  char *environment[ARGUMENTS_MAX + 1];
  size_t argument_count, environment_count;
  const char *folder, *path, *target, *name, *text;
  uint64_t timeout_ms, cpu_ms, processes, memory_bytes, open_files, flags, offset, length, mode, lease_ms, terminal, count,
      depth, file_bytes, line_bytes, spot;
};

/* What the other side is told of a finished stream. */
struct exit_record {
  int32_t status; /* wait status, or an errno with EXIT_NOT_STARTED */
  uint32_t flags;
  uint64_t cpu_us;
  uint64_t max_rss_bytes;
  uint64_t wall_us;
};

/* Bytes from a process to the host. [acked, tail) is in the ring, [acked, sent) was sent in this epoch. */
struct output {
  int fd;
  uint8_t *ring;
  uint32_t size;
  uint64_t acked, sent, tail;
  uint64_t eof_ms;
  bool armed, eof, end_sent, grown, much, unblocked;
};

/* Bytes from the host to a process. [consumed, received) is in the ring. */
struct input {
  int fd;
  uint8_t *ring; /* as large as what waits in it, or twice that */
  uint32_t size;
  uint64_t consumed, received, credited;
  bool armed, end, end_sent, wanted; /* wanted: the process was given a pipe */
};

struct stream {
  uint32_t id, slot;
  uint8_t kind;
  pid_t pid; /* the run's first process, or the worker of a file operation */
  struct run *run; /* until a process has ended with its whole tree */
  uint8_t warm;     /* which interpreter that waited runs it (warm.c), from 1 */
  int warm_channel;
  int early_signal; /* came before the process was known */
  uint8_t *spec;
  uint32_t spec_size, spec_have;
  struct input in;
  struct output out[2];
  bool terminal;
  uint64_t drain_end; /* of a terminal whose run has ended */
  int socket;         /* of a tunnel, or -1: while one lasts, in.fd and out[0].fd are the same and not their own */
  uint64_t spot;      /* where a listener listens, or a connection was reached: as TAG_SPOT */
  uint32_t listener;  /* the stream whose listener a connection came to */
  struct stream *in_bucket; /* stream_find */
  struct stream *next_waiting; /* for a connection */
  struct stream *next_due;     /* for its input to be passed on */
  uint32_t interest;           /* what epoll was asked to tell of the socket */
  bool waiting, dialing, pump_due;
  bool started, started_sent, finished, exit_sent, closing, reaped, state_due;
  struct exit_record exit;
};

enum poll_tag { POLL_WIRE_IN = 1, POLL_WIRE_OUT, POLL_SIGNAL, POLL_INPUT, POLL_OUTPUT, POLL_ERROR, POLL_WARM, POLL_TUNNEL };

/* main.c */
extern int guest_epoll;
extern uint64_t guest_last_ping_ms;
_Noreturn void die(const char *what);
void poll_add(int fd, uint32_t events, enum poll_tag tag, uint32_t slot);
void poll_remove(int fd);
void poll_close(int fd);
void poll_change(int fd, uint32_t events, enum poll_tag tag, uint32_t slot);
void configure(const struct spec *spec);

/* clock.c */
void clock_read(void);
uint64_t now_ms(void);
uint64_t now_us(void);
void clock_pause(bool paused);
uint64_t clock_run_us(void);

/* stream.c */
extern struct stream *streams[SLOTS_MAX]; /* tunnels lie behind all others, from STREAMS_MAX on */
extern uint32_t streams_highest, streams_end, tunnels_end;
/* Over all slots that may be taken: for (uint32_t i = streams_from(0); i < tunnels_end; i = streams_from(i + 1)) */
static inline uint32_t streams_from(uint32_t slot) { return slot >= streams_end && slot < STREAMS_MAX ? STREAMS_MAX : slot; }
struct stream *stream_find(uint32_t id);
struct stream *stream_open(uint32_t id, uint8_t kind, uint32_t spec_size);
void stream_spec_bytes(struct stream *s, const uint8_t *data, uint32_t size);
void stream_fail(struct stream *s, int error);
void stream_finish(struct stream *s, const struct exit_record *record);
void stream_input(struct stream *s, uint64_t offset, const uint8_t *data, uint32_t size);
void stream_input_end(struct stream *s);
void stream_acked(struct stream *s, int channel, uint64_t offset);
uint64_t stream_end_due_ms(const struct stream *s, const struct output *o);
void stream_close(struct stream *s);
void stream_pump_input(struct stream *s);
void stream_input_event(struct stream *s, uint32_t events);
void stream_pump_output(struct stream *s, int index);
struct iovec;
int ring_parts(const struct output *o, uint64_t offset, size_t size, struct iovec *parts);
void stream_output_event(struct stream *s, int index, uint32_t events);
void stream_resync(struct stream *s);
void stream_output_put(struct stream *s, const uint8_t *data, uint32_t size);
void stream_output_add(struct stream *s, const uint8_t *data, uint32_t size);
void streams_sweep(void);
bool streams_running(void);

/* wire.c */
void wire_receive(void);
void wire_flush(void);
bool wire_holds(const struct stream *s);
uint64_t wire_unwritten(const struct output *o);
void wire_error(uint32_t stream, int error, const char *text);

/* spec.c */
bool spec_parse(uint8_t *data, size_t size, struct spec *spec);

/* process.c */
struct pty;
struct start_io {
  int in, out, err;
  int channel; /* of an interpreter that is to wait for runs (warm.c), which stays root; else -1 */
  const struct pty *pty; /* a terminal in place of the three, or NULL */
};
struct pipes {
  int in[2], out[2], err[2];
};
bool pipes_open(struct pipes *p, bool with_input);
void pipes_close(struct pipes *p);
void pipes_close_far(struct pipes *p); /* the ends that are the program's */
struct start_io pipes_io(const struct pipes *p, int channel);
void process_start(struct stream *s, const struct spec *spec);
void process_signal(struct stream *s, uint32_t mode, int number);

/* start.c */
struct start;
void start_prepare(bool copy_memory);
struct start *start_program(const struct spec *spec, uint8_t *spec_bytes, gid_t group, struct start_io io, pid_t *pid);
bool start_limit(pid_t pid, const struct spec *spec);
int start_outcome(struct start *start, bool reaped);
bool starts_under_way(void);

/* warm.c */
void warm_configure(const struct spec *spec);
void warm_renew(void);
bool warm_start(struct stream *s, const struct spec *spec, struct pipes *pipes);
void warm_event(uint32_t kind);
bool warm_ended(pid_t pid);
bool warm_awaits(const struct stream *s, uint64_t patience_us);
void warm_run_ended(struct stream *s);
uint64_t warm_due_ms(uint64_t now);
void warm_step(uint64_t now);
bool warm_leaving(uint64_t now);

/* oom.c */
void oom_prepare(void);
bool oom_go_first(void);
void oom_raise(void);
void oom_lower(void);
uint64_t oom_due_ms(void);

/* run.c */
struct rusage;
void run_begin(struct stream *s, const struct spec *spec, struct start *start);
bool run_is_newborn(struct stream *s);
void run_account(struct stream *s, const struct rusage *use);
void run_main_ended(struct stream *s, int status);
void run_not_started(struct stream *s, int error);
void run_has_pid(struct stream *s);
void run_end(struct stream *s, uint32_t flags);
void runs_step(void);
void runs_kill_biggest(void);
int runs_wait_ms(void);

/* children.c */
extern bool children_left; /* false once the kernel has said that PID 1 has none: then no other process exists */
extern bool children_more;
void children_reap(pid_t hint);

/* pty.c */
struct pty {
  int master, input; /* input: the master once more */
};
#define NO_PTY ((struct pty){-1, -1})
bool pty_open(struct pty *p, uint64_t size);
void pty_close(struct pty *p);
long pty_enter(const struct pty *p);
void pty_follow(struct stream *s, struct pty *p);
void pty_resize(struct stream *s, uint64_t size);

/* tree.c */
struct tree_sum {
  bool with_cpu, with_memory, kill; /* what is asked for */
  uint32_t count;
  uint64_t cpu_us, rss_bytes;
};
bool tree_scan(struct tree_sum *sums); /* one for each slot */
uint32_t tree_slot(pid_t pid);

/* trust.c */
void trust_prepare(void);

/* name.c */
void name_prepare(void);
bool name_set(const char *name);

/* devices.c */
void devices_prepare(void);

/* privilege.c */
void privilege_prepare(void);
bool privilege_borrow_user(void);
void privilege_return_user(void);
bool privilege_may_rename(void);
bool privilege_rename(const char *host);
int privilege_drop(const struct spec *spec);
int privilege_drop_but_root(const struct spec *spec);
void close_all_from(int first);

/* seccomp.c */
struct sock_fprog;
extern const struct sock_fprog *seccomp_of_newborns; /* on top of the guest's own, or NULL */
void seccomp_apply(void);
void seccomp_refuse_listeners(void);

/* file.c */
void file_start(struct stream *s, struct spec *spec);

/* walk.c: paths of the folders that the user may write, one component at a time, never leaving them. */
int walk_top(const char *path);
int walk_open(const char *path, int flags);
int walk_parent(const char *path, bool make_parents, char *last);
int walk_folder(int folder, const char *name);
struct stat;
int walk_file(int folder, const char *name, struct stat *info);
bool walk_shut(int error);
typedef int walk_visit(int folder, const char *name, void *about);
int walk_each(int folder, int depth, walk_visit *one, void *about);

/* memory.c */
void memory_limit(uint64_t bytes);
uint64_t memory_used_bytes(void);
bool memory_exceeded(void);
int memory_wait_ms(void);

#endif

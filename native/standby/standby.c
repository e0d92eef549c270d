/* What a Node that waits for its run (native/guest/warm.js) cannot do itself. Preloaded, before it has threads: nothing to
   inherit, so that what it becomes has five empty sets of capabilities. Loaded as a module: its /proc and /dev/stdin are the
   user's, as those of a program that was started plainly; and exec, which Node has only since version 22. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Node-API, whose binary interface is stable; its headers are not on every machine. */
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
int napi_get_array_length(napi_env, napi_value, uint32_t *);
int napi_get_element(napi_env, napi_value, uint32_t, napi_value *);
int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
int napi_create_int32(napi_env, int32_t, napi_value *);

__attribute__((constructor)) static void inherit_nothing(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2];
  if (syscall(SYS_capget, &header, sets) < 0) abort();
  sets[0].inheritable = sets[1].inheritable = 0;
  if (syscall(SYS_capset, &header, sets) < 0) abort();
}

static napi_value be_visible(napi_env env, napi_callback_info info) {
  napi_value result = NULL;
  (void)info;
  napi_create_int32(env, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), &result);
  return result;
}

static char *text(napi_env env, napi_value value) {
  size_t size;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &size)) return NULL;
  char *bytes = malloc(size + 1);
  if (bytes && napi_get_value_string_utf8(env, value, bytes, size + 1, &size)) return NULL;
  return bytes;
}

static char **texts(napi_env env, napi_value list) {
  uint32_t count;
  if (napi_get_array_length(env, list, &count)) return NULL;
  char **words = calloc(count + 1, sizeof *words);
  for (uint32_t i = 0; words && i < count; i++) {
    napi_value word;
    if (napi_get_element(env, list, i, &word) || !(words[i] = text(env, word))) return NULL;
  }
  return words;
}

/* execute(file, arguments, variables) returns an errno, if it returns. Nothing is freed: the process ends either way. */
static napi_value execute(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value given[3], result = NULL;
  errno = EINVAL;
  if (napi_get_cb_info(env, info, &count, given, NULL, NULL) == 0 && count == 3) {
    char *file = text(env, given[0]), **arguments = texts(env, given[1]), **variables = texts(env, given[2]);
    if (file && arguments && variables) {
      signal(SIGPIPE, SIG_DFL);
      for (int fd = 0; fd <= 2; fd++) fcntl(fd, F_SETFD, 0); /* Node keeps them to itself */
      execve(file, arguments, variables);
    }
  }
  napi_create_int32(env, errno, &result);
  return result;
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  const struct {
    const char *name;
    napi_callback call;
  } functions[] = {{"beVisible", be_visible}, {"execute", execute}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, (size_t)-1, functions[i].call, NULL, &function)) return NULL;
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}

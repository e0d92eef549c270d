#include "helper.h"

#include <stdlib.h>
#include <string.h>

bool request_parse(struct request *request, char *bytes, size_t length) {
  if (length < 2 || bytes[length - 1] != '\0') return false;
  char *end = bytes + length;
  request->seq = bytes;
  request->verb = bytes + strlen(bytes) + 1;
  if (request->verb >= end) return false;
  request->count = 0;
  for (char *at = (char *)request->verb + strlen(request->verb) + 1; at < end; at += strlen(at) + 1) {
    char *equals = strchr(at, '=');
    if (equals == NULL || request->count == ARGUMENTS_MAX) return false;
    struct argument *argument = &request->arguments[request->count++];
    argument->key = at;
    argument->value = equals + 1;
    *equals = '\0';
    at = equals + 1;
  }
  return true;
}

const char *request_find(const struct request *request, const char *key) {
  for (size_t i = 0; i < request->count; i++)
    if (strcmp(request->arguments[i].key, key) == 0) return request->arguments[i].value;
  return NULL;
}

const char *request_text(const struct request *request, const char *key) {
  const char *value = request_find(request, key);
  if (value == NULL) fail_with(EINVAL, "the request has no %s", key);
  return value;
}

uint64_t request_number(const struct request *request, const char *key) {
  const char *value = request_text(request, key);
  char *end;
  errno = 0;
  uint64_t number = strtoull(value, &end, 10);
  if (errno != 0 || *value < '0' || *value > '9' || *end != '\0') fail_with(EINVAL, "%s is not a number", key);
  return number;
}

uid_t request_user(const struct request *request) {
  if (request_find(request, "user") != NULL) return (uid_t)request_number(request, "user");
  return (uid_t)request_number(request, "base") + USER_ID;
}

/* What differs between two lists of entries. Change is judged by inode, ctime, size and mode: mtime can be forged. */
#include "helper.h"

#include <stdlib.h>
#include <string.h>

struct table {
  uint32_t *slots;
  size_t mask;
};

static uint64_t hash_path(const struct entry *entry) {
  uint64_t hash = 14695981039346656037ULL;
  for (uint32_t i = 0; i < entry->path_length; i++) hash = (hash ^ (uint8_t)entry->path[i]) * 1099511628211ULL;
  return hash ^ hash >> 29;
}

static bool same_path(const struct entry *left, const struct entry *right) {
  return left->path_length == right->path_length && memcmp(left->path, right->path, left->path_length) == 0;
}

static struct table index_entries(const struct entries *entries) {
  size_t size = 16;
  while (size < entries->count * 2) size *= 2;
  struct table table = {.slots = calloc(size, sizeof(uint32_t)), .mask = size - 1};
  if (table.slots == NULL) fail_with(ENOMEM, "the workspace has too many files");
  for (size_t i = 0; i < entries->count; i++) {
    size_t slot = hash_path(&entries->list[i]) & table.mask;
    while (table.slots[slot] != 0) slot = (slot + 1) & table.mask;
    table.slots[slot] = (uint32_t)i + 1;
  }
  return table;
}

/* The place in `entries`, counted from one; zero when there is none. */
static uint32_t find(const struct table *table, const struct entries *entries, const struct entry *wanted) {
  size_t slot = hash_path(wanted) & table->mask;
  while (table->slots[slot] != 0) {
    if (same_path(&entries->list[table->slots[slot] - 1], wanted)) return table->slots[slot];
    slot = (slot + 1) & table->mask;
  }
  return 0;
}

static bool same_file(const struct entry *left, const struct entry *right) {
  return left->ino == right->ino && left->ctime_ns == right->ctime_ns && left->size == right->size &&
         left->mode == right->mode;
}

static int by_path(const void *left, const void *right) {
  const struct entry *a = ((const struct change *)left)->entry;
  const struct entry *b = ((const struct change *)right)->entry;
  uint32_t shorter = a->path_length < b->path_length ? a->path_length : b->path_length;
  int order = memcmp(a->path, b->path, shorter);
  return order != 0 ? order : (a->path_length > b->path_length) - (a->path_length < b->path_length);
}

/* What a walk that was cut short did not see is not said to be deleted. */
void compare(const struct entries *before, const struct entries *after, bool whole, struct changes *changes) {
  struct table table = index_entries(before);
  char *seen = calloc(before->count + 1, 1);
  changes->list = calloc(before->count + after->count + 1, sizeof *changes->list);
  if (seen == NULL || changes->list == NULL) fail_with(ENOMEM, "the workspace has too many files");
  for (size_t i = 0; i < after->count; i++) {
    const struct entry *now = &after->list[i];
    uint32_t place = find(&table, before, now);
    seen[place] = 1;
    if (place == 0)
      changes->list[changes->count++] = (struct change){'c', now};
    else if (!same_file(&before->list[place - 1], now))
      changes->list[changes->count++] = (struct change){'m', now};
  }
  for (size_t i = 0; i < before->count && whole; i++)
    if (!seen[i + 1]) changes->list[changes->count++] = (struct change){'d', &before->list[i]};
  qsort(changes->list, changes->count, sizeof *changes->list, by_path);
  free(seen);
  free(table.slots);
}

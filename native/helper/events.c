/* What happened between two looks at a workspace: deleted, moved, created, changed. */
#include "helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct look {
  const struct entries *entries; /* sorted by path */
  uint32_t *by_ino;
};

struct told {
  FILE *out;
  uint64_t left;
  bool all;
};

static int order_paths(const char *left, size_t left_length, const char *right, size_t right_length) {
  int order = memcmp(left, right, left_length < right_length ? left_length : right_length);
  return order != 0 ? order : (left_length > right_length) - (left_length < right_length);
}

static int by_path(const void *left, const void *right) {
  const struct entry *a = left, *b = right;
  return order_paths(a->path, a->path_length, b->path, b->path_length);
}

void sort_entries(struct entries *entries) {
  if (entries->count > 1) qsort(entries->list, entries->count, sizeof *entries->list, by_path);
}

static const struct entry *find_path(const struct entries *entries, const char *path, size_t length) {
  size_t low = 0, high = entries->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct entry *entry = &entries->list[middle];
    int order = order_paths(path, length, entry->path, entry->path_length);
    if (order == 0) return entry;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

static const struct entries *sorting;
static int by_inode(const void *left, const void *right) {
  uint64_t a = sorting->list[*(const uint32_t *)left].ino, b = sorting->list[*(const uint32_t *)right].ino;
  return (a > b) - (a < b);
}

static struct look look_at(const struct entries *entries) {
  struct look look = {entries, malloc((entries->count + 1) * sizeof(uint32_t))};
  if (look.by_ino == NULL) fail_with(ENOMEM, "the workspace has too many files");
  for (size_t i = 0; i < entries->count; i++) look.by_ino[i] = (uint32_t)i;
  sorting = entries;
  if (entries->count > 1) qsort(look.by_ino, entries->count, sizeof *look.by_ino, by_inode);
  return look;
}

/* The same file, whatever it is called and holds. */
static bool is_same(const struct entry *left, const struct entry *right) {
  return left->ino == right->ino && left->born_ns == right->born_ns && (left->mode & S_IFMT) == (right->mode & S_IFMT);
}

/* A name in `from` of the file whose name there is no longer its own in `to`: where it was moved from, or to. */
static const struct entry *find_moved(const struct look *from, const struct look *to, const struct entry *file) {
  size_t low = 0, high = from->entries->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (from->entries->list[from->by_ino[middle]].ino < file->ino) low = middle + 1;
    else high = middle;
  }
  for (; low < from->entries->count; low++) {
    const struct entry *found = &from->entries->list[from->by_ino[low]];
    if (found->ino != file->ino) return NULL;
    const struct entry *other = find_path(to->entries, found->path, found->path_length);
    if (is_same(found, file) && (other == NULL || !is_same(other, file))) return found;
  }
  return NULL;
}

static size_t folder_length(const struct entry *entry) {
  size_t length = entry->path_length;
  while (length > 0 && entry->path[length - 1] != '/') length--;
  return length;
}

/* Whether it moved only because the folder it is in did. */
static bool moved_along(const struct look *before, const struct look *after, const struct entry *from,
                        const struct entry *to) {
  size_t from_folder = folder_length(from), to_folder = folder_length(to);
  size_t name = from->path_length - from_folder;
  if (from_folder == 0 || to_folder == 0 || to->path_length - to_folder != name ||
      memcmp(from->path + from_folder, to->path + to_folder, name) != 0)
    return false;
  const struct entry *old_folder = find_path(before->entries, from->path, from_folder - 1);
  const struct entry *new_folder = find_path(after->entries, to->path, to_folder - 1);
  return old_folder != NULL && new_folder != NULL && is_same(old_folder, new_folder);
}

/* `type path NUL`, and for a move the old path and another NUL. */
static void tell(struct told *told, char type, const struct entry *entry, const struct entry *from) {
  if (told->left == 0) {
    told->all = false;
    return;
  }
  told->left--;
  if (told->out == NULL) return;
  fputc(type, told->out);
  fwrite(entry->path, 1, entry->path_length, told->out);
  fputc('\0', told->out);
  if (from == NULL) return;
  fwrite(from->path, 1, from->path_length, told->out);
  fputc('\0', told->out);
}

static bool has_changed(const struct entry *old, const struct entry *now, bool moved) {
  if (S_ISDIR(now->mode)) return old->mode != now->mode; /* what is in it has events of its own */
  if (moved) return old->size != now->size || old->mtime_ns != now->mtime_ns; /* a move itself sets the ctime */
  return old->ctime_ns != now->ctime_ns || old->size != now->size || old->mode != now->mode;
}

static void tell_now(struct told *told, const struct look *before, const struct look *after, const struct entry *now) {
  const struct entry *old = find_path(before->entries, now->path, now->path_length);
  if (old != NULL && is_same(old, now)) {
    if (has_changed(old, now, false)) tell(told, 'm', now, NULL);
    return;
  }
  const struct entry *from = find_moved(before, after, now);
  if (from == NULL) return tell(told, old != NULL && !S_ISDIR(old->mode) && !S_ISDIR(now->mode) ? 'm' : 'c', now, NULL);
  if (!moved_along(before, after, from, now)) tell(told, 'v', now, from);
  if (has_changed(from, now, true)) tell(told, 'm', now, NULL);
}

static void tell_all(struct told *told, const struct look *before, const struct look *after) {
  for (size_t i = before->entries->count; i-- > 0;) { /* what is in a folder before the folder */
    const struct entry *old = &before->entries->list[i];
    const struct entry *now = find_path(after->entries, old->path, old->path_length);
    bool replaced = now != NULL && !is_same(old, now) && (S_ISDIR(old->mode) || S_ISDIR(now->mode));
    if ((now == NULL || replaced) && find_moved(after, before, old) == NULL) tell(told, 'd', old, NULL);
  }
  for (size_t i = 0; i < after->entries->count; i++) tell_now(told, before, after, &after->entries->list[i]);
}

bool write_events(int fd, const struct entries *before, const struct entries *after, uint64_t most) {
  struct look old = look_at(before), now = look_at(after);
  struct told counted = {.left = most, .all = true};
  tell_all(&counted, &old, &now);
  if (counted.all && counted.left < most) {
    struct told told = {.out = fdopen(dup(fd), "w"), .left = most, .all = true};
    if (told.out == NULL) fail("cannot write the events");
    tell_all(&told, &old, &now);
    if (fclose(told.out) != 0) _exit(0); /* nobody reads any more */
  }
  free(old.by_ino);
  free(now.by_ino);
  return counted.all;
}

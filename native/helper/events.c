/* What happened between two looks at a workspace: deleted, moved, created, changed. */
#include "helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links in deep folders that moved make a comparison cost names times depth for each name: past STEPS_MAX it is given up. */
enum { NAMES_MAX = 16, STEPS_MAX = 1000000 };

static uint64_t steps;

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

/* Where the names of a file begin in the order of inodes. */
static size_t first_name(const struct look *look, uint64_t ino) {
  size_t low = 0, high = look->entries->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (look->entries->list[look->by_ino[middle]].ino < ino) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The n-th name of the file in a look; NULL past the last. Links give one file any number: few are looked at. */
static const struct entry *name_of(const struct look *look, const struct entry *file, size_t first, size_t n) {
  if (n >= NAMES_MAX || first + n >= look->entries->count) return NULL;
  const struct entry *found = &look->entries->list[look->by_ino[first + n]];
  return found->ino == file->ino ? found : NULL;
}

static size_t folder_length(const struct entry *entry) {
  size_t length = entry->path_length;
  while (length > 0 && entry->path[length - 1] != '/') length--;
  return length;
}

/* NULL for the workspace itself. */
static const struct entry *folder_of(const struct look *look, const struct entry *entry) {
  size_t length = folder_length(entry);
  return length == 0 ? NULL : find_path(look->entries, entry->path, length - 1);
}

static bool same_name(const struct entry *left, const struct entry *right) {
  size_t from = folder_length(left), to = folder_length(right);
  return left->path_length - from == right->path_length - to &&
         memcmp(left->path + from, right->path + to, left->path_length - from) == 0;
}

static bool stays(const struct look *look, const struct entry *entry) {
  if (entry == NULL) return true;
  const struct entry *other = find_path(look->entries, entry->path, entry->path_length);
  return other != NULL && is_same(entry, other);
}

struct move {
  const struct entry *from;
  bool along; /* only because the folder it is in moved */
};

/* Whether a name is told as moved. A move is told only where its events mean the same in any order: the old name is
   free, the old folder is where it was, and the new folder was not moved itself. Else it is a deletion and a creation. */
static struct move find_move(const struct look *before, const struct look *after, const struct entry *now) {
  const struct entry *folder = folder_of(after, now), *from;
  steps++;
  if (stays(before, now)) return (struct move){0};
  size_t first = first_name(before, now->ino);
  struct move moved = {0}, above = {0};
  if (folder != NULL) above = find_move(before, after, folder);
  for (size_t n = 0; (from = name_of(before, now, first, n)) != NULL; n++) {
    if (!is_same(from, now) || find_path(after->entries, from->path, from->path_length) != NULL) continue;
    const struct entry *old_folder = folder_of(before, from);
    if (above.from != NULL && old_folder == above.from && same_name(from, now)) return (struct move){from, true};
    if (above.from == NULL && stays(after, old_folder)) moved.from = from;
  }
  return moved;
}

static bool is_deleted(const struct look *before, const struct look *after, const struct entry *old) {
  const struct entry *now = find_path(after->entries, old->path, old->path_length), *name;
  if (now != NULL && (is_same(old, now) || (!S_ISDIR(old->mode) && !S_ISDIR(now->mode)))) return false;
  size_t first = first_name(after, old->ino);
  for (size_t n = 0; (name = name_of(after, old, first, n)) != NULL; n++)
    if (find_move(before, after, name).from == old) return false;
  return true;
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
  struct move move = find_move(before, after, now);
  if (move.from == NULL)
    return tell(told, old != NULL && !S_ISDIR(old->mode) && !S_ISDIR(now->mode) ? 'm' : 'c', now, NULL);
  if (!move.along) tell(told, 'v', now, move.from);
  if (has_changed(move.from, now, true)) tell(told, 'm', now, NULL);
}

static bool goes_on(struct told *told) { return told->all = told->all && steps <= STEPS_MAX; }

static void tell_all(struct told *told, const struct look *before, const struct look *after) {
  steps = 0;
  for (size_t i = before->entries->count; i-- > 0 && goes_on(told);) { /* what is in a folder before the folder */
    const struct entry *old = &before->entries->list[i];
    if (is_deleted(before, after, old)) tell(told, 'd', old, NULL);
  }
  for (size_t i = 0; i < after->entries->count && goes_on(told); i++) tell_now(told, before, after, &after->entries->list[i]);
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

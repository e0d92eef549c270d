/* A file as memory: what is laid there is in the file at once, like by a write, and outlives its process, without a call of
   the kernel. Node has none for it, so the daemon loads this library as a module: a function of a descriptor and a size that
   gives an ArrayBuffer, or nothing where the file has no such thing. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

typedef void *Value;
typedef Value (*Callback)(void *environment, void *call);
typedef void (*Finalizer)(void *environment, void *data, void *hint);

/* Of Node-API, whose binary interface stays; 0 is success. */
extern int napi_create_function(void *, const char *name, size_t length, Callback, void *data, Value *result);
extern int napi_get_cb_info(void *, void *call, size_t *count, Value *arguments, Value *self, void **data);
extern int napi_get_value_int32(void *, Value, int32_t *result);
extern int napi_get_value_uint32(void *, Value, uint32_t *result);
extern int napi_create_external_arraybuffer(void *, void *data, size_t length, Finalizer, void *hint, Value *result);

static void unmap(void *environment, void *data, void *hint) {
  (void)environment;
  munmap(data, (size_t)hint);
}

static Value map(void *environment, void *call) {
  Value arguments[2], result;
  size_t count = 2;
  int32_t descriptor;
  uint32_t size;
  if (napi_get_cb_info(environment, call, &count, arguments, NULL, NULL) || count < 2) return NULL;
  if (napi_get_value_int32(environment, arguments[0], &descriptor)) return NULL;
  if (napi_get_value_uint32(environment, arguments[1], &size)) return NULL;
  void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return NULL;
  if (napi_create_external_arraybuffer(environment, data, size, unmap, (void *)(uintptr_t)size, &result)) {
    munmap(data, size);
    return NULL;
  }
  return result;
}

Value napi_register_module_v1(void *environment, Value exports) {
  Value function;
  (void)exports;
  if (napi_create_function(environment, "map", sizeof "map" - 1, map, NULL, &function)) return NULL;
  return function;
}

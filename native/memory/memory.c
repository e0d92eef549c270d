/* What Node has no call for, so the daemon loads this library as a module.
   map(descriptor, size): a file as memory, an ArrayBuffer, or undefined where it cannot be mapped. What is laid there
   is in the file at once, like by a write, and outlives its process, without a call of the kernel.
   trim(): gives the kernel what the C library keeps of memory that was freed. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

typedef void *Value;
typedef Value (*Callback)(void *environment, void *call);
typedef void (*Finalizer)(void *environment, void *data, void *hint);

/* Of Node-API, whose binary interface stays; 0 is success. */
extern int napi_create_function(void *, const char *name, size_t length, Callback, void *data, Value *result);
extern int napi_set_named_property(void *, Value object, const char *name, Value);
extern int napi_get_cb_info(void *, void *call, size_t *count, Value *arguments, Value *self, void **data);
extern int napi_get_value_int32(void *, Value, int32_t *result);
extern int napi_get_value_uint32(void *, Value, uint32_t *result);
extern int napi_create_external_arraybuffer(void *, void *data, size_t length, Finalizer, void *hint, Value *result);

extern int malloc_trim(size_t) __attribute__((weak)); /* glibc's */

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

static Value trim(void *environment, void *call) {
  (void)environment;
  (void)call;
  if (malloc_trim) malloc_trim(0);
  return NULL;
}

static int add(void *environment, Value exports, const char *name, size_t length, Callback callback) {
  Value function;
  return napi_create_function(environment, name, length, callback, NULL, &function) ||
         napi_set_named_property(environment, exports, name, function);
}

Value napi_register_module_v1(void *environment, Value exports) {
  if (add(environment, exports, "map", 3, map) || add(environment, exports, "trim", 4, trim)) return NULL;
  return exports;
}

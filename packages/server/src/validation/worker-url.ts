// Tests run the sources; the bundle lies beside the worker's.
const file = import.meta.url.endsWith(".ts") ? "./validation-worker.ts" : "./validation-worker.mjs";

/** The code of the threads that read what strangers wrote. */
export const workerUrl = new URL(file, import.meta.url);

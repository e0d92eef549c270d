// Tests run the sources; the bundle lies beside the worker's.
const file = import.meta.url.endsWith(".ts") ? "./sqlite-worker.ts" : "./sqlite-worker.mjs";

/** The code of the threads that have the database. */
export const workerUrl = new URL(file, import.meta.url);

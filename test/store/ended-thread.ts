// Closes a store whose thread has ended, and is to end itself then: ended-thread.ts DATABASE
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

let thread: Worker | undefined;
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (this: Worker, ...message: Parameters<typeof postMessage>) {
  thread = this;
  postMessage.apply(this, message);
};
const failed = Promise.withResolvers<void>();
const store = await openStore({ path: process.argv[2] ?? "", onError: () => failed.resolve() });
await store.audit.record(auditEntry());
await store.audit.search({}); // the head outside is to follow, soon
const ended = thread === undefined ? undefined : once(thread, "exit");
await thread?.terminate();
await ended;
await failed.promise; // it could not, and is tried again later
await store[Symbol.asyncDispose]();
console.log("closed");

import { expect } from "vitest";
import { contextLimits } from "../../../packages/server/src/core/limits.ts";
import { type Attack, ended, failed, settled, shown } from "./attack.ts";

export const nodeAttacks: Attack[] = [
  {
    title: "replaces what messages are made of",
    code: "JSON.stringify = JSON.parse = Buffer.from = Buffer.concat = null; 5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "replaces methods of arrays and strings",
    code: "for (const name of ['slice', 'map', 'join', 'split', 'push']) { Array.prototype[name] = String.prototype[name] = null } 5",
    seen: settled,
  },
  {
    title: "pollutes the prototype of objects",
    code: "Object.prototype.type = 'end'; Object.prototype.id = 99; Object.prototype.error = 1; 5",
    seen: settled,
  },
  {
    title: "deletes its globals",
    code: "for (const name of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[name] } catch {}\n5",
    seen: settled,
  },
  {
    title: "replaces the kernel's step",
    code: "globalThis.$caissonStep = null; 5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "closes its standard streams",
    code: "for (const fd of [0, 1, 2]) require('fs').closeSync(fd)\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "closes every descriptor",
    code: "for (let fd = 0; fd < 64; fd++) try { require('fs').closeSync(fd) } catch {}\n5",
    timeoutMs: 5000,
    seen: (result) => expect(result.ended).toBeDefined(),
    lives: false,
  },
  {
    title: "replaces the process's streams",
    code: "Object.defineProperty(process, 'stdout', { value: null }); 5",
    seen: shown("5"),
    lives: true,
  },
  { title: "removes every listener", code: "process.removeAllListeners(); 5", seen: shown("5"), lives: true },
  { title: "ends the process", code: "process.exit(0)", seen: ended("exit code 0"), lives: false },
  {
    title: "ends the process and does not",
    code: "process.on('exit', () => { while (true) {} }); process.exit(0)",
    timeoutMs: 200,
    seen: settled,
  },
  { title: "aborts", code: "process.abort()", seen: ended("ended by SIGABRT"), lives: false },
  {
    title: "kills the process",
    code: "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})",
    seen: ended("ended by SIGKILL"),
    lives: false,
  },
  {
    title: "takes all memory",
    code: "const hoard = []; while (true) hoard.push(Buffer.alloc(1 << 20, 1))",
    memoryBytes: 192 * 1024 ** 2, // a Node that has started holds 110 MB under gVisor
    seen: (result) => expect(result.ended).toMatchObject({ oom_killed: true }),
    lives: false,
  },
  {
    title: "chains promises without end",
    code: "(function again() { Promise.resolve().then(again) })(); 5",
    timeoutMs: 300,
    seen: settled,
  },
  {
    title: "schedules ticks without end",
    code: "(function again() { process.nextTick(again) })(); 5",
    timeoutMs: 300,
    seen: settled,
  },
  { title: "leaves a rejection alone", code: "Promise.reject(new Error('alone')); 5", seen: shown("5"), lives: true },
  {
    title: "shows without end",
    code: "for (let n = 0; n < 1000; n++) display(n)\n5",
    seen: (result) => expect(result.results).toHaveLength(contextLimits.results),
    lives: true,
  },
  {
    title: "shows something huge",
    code: "'x'.repeat(5_000_000)",
    seen: (result) => expect(result.results).toMatchObject([{ truncated: true }]),
    lives: true,
  },
  {
    title: "shows something that fails to be shown",
    code: "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') } })",
    seen: failed("Error"),
    lives: true,
  },
  {
    title: "throws something that cannot be shown",
    code: "throw new Proxy({}, { getPrototypeOf() { throw 1 }, get() { throw 2 } })",
    seen: (result) => expect(result.error).toBeDefined(),
    lives: true,
  },
  {
    title: "throws an error with a hostile stack",
    code: "const odd = new Error('m'); odd.stack = { split: 1 }; odd.name = { toString() { throw 1 } }; throw odd",
    seen: (result) => expect(result.error).toBeDefined(),
    lives: true,
  },
  {
    title: "starts threads that spin",
    code: "for (let n = 0; n < 4; n++) new (require('worker_threads').Worker)('while (true) {}', { eval: true })\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "prints without end between runs",
    code: "setInterval(() => { for (let n = 0; n < 100; n++) console.log('x'.repeat(4000)) }, 0); 5",
    seen: shown("5"),
    lives: true,
  },
];

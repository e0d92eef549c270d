// Interrupts of a Node kernel. vm's breakOnSigint stops even an endless loop, but when the last such script has ended Node
// sets the signal back to end the process. So a thread of its own is always inside one: it hears the interrupts that come
// while the main thread is in none, and tells it. Scripts are interrupted from the one begun last to the first, so the
// thread nests some, and uses one up each time; it nests more only while the main thread runs nothing.
import { Script } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const LEVELS = 16;
const REFILL = 0;
const LEFT = 1;

/** Calls back for each interrupt that came while the main thread was not in a script of its own. */
export async function watchInterrupts(onInterrupt) {
  const cells = new Int32Array(new SharedArrayBuffer(8));
  const { load, notify, store, wait } = Atomics;
  const limits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 2 };
  const worker = new Worker(new URL(import.meta.url), { workerData: cells, resourceLimits: limits, env: {} });
  worker.unref();
  worker.on("message", (interrupts) => interrupts > 0 && onInterrupt());
  const fill = () => {
    store(cells, REFILL, 1);
    notify(cells, REFILL);
    for (let tries = 0; load(cells, LEFT) < LEVELS && tries < 10; tries++) wait(cells, LEFT, load(cells, LEFT), 100);
  };
  await new Promise((resolve) => worker.once("message", resolve));
  /** To be called before a script is begun. */
  return () => load(cells, LEFT) < 4 && fill();
}

function watch(cells) {
  const script = new Script("globalThis.enterLevel()");
  let wanted = LEVELS;
  const nest = () => {
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch {
      parentPort.postMessage(1);
    }
    Atomics.sub(cells, LEFT, 1);
  };
  globalThis.enterLevel = () => {
    const left = Atomics.add(cells, LEFT, 1) + 1;
    for (;;) {
      if (left < wanted) nest();
      else {
        Atomics.notify(cells, LEFT);
        parentPort.postMessage(0);
      }
      wanted = 0;
      Atomics.wait(cells, REFILL, 0);
      Atomics.store(cells, REFILL, 0);
      wanted = LEVELS;
    }
  };
  for (;;) nest();
}

if (!isMainThread) watch(workerData);

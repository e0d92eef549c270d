// Interrupts of a Node kernel. vm's breakOnSigint stops even an endless loop, but when the last such script has ended Node
// sets the signal back to end the process. So a thread of its own is always inside one: it hears the interrupts that come
// while the main thread is in none, and tells it. Scripts are interrupted from the one begun last to the first, so the
// thread nests some, and uses one up each time; it nests more only while the main thread runs nothing.
import { Script } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const LEVELS = 16;
const REFILL = 0;
const LEFT = 1;
const RUN = 2;

/** Calls back with the number of the run that was under way when the interrupt came. */
export async function watchInterrupts(onInterrupt) {
  const cells = new Int32Array(new SharedArrayBuffer(12));
  const { load, notify, store, wait } = Atomics;
  const limits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 2 };
  const worker = new Worker(new URL(import.meta.url), { workerData: cells, resourceLimits: limits, env: {} });
  worker.unref();
  worker.on("message", (run) => run > 0 && onInterrupt(run));
  const fill = () => {
    store(cells, REFILL, 1);
    notify(cells, REFILL);
    for (let tries = 0; load(cells, LEFT) < LEVELS && tries < 10; tries++) wait(cells, LEFT, load(cells, LEFT), 100);
  };
  await new Promise((resolve) => worker.once("message", resolve));
  return {
    begin(run) {
      if (load(cells, LEFT) < 4) fill();
      store(cells, RUN, run);
    },
    end: () => store(cells, RUN, 0),
  };
}

function watch(cells) {
  const script = new Script("globalThis.enterLevel()");
  let wanted = LEVELS;
  const nest = () => {
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch {
      parentPort.postMessage(Atomics.load(cells, RUN));
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

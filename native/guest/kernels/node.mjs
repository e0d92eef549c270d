// The Node kernel of a code context: one process that reads requests and runs code, so that variables live on.
//
// User code runs in this very process, so nothing here is a boundary: whatever it does to the kernel hurts its own context,
// and the host believes nothing that is said here. The kernel only tries to keep answering.
import { closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { createRequire, isBuiltin } from "node:module";
import { Socket } from "node:net";
import { resolve } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { Script } from "node:vm";
import { describe } from "./node-describe.mjs";
import { withImports } from "./node-imports.mjs";
import { watchInterrupts } from "./node-interrupts.mjs";
import { Output, writeAll } from "./node-output.mjs";

// A shell has moved these here: 0 to 2 are the user's.
const REQUESTS = 3;
const OUT = 4;
const ERR = 5;
const ATOMIC_BYTES = 4096; // PIPE_BUF: a frame up to this is never mixed with what others write to the same pipe
const DAMAGED = {
  name: "KernelError",
  message: "the code damaged its interpreter; restart the context",
  traceback: "",
};

const { parse, stringify } = JSON;
const DAMAGED_TEXT = stringify(DAMAGED);
const { from: bytesFrom, concat, alloc } = Buffer;
const exit = process.reallyExit.bind(process);
const drain = process._tickCallback.bind(process);
const { setTimeout: setTimer, clearTimeout: clearTimer } = globalThis;

let mark;
let limits;
let current; // { id, code, done }
let results = 0;
const sources = new Map();

function sendFrame(fd, kind, payload) {
  const header = alloc(mark.length + 3);
  header.set(mark);
  header.write(kind, mark.length);
  header.writeUInt16LE(payload.length, mark.length + 1);
  writeAll(fd, concat([header, payload]));
}

function send(message) {
  const data = bytesFrom(stringify(message));
  if (data.length > limits.messageBytes) return false;
  const most = ATOMIC_BYTES - mark.length - 3;
  const last = Math.floor(Math.max(0, data.length - 1) / most) * most;
  // An interrupt may stop this half way: the next message begins anew.
  for (let at = 0; at < last; at += most) sendFrame(OUT, at === 0 ? "F" : "M", data.subarray(at, at + most));
  sendFrame(OUT, last === 0 ? "W" : "L", data.subarray(last));
  return true;
}

function show(kind, value) {
  if (++results > limits.results) return;
  const parts = describe(value, limits);
  if (!send({ type: "result", kind, ...parts }))
    send({ type: "result", kind, text: parts.text.slice(0, 1000), truncated: true });
}

/** Frames of the user's own code; what called it is the kernel's. */
function cleanStack(stack) {
  const lines = stack.split("\n");
  const isKernels = (line) => /^\s+at .*(\/\.caisson\/kernels\/|node:inspector|\(node:vm:|_tickCallback\])/.test(line);
  const first = lines.findIndex(isKernels);
  return (first < 0 ? lines : lines.slice(0, first)).join("\n");
}

/** The line of the user's code that a place like `run-3:2:5` names, with an arrow below. */
function sourceAt(name, line, column) {
  const text = sources.get(name)?.split("\n")[line - 1];
  return text === undefined
    ? ""
    : `${name}:${line}\n${text.slice(0, 500)}\n${" ".repeat(Math.min(column - 1, 500))}^\n\n`;
}

/** Without anything that the code can have replaced, as the last resort. */
function explainSafely(value, details, name) {
  try {
    return explain(value, details, name);
  } catch {
    return DAMAGED;
  }
}

function explain(value, details, name) {
  const cut = (text, most) => String(text).slice(0, most);
  if (!(value instanceof Error))
    return { name: "Uncaught", message: cut(inspect(value), limits.traceChars), traceback: "" };
  const stack = cleanStack(typeof value.stack === "string" ? value.stack : String(value));
  const place = /(run-\d+):(\d+):(\d+)/.exec(stack);
  let source = place === null ? "" : sourceAt(place[1], Number(place[2]), Number(place[3]));
  if (place === null && value instanceof SyntaxError && details !== undefined)
    source = sourceAt(name, details.lineNumber + 1, details.columnNumber + 1);
  const cause =
    value.cause === undefined
      ? ""
      : `\n[cause]: ${value.cause?.stack ? cleanStack(value.cause.stack) : inspect(value.cause)}`;
  return {
    name: cut(value.name, 200),
    message: cut(value.message, limits.traceChars),
    traceback: cut(`${source}${stack}${cause}\n`, limits.traceChars),
  };
}

const session = new Session();
session.connect();
let taken;
const takeId = (() => {
  let id;
  globalThis.__caissonTake = (value) => {
    taken = value;
  };
  session.post("Runtime.evaluate", { expression: "__caissonTake" }, (_error, answer) => {
    id = answer.result.objectId;
  });
  delete globalThis.__caissonTake;
  return id;
})();

/** The value itself of what the inspector answers with. */
function takeValue(remote) {
  if (remote.objectId === undefined) {
    if (remote.type === "bigint") return BigInt(remote.unserializableValue.slice(0, -1));
    if (remote.unserializableValue !== undefined) return Number(remote.unserializableValue);
    return remote.value;
  }
  session.post("Runtime.callFunctionOn", {
    objectId: takeId,
    functionDeclaration: "function (value) { 'use strict'; this(value); }",
    arguments: [{ objectId: remote.objectId }],
  });
  const value = taken;
  taken = undefined;
  return value;
}

function finish(run, error) {
  if (current !== run) return; // interrupted before
  current = undefined;
  try {
    session.post("Runtime.releaseObjectGroup", { objectGroup: "run" });
    sendFrame(ERR, "S", bytesFrom(`${run.id}`));
    try {
      send({ type: "end", id: run.id, ...(error && { error }) });
    } catch {
      sendFrame(OUT, "W", bytesFrom(`{"type":"end","id":${run.id},"error":${DAMAGED_TEXT}}`));
    }
  } catch (failure) {
    exit(failure?.code === "EBADF" ? 71 : 70);
  }
}

const INTERRUPTED = { name: "Interrupted", message: "the code was interrupted", traceback: "" };

/** What is to be done inside of breakOnSigint: whatever may be the user's code, and nothing that must not stop half way. */
let guardedWork;
let isGuarded = false;
/** A callback that was cut off is still in Node's books, which it clears after an uncaught exception only. */
let mustClear = false;
const CLEARING = Symbol("clearing");
Object.defineProperty(globalThis, "$caissonStep", { value: () => guardedWork() });
const guarded = new Script("$caissonStep()", { filename: "/.caisson/kernels/" });

/** The error that the work ended with, if any. */
function guard(run, work) {
  guardedWork = work;
  isGuarded = true;
  try {
    keepHandlersOnce();
    guarded.runInThisContext({ breakOnSigint: true });
    return undefined;
  } catch (error) {
    if (error?.code !== "ERR_SCRIPT_EXECUTION_INTERRUPTED") return explainSafely(error, undefined, nameOf(run));
    seen++;
    mustClear = true;
    return INTERRUPTED;
  } finally {
    isGuarded = false;
  }
}

const nameOf = (run) => `run-${run.id}`;

function evaluate(run) {
  const expression = `${withImports(run.code)}\n//# sourceURL=${nameOf(run)}`;
  session.post("Runtime.evaluate", { expression, replMode: true, objectGroup: "run" }, (failure, reply) => {
    run.answer = { failure, reply };
    if (!isGuarded) conclude(run);
  });
  drain(); // what follows an await that need not wait can be interrupted too
}

/** Shows what came of the code. */
function conclude(run) {
  if (current !== run) return;
  const { failure, reply } = run.answer;
  let error = failure && { ...DAMAGED, message: failure.message };
  const broken = guard(run, () => {
    if (reply?.exceptionDetails)
      error = explainSafely(takeValue(reply.exceptionDetails.exception), reply.exceptionDetails, nameOf(run));
    const value = error ? undefined : takeValue(reply.result);
    if (value === undefined) return;
    globalThis._ = value;
    show("value", value);
  });
  finish(run, broken ?? error);
}

function runSafely(request) {
  try {
    runCode(request);
  } catch {
    finish(current, DAMAGED);
  }
}

function runCode(request) {
  const run = { id: request.id, code: request.code, expected: request.interrupts };
  current = run;
  results = 0;
  sources.set(nameOf(run), run.code);
  giveInput(request.stdin);
  if (seen > run.expected) return onInterrupt(); // it came just before
  nestMore();
  const broken = guard(run, () => evaluate(run));
  if (broken !== undefined) finish(run, broken);
  else if (run.answer !== undefined) conclude(run);
}

/** Node would take off handlers of the user's before the script, and with them the one of breakOnSigint. */
function keepHandlersOnce() {
  process.listenerCount = () => {
    delete process.listenerCount;
    return 0;
  };
}

/** Comes only while the code waits for something; a busy one is stopped by breakOnSigint. */
function onInterrupt() {
  if (current === undefined || seen <= current.expected) return;
  sendFrame(OUT, "A", alloc(0));
  finish(current, INTERRUPTED);
}

let seen = 0; // interrupts, since the start
let held;
const nestMore = await watchInterrupts(() => {
  seen++;
  if (held !== undefined) held();
  onInterrupt();
});

/** Interrupts that were sent before a request are not meant for it, however late they come. */
function runAfterInterrupts(request) {
  if (seen >= request.interrupts) return runSafely(request);
  const goOn = () => {
    if (held !== goOn || seen < request.interrupts) return;
    held = undefined;
    clearTimer(timer);
    runSafely(request);
  };
  const timer = setTimer(() => {
    seen = request.interrupts; // the code had them ignored
    goOn();
  }, 1000);
  held = goOn;
}

let input;
let fed = false;

function giveInput(data) {
  if (data === undefined) {
    const refuse = "this run was given no input; pass it as the run's stdin";
    input = () =>
      new Readable({
        read() {
          this.destroy(new Error(refuse));
        },
      });
    if (fed) replaceInput("/dev/null");
    fed = false;
  } else {
    const bytes = bytesFrom(data, "base64");
    input = () => Readable.from(bytes.length === 0 ? [] : [bytes], { objectMode: false });
    const file = `/tmp/.caisson-stdin-${process.pid}`;
    writeFileSync(file, bytes, { mode: 0o600, flag: "wx" });
    replaceInput(file);
    unlinkSync(file);
    fed = true;
  }
  stdin = undefined;
}

/** The lowest free number is the next one opened. */
function replaceInput(path) {
  try {
    closeSync(0);
  } catch {} // the code has closed it
  openSync(path, "r");
}

let stdin;
const streams = { stdout: new Output(1), stderr: new Output(2) };
for (const name of ["stdout", "stderr"])
  Object.defineProperty(process, name, { get: () => streams[name], configurable: true, enumerable: true });
Object.defineProperty(process, "stdin", {
  get: () => {
    stdin ??= Object.assign(input(), { fd: 0 });
    return stdin;
  },
  configurable: true,
  enumerable: true,
});

const hidden = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
const requireFrom = () => createRequire(`${process.cwd()}/`);
hidden("require", requireFrom());
hidden("display", (...values) => {
  for (const value of values) show("display", value);
});
/** Stands for `import` in the user's code: as long, so that columns stay. */
hidden("$mport", async (name, options) => {
  const text = String(name);
  if (isBuiltin(text) || /^[a-z]+:/.test(text)) return import(text, options);
  const path = /^\.{0,2}\//.test(text) ? resolve(text) : requireFrom().resolve(text);
  return import(pathToFileURL(path).href, options);
});

Error.stackTraceLimit = 30;
process.argv = [process.argv[0]];
process.on("uncaughtException", (error) => {
  if (error === CLEARING) return;
  try {
    writeAll(2, bytesFrom(`Uncaught ${error instanceof Error ? cleanStack(String(error.stack)) : inspect(error)}\n`));
  } catch {} // the code has closed it
});

/** This process is a copy: chance must not fall alike in all of them. What the code put in these places is its own matter. */
function reseed(seed) {
  reseedMath(seed);
  try {
    process.dlopen({ exports: {} }, "/.caisson/reseed.so"); // it seeds OpenSSL anew
    const { randomInt, randomUUID } = requireFrom()("node:crypto");
    // Node draws that many ahead: those are all of before.
    for (let i = 0; i < 128; i++) randomUUID();
    for (let i = 0; i < 1024; i++) randomInt(2);
  } catch {} // a Node that was built without OpenSSL, or for another C library
}

/** V8 has no seed to set: its state is left, for xorshift128. */
function reseedMath(seed) {
  const bytes = bytesFrom(seed, "hex");
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => bytes.readUInt32LE(at));
  Math.random = function random() {
    let t = d;
    const s = a;
    d = c;
    c = b;
    b = s;
    t ^= t << 11;
    t ^= t >>> 8;
    a = (t ^ s ^ (s >>> 19)) >>> 0;
    return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
  };
}

let received = alloc(0);
new Socket({ fd: REQUESTS, readable: true, writable: false })
  .on("data", (chunk) => {
    received = received.length === 0 ? chunk : concat([received, chunk]);
    if (received.length < 4 || received.length < 4 + received.readUInt32LE(0)) return;
    const size = 4 + received.readUInt32LE(0);
    const request = parse(received.toString("utf8", 4, size));
    received = received.subarray(size);
    if (request.seed !== undefined) return reseed(request.seed);
    if (mark !== undefined) {
      runAfterInterrupts(request);
      if (!mustClear) return;
      mustClear = false;
      throw CLEARING;
    }
    mark = bytesFrom(request.mark, "hex");
    limits = request.limits;
    send({ type: "ready" });
  })
  .on("error", () => exit(71))
  .on("close", () => exit(0));

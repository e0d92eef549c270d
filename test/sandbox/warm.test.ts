import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { CodeRequest, RunResult } from "../../packages/server/src/core/run.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

type Case = Omit<CodeRequest, "language">;

/** The same code in an interpreter that waited and in one that did not must come out the same. */
const python: Record<string, Case> = {
  prints: { code: "print(1); print('two', end='')" },
  "stands in __main__": { code: "print(__name__, sorted(dir()), __builtins__, __spec__, __doc__)" },
  "sees its arguments": { code: "import sys; print(sys.argv, sys.orig_argv, sys.flags, sys.path, sys.executable)" },
  "finds its folder": { code: "import os; print(os.getcwd(), os.listdir('.'))", cwd: "/tmp" },
  "cannot enter a folder that is not there": { code: "print(1)", cwd: "/workspace/none" },
  "cannot enter a folder that is not its own": { code: "print(1)", cwd: "/proc/1/cwd" },
  "has its environment": { code: "import os; print(sorted(os.environ.items()))", env: { A: "1", HOME: "/tmp" } },
  "has its home": {
    code: "import os, site; print(os.path.expanduser('~'), site.USER_BASE, site.USER_SITE, site.ENABLE_USER_SITE)",
  },
  "has variables that Python reads as it starts": { code: "print(hash('x'))", env: { PYTHONHASHSEED: "7" } },
  "has a zone": {
    code: "import time; print(time.tzname, time.strftime('%H', time.localtime(0)))",
    env: { TZ: "XYZ-3" },
  },
  "has another locale": { code: "import sys; print(sys.stdout.encoding, 'é')", env: { LC_ALL: "C", PYTHONUTF8: "0" } },
  "has no input": { code: "import sys; print(repr(sys.stdin.read()), sys.stdin.isatty(), sys.stdin)" },
  "reads input": { code: "import sys; print(input(), sys.stdin.readlines(), sys.stdin.seekable())", stdin: "a\nb\nc" },
  "reads /dev/stdin": { code: "print(open('/dev/stdin').read())", stdin: "from the device" },
  "has standard streams": {
    code: "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr): print(s.encoding, s.errors, s.line_buffering, s.name, s.mode, s.newlines)",
  },
  "exits with a number": { code: "import sys; print('x', end=''); sys.exit(7)" },
  "exits with words": { code: "raise SystemExit('words')" },
  "exits at once": { code: "import os; print('lost', end=''); os._exit(9)" },
  "ends with an exception": {
    code: "def f():\n  1/0\n\ntry:\n  f()\nexcept Exception as e:\n  raise ValueError('x') from e",
  },
  "ends with its own hook": { code: "import sys; sys.excepthook = lambda *a: print('hook', a[0]); 1/0" },
  "is not Python": { code: "print(1\nx = = 2" },
  "warns of itself": { code: "import warnings; warnings.warn('old', DeprecationWarning); assert 'a' is 'a'" },
  "is interrupted by itself": { code: "raise KeyboardInterrupt" },
  "is interrupted": { code: "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)" },
  "handles a signal": {
    code: "import os, signal; signal.signal(15, lambda *a: print('term')); os.kill(os.getpid(), 15)",
  },
  "is ended by a signal": { code: "import os; os.kill(os.getpid(), 15)" },
  aborts: { code: "import os; os.abort()" },
  "has signals as they are": {
    code: "import signal as s; print([(n, s.getsignal(n)) for n in (2,13,15,17,25)], s.pthread_sigmask(s.SIG_BLOCK, []))",
  },
  "runs what it registered": {
    code: "import atexit; atexit.register(print, 'last'); atexit.register(print, 'first'); print('main')",
  },
  "waits for its threads": {
    code: "import threading, time; said = threading.Event(); threading.Thread(target=lambda: (said.wait(), time.sleep(.05), print('thread'))).start(); print('main'); said.set()",
  },
  "leaves daemons": {
    code: "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('main')",
  },
  finalises: {
    code: "class A:\n  def __del__(self): print('gone', helper())\ndef helper(): return 5\na = A(); b = [A()]; b.append(b)",
  },
  "finalises what its own modules hold": {
    code: "import beside\nclass A:\n  def __del__(self): print('gone')\nbeside.a = A()",
  },
  "finalises after an exception": {
    code: "class A:\n  def __del__(self): print('gone')\ndef f():\n  a = A()\n  1/0\nf()",
  },
  "leaves a file open": {
    code: "f = open('left.txt', 'w'); f.write('kept'); import atexit; atexit.register(lambda: print(open('left.txt').read() == ''))",
  },
  "ends in what it registered": {
    code: "import atexit\nclass C:\n  def __repr__(self): return 'C'\n  def __call__(self): 1/0\natexit.register(C())\nprint('main')",
  },
  "writes elsewhere": {
    code: "import sys, io; sys.stdout = io.StringIO(); print('nowhere'); sys.__stdout__.write('here')",
  },
  "loses its output": { code: "import os; print('x'); os.close(1)" },
  "imports what lies beside it": { code: "import beside; print(beside.value, beside.__file__)" },
  "has no package": { code: "from . import beside" },
  "has fresh modules": {
    code: "import ctypes, socket, resource, select, signal, struct; print(ctypes.sizeof(ctypes.c_int), resource.getrlimit(resource.RLIMIT_CORE))",
  },
  "has its limits": {
    code: "import resource as r; print([(n, r.getrlimit(getattr(r, n))) for n in dir(r) if n.startswith('RLIMIT_') and n != 'RLIMIT_STACK'])",
  },
  "has its identity": {
    code: "import os; print(os.getresuid(), os.getresgid(), len(os.getgroups()), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), os.nice(0))\nprint([l for l in open('/proc/self/status') if l[:3] in ('Cap', 'NoN', 'Sec')], open('/proc/self/oom_score_adj').read() if os.path.exists('/proc/self/oom_score_adj') else None)",
  },
  "has three descriptors": {
    code: "import os; print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')), os.umask(0))",
  },
  "starts programs": {
    code: "import subprocess; print(subprocess.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], capture_output=True))",
  },
  forks: { code: "import os\np = os.fork()\nif p == 0: os._exit(5)\nprint(os.waitpid(p, 0)[1])" },
  "has workers": {
    code: "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
  },
  "runs too long": { code: "while True: pass", limits: { timeoutMs: 300 } },
  "opens too much": { code: "import os\ntry:\n  while True: os.dup(1)\nexcept OSError as e: print(e)" },
  "prints much": { code: "print('x' * 300000)" },
};

const node: Record<string, Case> = {
  prints: { code: "console.log(1); console.error('e')" },
  "stands in its scope": {
    code: "console.log(typeof require, __filename, __dirname, module.id, module.paths, this === globalThis)",
  },
  "sees its arguments": {
    code: "console.log(process.argv.slice(1), process.execArgv, process.execPath, process._eval)",
  },
  "finds its folder": { code: "console.log(process.cwd())", cwd: "/tmp" },
  "cannot enter a folder that is not there": { code: "1", cwd: "/workspace/none" },
  "has its environment": { code: "console.log(Object.entries(process.env).sort())", env: { A: "1" } },
  "has variables that Node reads as it starts": {
    code: "console.log(process.execArgv.length, 1)",
    env: { NODE_OPTIONS: "--no-warnings" },
  },
  "has a zone": { code: "console.log(new Date(0).getHours())", env: { TZ: "XYZ-3" } },
  "has no input": { code: "console.log(JSON.stringify(require('fs').readFileSync(0, 'utf8')))" },
  "reads input": {
    code: "process.stdin.on('data', (d) => console.log('got ' + d)).on('end', () => console.log('end'))",
    stdin: "a\nb",
  },
  "reads /dev/stdin": {
    code: "console.log(require('fs').readFileSync('/dev/stdin', 'utf8'))",
    stdin: "from the device",
  },
  "exits with a number": { code: "process.exitCode = 7" },
  "exits at once": { code: "process.exit(9)" },
  rejects: {
    code: "process.on('unhandledRejection', (e) => { console.log(e.message); process.exit(4); }); Promise.reject(new Error('no'))",
  },
  "is not JavaScript": { code: "let x = = 2" },
  "is a module": { code: "import { sep } from 'node:path'; console.log(sep, typeof require)" },
  imports: { code: "import('node:path').then((path) => console.log(path.sep))" },
  "is ended by a signal": { code: "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60000)" },
  "handles a signal": {
    code: "process.on('SIGUSR2', () => { console.log('usr2'); process.exit(0); }); setInterval(() => {}, 1000); process.kill(process.pid, 'SIGUSR2')",
  },
  "runs what it registered": {
    code: "process.on('exit', (code) => console.log('exit', code)); setTimeout(() => console.log('timer'), 5)",
  },
  "requires what lies beside it": { code: "console.log(require('./beside.cjs').value)" },
  "has its identity": {
    code: "console.log(process.getuid(), process.geteuid(), process.getgid(), process.getgroups().length); console.log(require('fs').readFileSync('/proc/self/status', 'utf8').match(/^(Cap|NoN|Sec).*/gm))",
  },
  "has no right in any thread": {
    code: "const fs = require('fs'); console.log(new Set(fs.readdirSync('/proc/self/task').flatMap((t) => fs.readFileSync('/proc/self/task/' + t + '/status', 'utf8').match(/^(Uid|Cap).*/gm))))",
  },
  "has its limits": {
    code: "console.log(require('child_process').execSync('ulimit -n; ulimit -t; umask').toString())",
  },
  "starts programs": {
    code: "console.log(require('child_process').spawnSync('sh', ['-c', 'echo out; exit 3']).status)",
  },
  "has workers": {
    code: "new (require('worker_threads').Worker)('require(\"worker_threads\").parentPort.postMessage(5)', { eval: true }).on('message', console.log)",
  },
  "runs too long": { code: "for (;;);", limits: { timeoutMs: 500 } },
  "prints much": { code: "console.log('x'.repeat(300000))" },
};

function outcome(result: RunResult) {
  const { exit_code, signal, stdout, timed_out, cpu_limit, oom_killed, truncated } = result;
  // Two frames below the code are Caisson's own.
  const stderr = result.stderr.replace(/ {4}at Script\.runInThisContext .*\n {4}at \[eval\]:\d+:10\n/, "");
  return { exit_code, signal, stdout, stderr, timed_out, cpu_limit, oom_killed, truncated };
}

/** What came of it, in an interpreter that had waited where `warm` says so; one may still be starting. */
async function run(sandbox: Sandbox, request: CodeRequest, warm: boolean): Promise<unknown> {
  try {
    for (let tries = 0; tries < 200; tries++) {
      const result = await sandbox.executeCode({ ...request, trackFiles: false });
      if (result.warm === warm) return outcome(result);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return "never warm";
  } catch (error) {
    if (!(error instanceof AppError) || request.cwd === undefined) throw error;
    return error.message; // the folder cannot be entered
  }
}

describe.each(engines)("an interpreter that has already started (%s)", (engine) => {
  let test: TestCaisson;
  let warm: Sandbox;
  let cold: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    const options = { engine, limits: { storageBytes: 256 * 1024 ** 2 } } as const;
    warm = await test.caisson.createSandbox({ ...options, warm: "start" });
    cold = await test.caisson.createSandbox({ ...options, warm: "never" });
    for (const sandbox of [warm, cold]) {
      await sandbox.files.write("beside.py", "value = 'beside'");
      await sandbox.files.write("beside.cjs", "exports.value = 'beside'");
    }
  });
  afterAll(async () => {
    await warm.destroy();
    await cold.destroy();
    await test[Symbol.asyncDispose]();
  });

  const cases = [
    ...Object.entries(python).map(([name, request]) => ({
      name,
      request: { ...request, language: "python" as const },
    })),
    ...Object.entries(node).map(([name, request]) => ({ name, request: { ...request, language: "node" as const } })),
  ];
  it.each(cases)("[EXE-07] runs $request.language that $name as a plain start does", async ({ request }) => {
    const [waited, plain] = await Promise.all([run(warm, request, true), run(cold, request, false)]);
    expect(waited).toEqual(plain);
  });

  it.each([
    [
      "python",
      "raise ValueError('no')",
      "import builtins, os, sys; builtins.seen = 1; os.environ['SEEN'] = '1'; sys.seen = 1; globals()['seen'] = 1",
      "import builtins, os, sys; print(hasattr(builtins, 'seen'), 'SEEN' in os.environ, hasattr(sys, 'seen'), 'seen' in globals(), 'json' in sys.modules)",
    ],
    [
      "node",
      "throw new Error('no')",
      "globalThis.seen = 1; process.env.SEEN = '1'; Array.prototype.seen = 1",
      "console.log('seen' in globalThis, 'SEEN' in process.env, 'seen' in [], false, false)",
    ],
  ] as const)(
    "[EXE-07] shows nothing of one %s run to the next, whatever became of it",
    async (language, fails, leaves, looks) => {
      expect(await run(warm, { language, code: fails }, true)).toMatchObject({ exit_code: 1 });
      expect(await run(warm, { language, code: leaves }, true)).toMatchObject({ exit_code: 0 });
      const { stdout } = (await run(warm, { language, code: looks }, true)) as RunResult;
      expect(stdout.toLowerCase()).toBe("false false false false false\n");
    },
  );

  it("[EXE-07] draws other random numbers in each run", async () => {
    const code = "import random, uuid, os; print(random.random(), uuid.uuid4(), os.urandom(8).hex())";
    const drawn = new Set<unknown>();
    for (let i = 0; i < 5; i++) drawn.add(((await run(warm, { language: "python", code }, true)) as RunResult).stdout);
    expect(drawn.size).toBe(5);
  });

  it("[EXE-07] cannot be signalled, traced or looked into by the code it runs", async () => {
    const code = `
import os, signal
def tries(what):
    try: what(); return "done"
    except OSError as error: return type(error).__name__
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    if pid in (1, os.getpid()): continue
    print(tries(lambda: os.kill(pid, signal.SIGKILL)), tries(lambda: open(f"/proc/{pid}/mem", "rb")), [tries(lambda: open(f"/proc/{pid}/fd/{fd}", "r+b")) for fd in (3, 4, 5, 6)].count("done"))
`;
    const { stdout } = (await run(warm, { language: "python", code }, true)) as RunResult;
    const lines = stdout.trim().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(2); // the parent, and the Node that waits
    expect(new Set(lines)).toEqual(new Set(["PermissionError PermissionError 0"]));
    expect(await run(warm, { language: "python", code: "print(1)" }, true)).toMatchObject({ stdout: "1\n" });
  });

  it("[EXE-07] goes when nobody uses it, and comes back at the next use", async () => {
    const one = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
    try {
      const first = await one.executeCode({ language: "python", code: "print(1)", trackFiles: false });
      expect(first.warm).toBe(false);
      expect(await run(one, { language: "python", code: "print(2)" }, true)).toMatchObject({ stdout: "2\n" });
      one.wire.configure({
        leaseMs: 0,
        memoryBytes: one.limits.memoryBytes,
        watchMemory: engine === "gvisor",
        environment: one.environment,
        warmIdleMs: 100,
        warm: [],
      });
      const others = 'ls -d /proc/[2-9]* /proc/1?* | grep -cv "^/proc/$$\\$"';
      await expect
        .poll(async () => (await one.exec({ command: others, trackFiles: false })).stdout.trim(), {
          timeout: 30_000,
          interval: 200,
        })
        .toMatch(/^[012]$/); // the pipeline's own
      expect(await run(one, { language: "python", code: "print(3)" }, true)).toMatchObject({ stdout: "3\n" });
    } finally {
      await one.destroy();
    }
  });
});

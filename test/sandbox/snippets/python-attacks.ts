import { expect } from "vitest";
import type { ContextRunResult } from "../../../packages/server/src/core/context.ts";
import { contextLimits } from "../../../packages/server/src/core/limits.ts";
import { type Attack, ended, failed, settled, shown } from "./attack.ts";

/** The kernel's own channel, which code in the same process finds without trouble. */
const forge = (body: string) => `
import json, os
channel = display.__self__.channel
def frame(fd, kind, payload, size=None):
    os.write(fd, channel.mark + kind + (len(payload) if size is None else size).to_bytes(2, "little") + payload)
def whole(value):
    frame(1, b"W", json.dumps(value).encode())
${body}`;
const fakeResult = (fields: string) =>
  forge(`whole({"type": "result", "kind": "value", "text": "t", ${fields}})\nNone`);
const without = (key: string) => (result: ContextRunResult) => {
  expect(result.results).toMatchObject([{ text: "t", truncated: true }]);
  expect(result.results[0]).not.toHaveProperty(key);
};

export const pythonAttacks: Attack[] = [
  {
    title: "replaces builtins",
    code: "import builtins\nfor name in ('print', 'len', 'isinstance', 'str', 'repr', 'getattr'): setattr(builtins, name, None)\n1",
    seen: settled,
  },
  { title: "empties builtins", code: "import builtins\nvars(builtins).clear()", seen: settled },
  { title: "empties the module table", code: "import sys\nsys.modules.clear()", seen: settled },
  {
    title: "closes its standard streams",
    code: "import os\nfor fd in (0, 1, 2): os.close(fd)\n5",
    seen: settled,
    lives: true,
  },
  {
    title: "closes every descriptor",
    code: "import os\nos.closerange(0, 4096)",
    seen: ended("closed the descriptors of its interpreter (exit code 71)"),
    lives: false,
  },
  {
    title: "puts a file in place of its output",
    code: "import os\nfd = os.open('o', os.O_RDWR | os.O_CREAT)\nos.dup2(fd, 1)\nprint('away')\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "replaces sys.stdout by nothing",
    code: "import sys\nsys.stdout = sys.stderr = sys.stdin = None\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "replaces sys.stdout by something odd",
    code: "import sys\nsys.stdout = 7\n5",
    seen: shown("5"),
    lives: true,
  },
  { title: "forks and comes back twice", code: "import os\nchild = os.fork()\n5", seen: shown("5"), lives: true },
  { title: "forks and fails twice", code: "import os\nos.fork()\n1/0", seen: failed("ZeroDivisionError"), lives: true },
  { title: "forks over and over", code: "import os\nfor _ in range(5): os.fork()\n5", seen: shown("5"), lives: true },
  {
    title: "leaves children behind",
    code: "import os, time\nfor _ in range(10):\n    if os.fork() == 0: time.sleep(600)\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "takes all memory",
    code: "hoard = []\nwhile True: hoard.append(bytearray(1 << 20))",
    memoryBytes: 96 * 1024 ** 2,
    seen: (result) =>
      expect(result.ended).toMatchObject({ oom_killed: true, reason: "out of memory: its limit was 96 MB" }),
    lives: false,
  },
  { title: "asks for more memory than there is", code: "bytearray(1 << 60)", seen: failed("MemoryError"), lives: true },
  { title: "ends the process", code: "import os\nos._exit(0)", seen: ended("exit code 0"), lives: false },
  {
    title: "kills the process",
    code: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    seen: ended("ended by SIGKILL"),
    lives: false,
  },
  {
    title: "stops the process",
    code: "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    timeoutMs: 200,
    seen: ended("after its time limit"),
    lives: false,
  },
  {
    title: "reads where nothing is",
    code: "import ctypes\nctypes.string_at(0)",
    seen: ended("ended by SIGSEGV"),
    lives: false,
  },
  {
    title: "becomes another program",
    code: "import os\nos.execvp('true', ['true'])",
    seen: ended("exit code 0"),
    lives: false,
  },
  {
    title: "breaks the kernel's channel",
    code: "display.__self__.channel.send = None\n1/0",
    seen: failed("KernelError"),
  },
  { title: "breaks the kernel", code: "kernel = display.__self__\nkernel.run = None\n5", seen: shown("5") },
  {
    title: "shows without end",
    code: "for n in range(1000): display(n)\n5",
    seen: (result) => expect(result.results).toHaveLength(contextLimits.results),
    lives: true,
  },
  {
    title: "shows something huge",
    code: "'x' * 5_000_000",
    seen: (result) => expect(result.results).toMatchObject([{ truncated: true }]),
    lives: true,
  },
  {
    title: "shows something deep",
    code: "deep = []\nfor _ in range(500): deep = [deep]\ndeep",
    seen: (result) => expect(result.results[0]).not.toHaveProperty("json"),
    lives: true,
  },
  {
    title: "fails with a huge message",
    code: "raise ValueError('x' * 3_000_000)",
    seen: (result) => expect(result.error?.traceback.length).toBeLessThan(100_000),
    lives: true,
  },
  {
    title: "fails with an error that cannot be shown",
    code: "class E(Exception):\n    def __str__(self): raise E\nraise E",
    seen: failed("E"),
    lives: true,
  },
  {
    title: "prints without end from a thread",
    code: "import threading\ndef flood():\n    while True: print('x' * 4000)\nthreading.Thread(target=flood, daemon=True).start()\n5",
    seen: shown("5"),
    lives: true,
  },
  {
    title: "forges the end of its run",
    code: forge(
      `frame(2, b"S", b"1")\nwhole({"type": "end", "id": 1, "error": {"name": "Forged", "message": "", "traceback": ""}})\n5`,
    ),
    seen: failed("Forged"),
    lives: true,
  },
  {
    title: "forges the end of a run to come",
    code: forge(`for n in range(2, 50):\n    frame(2, b"S", b"%d" % n)\n    whole({"type": "end", "id": n})\n5`),
    seen: shown("5"),
    lives: true,
  },
  {
    title: "forges a message that is no JSON",
    code: forge(`frame(1, b"W", b"{")\n5`),
    seen: ended("a message that is no JSON"),
    lives: false,
  },
  {
    title: "forges a message that is no object",
    code: forge("whole([1])\n5"),
    seen: ended("a message that is no object"),
    lives: false,
  },
  {
    title: "forges a message of no known type",
    code: forge(`whole({"type": "constructor"})\n5`),
    seen: ended("a message of no known type"),
    lives: false,
  },
  {
    title: "forges a frame of no known kind",
    code: forge(`frame(1, b"Q", b"")\n5`),
    seen: ended("a frame of no known kind"),
    lives: false,
  },
  {
    title: "forges a frame that is too long",
    code: forge(`frame(1, b"W", b"", 65535)\n5`),
    seen: ended("a frame that is too long"),
    lives: false,
  },
  {
    title: "forges a frame that is too short",
    code: forge(`while True: frame(1, b"M", b"x")`),
    seen: ended("a frame that is too short"),
    lives: false,
  },
  {
    title: "forges a message without end",
    code: forge(`while True: frame(1, b"M", b"x" * 4077)`),
    seen: ended("a message that is too long"),
    lives: false,
  },
  {
    title: "forges more results than it may",
    code: forge(`for n in range(1000): whole({"type": "result", "text": ""})\n5`),
    seen: ended("more results than it may"),
    lives: false,
  },
  {
    title: "forges a text that is none",
    code: fakeResult(`"html": {"toString": 1}`),
    seen: ended("a text that is none"),
    lives: false,
  },
  {
    title: "forges an error that is none",
    code: forge(`whole({"type": "end", "id": 1, "error": 5})\n5`),
    seen: ended("an error that is none"),
    lives: false,
  },
  { title: "forges a picture", code: fakeResult(`"png": "<script>"`), seen: without("png"), lives: true },
  { title: "forges json that is none", code: fakeResult(`"json": "{"`), seen: without("json"), lives: true },
  {
    title: "forges json too deep to walk",
    code: fakeResult(`"json": "[" * 200000 + "]" * 200000`).replace("\nwhole(", "\nchannel.send("),
    seen: without("json"),
    lives: true,
  },
  {
    title: "forges json with a prototype",
    code: fakeResult(`"json": '{"__proto__": {"polluted": 1}}'`),
    seen: (result) => {
      expect(result.results).toHaveLength(1);
      expect({}).not.toHaveProperty("polluted");
    },
    lives: true,
  },
  {
    title: "writes half a frame and goes silent",
    code: forge(`os.write(1, channel.mark + b"W")\n5`),
    timeoutMs: 200,
    seen: settled,
  },
  { title: "writes half a mark", code: forge(`os.write(1, channel.mark[:7])\n5`), seen: shown("5"), lives: true },
];

import type { Snippet } from "./snippet.ts";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const kernel = ["/.caisson/", "kernels"];

export const pythonSnippets: Snippet[] = [
  { title: "a value", code: "1 + 1", results: [{ kind: "value", text: "2", json: 2 }] },
  { title: "an assignment has no value", code: "x = 41", results: [] },
  { title: "variables live on", code: "x += 1\nx", results: [{ text: "42" }] },
  { title: "the last value is _", code: "_ + 1", results: [{ text: "43" }] },
  { title: "None is no value", code: "None", results: [] },
  { title: "output", code: "print('a'); print('b')", stdout: "a\nb\n", results: [] },
  { title: "output without a newline", code: "print('a', end='')", stdout: "a" },
  { title: "both channels", code: "import sys\nprint('o')\nprint('e', file=sys.stderr)", stdout: "o\n", stderr: "e\n" },
  { title: "functions live on", code: "def double(n):\n    return n * 2", results: [] },
  { title: "and are called", code: "double(x)", results: [{ text: "84" }] },
  { title: "imports live on", code: "import math", results: [] },
  { title: "and are used", code: "math.floor(math.pi)", results: [{ text: "3" }] },
  { title: "classes live on", code: "class Point:\n    def __init__(self, x): self.x = x\np = Point(3)" },
  { title: "with their attributes", code: "p.x", results: [{ text: "3" }] },
  { title: "text is shown as repr", code: "'a\\n'", results: [{ text: "'a\\n'", json: "a\n" }] },
  { title: "unicode", code: "print('grüß 🎉')\n'🎉'", stdout: "grüß 🎉\n", results: [{ text: "'🎉'", json: "🎉" }] },
  { title: "a lone surrogate", code: "'\\ud800'", results: [{ text: "'\\ud800'" }] },
  { title: "json of a list", code: "[1, 'a', None, {'k': True}]", results: [{ json: [1, "a", null, { k: true }] }] },
  { title: "a set has no json", code: "{1}", results: [{ text: "{1}" }], without: ["json"] },
  { title: "nan has no json", code: "float('nan')", results: [{ text: "nan" }], without: ["json"] },
  {
    title: "html",
    code: "class H:\n    def __repr__(self): return 'H'\n    def _repr_html_(self): return '<b>h</b>'\nH()",
    results: [{ text: "H", html: "<b>h</b>" }],
  },
  {
    title: "svg",
    code: "class S:\n    def _repr_svg_(self): return '<svg/>'\nS()",
    results: [{ svg: "<svg/>" }],
  },
  {
    title: "png",
    code: `import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('${png}')\nP()`,
    results: [{ png }],
  },
  {
    title: "json of its own",
    code: "class J:\n    def _repr_json_(self): return {'a': [1]}\nJ()",
    results: [{ json: { a: [1] } }],
  },
  {
    title: "a broken rich method is left out",
    code: "class B:\n    def __repr__(self): return 'B'\n    def _repr_html_(self): raise ValueError\nB()",
    results: [{ text: "B" }],
    without: ["html"],
  },
  {
    title: "display shows on the way",
    code: "display(1)\ndisplay('two')\n3",
    results: [
      { kind: "display", text: "1" },
      { kind: "display", text: "'two'" },
      { kind: "value", text: "3" },
    ],
  },
  {
    title: "figures of a plotting library",
    code: `import sys, types
pyplot = types.ModuleType('matplotlib.pyplot')
class Shown:
    def savefig(self, file, **_): file.write(base64.b64decode('${png}'))
    def __repr__(self): return '<Figure>'
pyplot.open = [1]
pyplot.get_fignums = lambda: list(pyplot.open)
pyplot.figure = lambda number: Shown()
pyplot.close = lambda which: pyplot.open.clear()
sys.modules['matplotlib.pyplot'] = pyplot`,
    results: [{ kind: "display", text: "<Figure>", png }],
  },
  {
    title: "an error, with the line",
    code: "a = 1\nb = 0\na / b",
    error: { name: "ZeroDivisionError", message: "division by zero" },
    shows: ["line 3, in <module>", "    a / b"],
    hides: [...kernel, "     ~~^~~"], // marks of Python 3.11 and later, one column too far right
  },
  {
    title: "an error in a function of an earlier run",
    code: "double(None)",
    error: { name: "TypeError" },
    shows: ["line 1, in <module>", "    double(None)", "line 2, in double", "    return n * 2"],
    hides: kernel,
  },
  {
    title: "a chain of errors",
    code: "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('outer') from e",
    error: { name: "RuntimeError", message: "outer" },
    shows: ["KeyError: 'k'", "direct cause", "line 4"],
    hides: kernel,
  },
  {
    title: "a syntax error",
    code: "x = 1\ny = = 2",
    error: { name: "SyntaxError" },
    shows: ["line 2", "y = = 2"],
    hides: kernel,
  },
  { title: "an indentation error", code: "if x:\npass", error: { name: "IndentationError" } },
  { title: "an unknown name", code: "nowhere", error: { name: "NameError", message: "name 'nowhere' is not defined" } },
  {
    title: "output before an error stays",
    code: "print('before')\nraise ValueError('after')",
    stdout: "before\n",
    error: { name: "ValueError", message: "after" },
  },
  {
    title: "an error of a subclass",
    code: "class Mine(Exception): pass\nraise Mine('m')",
    error: { name: "Mine", message: "m" },
  },
  { title: "endless recursion", code: "def f(): f()\nf()", error: { name: "RecursionError" }, hides: kernel },
  { title: "sys.exit ends the code only", code: "sys.exit(3)", error: { name: "SystemExit", message: "3" } },
  { title: "and variables are still there", code: "x", results: [{ text: "42" }] },
  {
    title: "a repr that fails",
    code: "class R:\n    def __repr__(self): raise OSError('r')\nR()",
    error: { name: "OSError", message: "r" },
  },
  { title: "await at the top", code: "import asyncio\nawait asyncio.sleep(0)\n'woke'", results: [{ text: "'woke'" }] },
  { title: "await as the value", code: "async def seven(): return 7\nawait seven()", results: [{ text: "7" }] },
  {
    title: "async for and async with at the top",
    code: "async def numbers():\n    for n in range(3): yield n\nasync for n in numbers(): print(n)\n[n async for n in numbers()]",
    stdout: "0\n1\n2\n",
    results: [{ json: [0, 1, 2] }],
  },
  {
    title: "an error behind an await",
    code: "await seven()\n1/0",
    error: { name: "ZeroDivisionError" },
    shows: ["line 2"],
    hides: ["asyncio", ...kernel],
  },
  { title: "asyncio.run inside", code: "asyncio.run(seven())", results: [{ text: "7" }] },
  {
    title: "input is refused",
    code: "input()",
    error: { name: "EOFError", message: /no input.*stdin/ },
    hides: kernel,
  },
  { title: "input is fed", code: "input() + input()", stdin: "a\nb\n", results: [{ text: "'ab'" }] },
  {
    title: "the rest of fed input",
    code: "sys.stdin.readline(), sys.stdin.read()",
    stdin: "1\n2\n3",
    results: [{ json: ["1\n", "2\n3"] }],
  },
  {
    title: "children read it too",
    code: "import subprocess\nsubprocess.run(['cat'], capture_output=True).stdout",
    stdin: "child",
    results: [{ text: "b'child'" }],
  },
  {
    title: "a prompt is output",
    code: "input('name? ')",
    stdin: "me\n",
    stdout: "name? ",
    results: [{ text: "'me'" }],
  },
  { title: "fed input does not stay", code: "input()", error: { name: "EOFError" } },
  {
    title: "children write to the same output",
    code: "subprocess.run(['echo', 'child']).returncode",
    stdout: "child\n",
    results: [{ text: "0" }],
  },
  {
    title: "files are those of the workspace",
    code: "open('f.txt', 'w').write('abc')\nimport os\nos.getcwd()",
    results: [{ text: "'/workspace'" }],
  },
  {
    title: "modules of the workspace",
    code: "open('mine.py', 'w').write('v = 5')\nimport importlib; importlib.invalidate_caches()\nimport mine\nmine.v",
    results: [{ text: "5" }],
  },
  {
    title: "__main__ is the user's",
    code: "__name__, sys.modules['__main__'].x",
    results: [{ json: ["__main__", 42] }],
  },
  {
    title: "pickle finds the user's classes",
    code: "import pickle\npickle.loads(pickle.dumps(p)).x",
    results: [{ text: "3" }],
  },
  { title: "the future lives on", code: "from __future__ import annotations", results: [] },
  { title: "in later code", code: "def g(a: nowhere): pass\ng.__annotations__", results: [{ json: { a: "nowhere" } }] },
  {
    title: "threads write",
    code: "import threading\nt = threading.Thread(target=lambda: print('t')); t.start(); t.join()",
    stdout: "t\n",
  },
  { title: "bytes to the buffer below", code: "_ = sys.stdout.buffer.write(b'raw\\n')", stdout: "raw\n" },
  { title: "bytes to descriptor 1", code: "_ = os.write(1, b'fd\\n')", stdout: "fd\n" },
  { title: "no code at all", code: "", results: [] },
  { title: "a comment", code: "# nothing", results: [] },
  { title: "many lines", code: `${"y = 1\n".repeat(5000)}y`, results: [{ text: "1" }] },
  { title: "windows line ends", code: "z = 1\r\nz + 1\r\n", results: [{ text: "2" }] },
];

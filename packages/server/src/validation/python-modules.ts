/** Python's modules as policy sees them. Data. */

const words = (text: string) => text.trim().split(/\s+/);

/** Of those that Python brings, what code needs that computes: no process, no network, no way into the interpreter. */
const approvedStandard = words(`
  abc argparse array base64 binascii bisect bz2 calendar cmath collections colorsys configparser contextlib copy csv dataclasses
  datetime decimal difflib enum fnmatch fractions functools graphlib gzip hashlib heapq hmac html io ipaddress itertools json locale
  logging lzma math numbers operator pathlib pprint random re reprlib secrets sqlite3 statistics string struct tempfile textwrap time
  tomllib traceback typing unicodedata unittest uuid warnings weakref xml zipfile zlib zoneinfo
`);

/** What work with data installs. */
const approvedInstalled = words(`
  PIL attr attrs dateutil matplotlib networkx numpy openpyxl pandas plotly polars pyarrow pydantic pytz scipy seaborn sklearn
  statsmodels sympy tabulate typing_extensions yaml
`);

export const approvedModules = new Set([...approvedStandard, ...approvedInstalled, "__future__"]);

/** Parts of modules that are not approved as a whole. */
export const approvedParts = new Set(["urllib.parse", "collections.abc", "http.HTTPStatus"]);

const dangerousByReason: Record<string, string[]> = {
  "starts processes or makes the system's own calls": words(`
    concurrent fcntl multiprocessing nt os posix psutil pty resource sh shutil signal subprocess
  `),
  "reaches into the interpreter": words(`
    _ctypes _thread atexit builtins cffi ctypes faulthandler gc inspect mmap site sys sysconfig threading types
  `),
  "loads or runs code that a reader does not see": words(`
    bdb cloudpickle code codeop dill doctest ensurepip imp importlib marshal pdb pickle pip pkgutil runpy shelve timeit venv
    zipimport
  `),
  "opens connections": words(`
    _socket aiohttp asyncio ftplib http httpx imaplib paramiko poplib requests select selectors smtplib socket socketserver ssl
    telnetlib urllib urllib3 webbrowser xmlrpc
  `),
};

/** Why they are dangerous; a submodule is judged as its module. */
export const dangerousModules = new Map(
  Object.entries(dangerousByReason).flatMap(([reason, names]) => names.map((name) => [name, reason] as const)),
);

const otherStandard = words(`
  asyncio ast atexit bdb builtins cProfile cmd code codecs codeop compileall concurrent contextvars copyreg ctypes curses dbm dis
  doctest email ensurepip errno faulthandler fcntl filecmp fileinput ftplib gc getopt getpass gettext glob grp http imaplib
  importlib inspect keyword linecache mailbox marshal mimetypes mmap multiprocessing netrc optparse os pdb pickle pickletools
  pkgutil platform plistlib poplib posixpath profile pstats pty pwd py_compile pyclbr pydoc queue quopri readline resource
  runpy sched select selectors shelve shlex shutil signal site smtplib socket socketserver ssl stat stringprep subprocess symtable
  sys sysconfig syslog tabnanny tarfile termios threading timeit tkinter token tokenize trace tracemalloc tty turtle types urllib
  venv wave webbrowser wsgiref xmlrpc zipapp zipimport
`);

/** What `import` finds without an installation. */
export const standardModules = new Set([...approvedStandard, ...otherStandard]);

/** Modules that others hold as their attributes: `pathlib.os` is `os`. */
export const modulesInModules = new Set(
  words("os _os posix sys _sys subprocess _subprocess builtins _builtins importlib socket ctypes pty shutil _shutil"),
);

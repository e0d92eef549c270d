"""Does the steps of a JSON file under a folder: `tree-ops.py FOLDER STEPS`. A step that cannot be done is left out."""
import json
import os
import shutil
import sys

PARTS = [
    b"a", b"b", b"sp ace", b"new\nline", b"\xff\xfe raw", "\u00e9\u4e2d".encode(), b"-rf", b"..x", b"\x01\x1b[31m", b"y" * 200, b"*?[", b"a.b",
]
SIZES = [0, 1, 511, 4096, 70_000, 1_500_000]
root = os.fsencode(sys.argv[1])


def path(parts):
    return os.path.join(root, *(PARTS[part] for part in parts))


def write(name, size, value):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write((b"%d|" % value * (SIZES[size] // 2 + 1))[: SIZES[size]])


def sparse(name, size, value):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.truncate(2_000_000)
        file.seek(SIZES[size])
        file.write(b"%d" % value)


def change(name, size, value):
    with open(name, "r+b") as file:
        file.seek(min(SIZES[size], os.path.getsize(name)))
        file.write(b"%d" % value)


def do(kind, parts, other, size, value):
    name = path(parts)
    if kind == "file":
        write(name, size, value)
    elif kind == "sparse":
        sparse(name, size, value)
    elif kind == "change":
        change(name, size, value)
    elif kind == "folder":
        os.makedirs(name, exist_ok=True)
    elif kind == "link":
        os.symlink([b"/etc/passwd", b"../../..", b"gone", path(other)][size % 4], name)
    elif kind == "hard":
        os.link(path(other), name, follow_symlinks=False)
    elif kind == "move":
        os.rename(name, path(other))
    elif kind == "remove":
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)
    elif kind == "mode":
        os.chmod(name, (0o500 if os.path.isdir(name) else 0o400) | value % 0o1000)
    elif kind == "time":
        ns = (value - 500_000) * 1_000_000_007
        os.utime(name, ns=(ns, ns), follow_symlinks=False)


with open(sys.argv[2]) as file:
    for step in json.load(file):
        try:
            do(*step)
        except (OSError, shutil.Error):
            pass

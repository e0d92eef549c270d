"""Tells every name under a folder: kind and mode, time to the nanosecond, bytes, target, and which names are one file."""
import hashlib
import os
import stat
import sys

root = os.fsencode(sys.argv[1])
first = {}
rows = []
for folder, folders, files in os.walk(root):
    for name in folders + files:
        path = os.path.join(folder, name)
        info = os.lstat(path)
        row = [oct(info.st_mode), str(info.st_mtime_ns)]
        if stat.S_ISREG(info.st_mode):
            row.append(str(info.st_size))
            try:
                with open(path, "rb") as file:
                    row.append(hashlib.sha256(file.read()).hexdigest())
            except PermissionError:
                row.append("closed")
        elif stat.S_ISLNK(info.st_mode):
            row.append(os.readlink(path).hex())
        elif not stat.S_ISDIR(info.st_mode):
            continue
        rows.append((os.path.relpath(path, root).replace(b"/", b"\0"), info, row))
rows.sort(key=lambda row: row[0])
for name, info, row in rows:
    if stat.S_ISREG(info.st_mode):
        row.append(first.setdefault(info.st_ino, name).hex())
    print(name.hex(), *row)

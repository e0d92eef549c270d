"""Calls a host with a placeholder, then looks for the value everywhere. The value comes masked: this program never holds it."""
import json
import os
import sys
import urllib.error
import urllib.request

port, masked = sys.argv[1], [byte ^ 0x5A for byte in bytes.fromhex(sys.argv[2])]
placeholder = os.environ["TOKEN"]


def call(host):
    headers = {"Authorization": f"Bearer {placeholder}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"https://{host}:{port}/v1", headers=headers), timeout=60) as answer:
            return [answer.status, answer.headers["x-echo"], answer.read().decode()]
    except urllib.error.HTTPError as error:
        return [error.code, json.loads(error.read())["detail"]]


def holds(data, wanted):
    """Whether the bytes are there: their beginning is looked for, the rest compared one by one."""
    head, rest = bytes(wanted[:6]), wanted[6:]
    at = data.find(head)
    while at >= 0:
        if all(at + 6 + i < len(data) and data[at + 6 + i] == byte for i, byte in enumerate(rest)):
            return True
        at = data.find(head, at + 1)
    return False


def memory(pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            if "r" not in mode or "[v" in line or end - start > 1 << 28:
                continue
            try:
                mem.seek(start)
                yield mem.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue


def places():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    yield f"{name} of {'this' if int(pid) == os.getpid() else pid}", file.read()
            except OSError:
                continue
        try:
            for data in memory(pid):
                yield f"memory of {'this' if int(pid) == os.getpid() else pid}", data
        except OSError:
            continue
    for top in ("/run", "/tmp", "/workspace", "/home", "/etc"):
        for folder, _, names in os.walk(top):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        yield os.path.join(folder, name), file.read(1 << 24)
                except OSError:
                    continue


print(json.dumps(["bound", call("allowed.example")]))
print(json.dumps(["not bound", call("other.example")]))
looked, found, shown = set(), [], set()
secret, sign = masked, placeholder.encode()
for place, data in places():
    looked.add(place.split(" of ")[0] if " of " in place else "files")
    if holds(data, secret):
        found.append(place)
    if sign in data:
        shown.add(place)
print(json.dumps(["looked", sorted(looked)]))
print(json.dumps(["the value", found]))
print(json.dumps(["the placeholder", "environ of this" in shown]))

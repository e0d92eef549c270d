# Makes in /workspace what can be a root: the interpreter of the host with what it needs, and an /etc of its own.
import os, shutil, sys, sysconfig

top = "/workspace"
library = sysconfig.get_path("stdlib")
program = os.path.realpath("/usr/bin/python3")


def copy(path):
    target = top + os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        shutil.copy(path, target)


for name in ("etc", "opt", "usr/bin"):
    os.makedirs(f"{top}/{name}", exist_ok=True)
for name in ("bin", "sbin", "lib", "lib32", "lib64"):
    if os.path.islink("/" + name):
        os.symlink(os.readlink("/" + name), f"{top}/{name}")
copy(program)
os.symlink(program, f"{top}/usr/bin/python3")
import json, re, zlib  # what the puppet needs, and what comes with it

for line in open("/proc/self/maps"):
    path = line.split()[-1]
    if path.startswith("/") and ".so" in path:
        copy(path)
        folder = os.path.dirname(path)
        for name in os.listdir(folder):  # a program asks for it by another name than that of its file
            link = f"{folder}/{name}"
            if os.path.islink(link) and os.path.realpath(link) == os.path.realpath(path) and not os.path.lexists(top + link):
                os.symlink(os.path.basename(path), top + link)
for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
    if os.path.exists(path):
        copy(path)
for name in ("encodings", "json", "collections", "re", "importlib"):
    if os.path.isdir(f"{library}/{name}"):
        shutil.copytree(f"{library}/{name}", f"{top}{library}/{name}", dirs_exist_ok=True)
for name in os.listdir(library):
    if name.endswith(".py"):
        copy(f"{library}/{name}")
open(f"{top}/etc/own", "w").write("of the image")
open(f"{top}/etc/passwd", "w").write("stranger:x:0:0::/:/bin/sh\n")

#!/usr/bin/python3 -IS
"""Stands in for the guest: becomes the sandbox's user and evaluates one line of Python at a time."""
import json
import os
import sys

os.setgroups([])
os.setgid(1000)
os.setuid(1000)
os.chdir("/workspace")
names = {"os": os, "sys": sys}
source = open(0, "r", closefd=False)
target = open(1, "w", closefd=False)
while True:
    try:
        code = json.loads(source.readline())
        try:
            answer = {"value": eval(code, names)}
        except SyntaxError:
            exec(code, names)
            answer = {"value": None}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    target.write(json.dumps(answer) + "\n")
    target.flush()

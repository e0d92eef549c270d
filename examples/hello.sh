#!/bin/sh
# Says hello from inside the sandbox and leaves a file behind.
set -eu
greeting="Hello from the shell, uid $(id -u) on $(uname -n)"
echo "$greeting" >hello.txt
echo "$greeting"
echo "Wrote hello.txt"

#!/bin/sh
# npm run bench [-- arguments]: prints the numbers of this machine.
set -eu
cd "$(dirname -- "$0")/.."
./caisson --setup
exec .build/bin/node bench/main.ts "$@"

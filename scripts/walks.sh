#!/bin/sh
# npm run walks: prints the source files that a run, a connection that is asked about and an MCP call pass through.
set -eu
cd "$(dirname -- "$0")/.."
./caisson --setup
exec .build/bin/node bench/walks.ts

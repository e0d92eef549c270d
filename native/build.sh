#!/bin/sh
# Compiles native/guest/*.c and native/helper/*.c into one static program each, and native/reseed/*.c and native/standby/*.c
# into libraries for the host's own C library, in .build/bin, where a source is newer than what it becomes.
# With --check it compiles nothing and fails where something is to be compiled. `build.sh sanitized` compiles the guest for
# the host's own C library with AddressSanitizer and UndefinedBehaviorSanitizer; `build.sh fuzz` compiles the fuzz target
# (native/fuzz).
set -eu
cd "$(dirname -- "$0")/.."
out=.build/bin
include=.build/include

# musl's headers leave out the kernel's; they come last in the search, so that musl's own always win.
link_kernel_headers() {
  multiarch=$(gcc -print-multiarch)
  mkdir -p "$include"
  ln -sfn /usr/include/linux "$include/linux"
  ln -sfn /usr/include/asm-generic "$include/asm-generic"
  ln -sfn /usr/include/mtd "$include/mtd"
  if [ -d "/usr/include/$multiarch/asm" ]; then
    ln -sfn "/usr/include/$multiarch/asm" "$include/asm"
  else
    ln -sfn /usr/include/asm "$include/asm"
  fi
}

has_sources() {
  for source in "native/$1"/*.c; do
    [ -e "$source" ] && return 0
  done
  return 1
}

sources_of() {
  case $1 in
  guest-sanitized) echo native/guest native/sanitized ;;
  fuzz) echo native/guest native/fuzz ;;
  *) echo "native/$1" ;;
  esac
}

is_fresh() {
  # shellcheck disable=SC2046 # folders of this repository: no spaces
  [ -x "$out/caisson-$1" ] && [ -z "$(find $(sources_of "$1") native/build.sh \( -name kernels -o -name corpus \) -prune -o -newer "$out/caisson-$1" -print -quit)" ]
}

# Findings end the program: none is only printed.
sanitize() {
  gcc -std=gnu11 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
    -Wl,-z,now "$@"
}

compile() {
  new=$out/.caisson-$1.$$
  : >"$new.started"
  trap 'rm -f "$new" "$new.started"' EXIT
  case $1 in
  reseed | standby)
    gcc -shared -fPIC -O2 -nostdlib -Wall -Wextra -Werror -Wl,-z,relro,-z,now -o "$new" "native/$1"/*.c
    ;;
  guest-sanitized)
    sanitize -O1 -Wl,--wrap=process_signal -o "$new" native/guest/*.c native/sanitized/*.c
    ;;
  fuzz)
    sanitize -O1 -fsanitize-coverage=trace-pc -Wl,--wrap=socket,--wrap=bind,--wrap=listen,--wrap=accept4,--wrap=connect \
      -o "$new" native/guest/wire.c native/guest/stream.c native/guest/input.c native/guest/spec.c native/guest/tunnel.c \
      native/guest/listen.c native/guest/datagram.c native/guest/untar.c native/fuzz/*.c
    ;;
  *)
    musl-gcc -static -O2 -std=gnu11 -Wall -Wextra -Werror -fstack-protector-strong -D_FORTIFY_SOURCE=2 \
      -Wl,-z,relro,-z,now -idirafter "$include" -o "$new" "native/$1"/*.c
    ;;
  esac
  # As old as its sources were read: a source saved during the compilation is compiled by the next call.
  touch -r "$new.started" "$new"
  mv "$new" "$out/caisson-$1"
  rm -f "$new.started"
}

# Readable by every sandbox, whatever umask the checkout was made with.
copy_kernels() {
  for kernel in native/guest/kernels/*; do
    cmp -s "$kernel" "$out/kernels/${kernel##*/}" && continue
    [ "${1-}" != --check ] || exit 1
    mkdir -p -m 755 "$out/kernels"
    install -m 644 "$kernel" "$out/kernels/.${kernel##*/}.$$"
    mv "$out/kernels/.${kernel##*/}.$$" "$out/kernels/${kernel##*/}"
  done
}

case ${1-} in
sanitized) programs=guest-sanitized ;;
fuzz) programs=fuzz ;;
*) programs="guest helper reseed standby" ;;
esac

for program in $programs; do
  [ "$program" = guest-sanitized ] || has_sources "$program" || continue
  is_fresh "$program" && continue
  [ "${1-}" != --check ] || exit 1
  mkdir -p "$out"
  link_kernel_headers
  echo "compiling caisson-$program"
  compile "$program"
done
copy_kernels "${1-}"

#!/bin/bash
# Real programs, unmodified: fetches sources, builds each program twice (plain clang, and through the drop-in
# compilers, its libraries too), lets both do the same job with 4 threads, and compares the output.
#
#   bench/real/run.sh [NAME…]        pigz zstd xz pbzip2 memcached ripgrep (default: all)
#
# REAL_DIR       where everything goes (target/real)
# REAL_DETECTOR  which detector watches (fasttrack)
# REAL_MB        size of the file that is compressed (16)
#
# Needs: `cargo xtask dist` done before; Debian's dpkg-dev, make, cmake, autoconf; python3 for memcached's client.
# A program's line says `wrong output` if the job went wrong; then, and only then, the exit code is 1.
# Races are counted, not judged: docs/real-programs.md does that.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
tools=${CARGO_TARGET_DIR:-$repo/target}/dist/bin
work=${REAL_DIR:-$repo/target/real}
detector=${REAL_DETECTOR:-fasttrack}
megabytes=${REAL_MB:-16}
jobs=2
[ -x "$tools/footrace" ] || { echo "run.sh: no $tools/footrace; run \`cargo xtask dist\` first" >&2; exit 2; }
export PATH="$tools:$PATH"
mkdir -p "$work"/{src,plain,checked,out,log}
failed=0

# ---- sources ----------------------------------------------------------------------------------------------

# An apt configuration of our own: sources of this and the neighbouring suites from the mirror that the system uses.
# (A mirror may lack a package's files in one suite.)
suites="bookworm trixie"
prepare_apt() {
  [ ! -e "$work/apt/ready" ] || return 0
  mkdir -p "$work"/apt/{lists/partial,cache/archives/partial}
  local site suite
  site=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' | sort -u | head -1)
  for suite in $suites; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
  done > "$work/apt/sources.list"
  cat > "$work/apt/apt.conf" <<CONF
Dir::Etc::SourceList "$work/apt/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
APT::Sandbox::User "root";
CONF
  APT_CONFIG=$work/apt/apt.conf apt-get update > "$work/log/apt" 2>&1
  touch "$work/apt/ready"
}

# A Debian source package, unpacked with Debian's patches, into src/NAME.
deb() {
  [ ! -e "$work/src/$1" ] || return 0
  prepare_apt
  local at=$work/src/$1.new suite
  for suite in $suites; do
    rm -rf "$at" && mkdir -p "$at"
    if (cd "$at" && APT_CONFIG=$work/apt/apt.conf apt-get source --only-source -t "$suite" "$1") > "$work/log/$1.fetch" 2>&1; then
      mv "$at"/*/ "$work/src/$1"
      rm -rf "$at"
      return
    fi
  done
  echo "run.sh: cannot fetch the source package $1; see $work/log/$1.fetch" >&2
  return 1
}

# A crate's sources into src/NAME; cargo's cache has them once cargo was asked about them.
crate() {
  [ ! -e "$work/src/$1" ] || return 0
  (cd "$work" && cargo info "$1@$2") > "$work/log/$1.fetch" 2>&1
  cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2" "$work/src/$1"
}

# ---- builds -----------------------------------------------------------------------------------------------

# `both NAME FUNCTION PACKAGE…`: copies the packages into plain/NAME and checked/NAME and calls the function in each,
# with the variables a user would set.
both() {
  local name=$1 build=$2 kind at package
  shift 2
  for kind in plain checked; do
    at=$work/$kind/$name
    [ ! -e "$at/.built" ] || continue
    rm -rf "$at" && mkdir -p "$at"
    for package in "$@"; do cp -r "$work/src/$package" "$at/$package"; done
    if ! (
      cd "$at"
      if [ $kind = plain ]; then
        export CC=clang-22 CXX=clang++-22 AR=llvm-ar-22 RANLIB=llvm-ranlib-22 CARGO_BUILD="cargo build"
      else
        export CC=footrace-cc CXX=footrace-c++ AR=llvm-ar RANLIB=llvm-ranlib CARGO_BUILD="cargo footrace build"
      fi
      set -e
      $build
    ) > "$work/log/$name.$kind" 2>&1; then
      echo "run.sh: $name ($kind) does not build; see $work/log/$name.$kind" >&2
      return 1
    fi
    touch "$at/.built"
  done
}

build_pigz() {
  (cd zlib && ./configure --static && make -j$jobs libz.a)
  make -C pigz -j$jobs CC="$CC" CFLAGS="-O3 -I../zlib" LDFLAGS="-L../zlib" pigz
}
build_zstd() { make -C libzstd/programs -j$jobs HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd; }
build_xz() {
  (cd xz-utils && ./configure --disable-shared --disable-nls --disable-doc --disable-scripts && make -j$jobs)
}
build_pbzip2() {
  make -C bzip2 -j$jobs CC="$CC" AR="$AR" RANLIB="$RANLIB" libbz2.a
  # g++ warns of "..."PRIuMAX without a space; for clang it is an error unless told otherwise.
  make -C pbzip2 CXX="$CXX" CXXFLAGS="-O2 -I../bzip2 -pthread -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 \
    -Wno-reserved-user-defined-literal" \
    LDFLAGS="-L../bzip2" pbzip2
}
build_memcached() {
  cmake -S libevent -B event -DCMAKE_INSTALL_PREFIX="$PWD/installed" -DEVENT__LIBRARY_TYPE=STATIC \
    -DEVENT__DISABLE_OPENSSL=ON -DEVENT__DISABLE_TESTS=ON -DEVENT__DISABLE_SAMPLES=ON \
    -DEVENT__DISABLE_BENCHMARK=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5
  cmake --build event -j$jobs --target install
  (cd memcached && ./configure --with-libevent="$PWD/../installed" --disable-docs --disable-werror && make -j$jobs memcached)
}
build_ripgrep() { (cd ripgrep && $CARGO_BUILD --release --locked -j$jobs); }

# Where cargo put a program.
cargo_program() { find "$1/target" -path '*release/'"$2" -type f -perm -u+x | head -1; }

# ---- jobs -------------------------------------------------------------------------------------------------

# Text that is different everywhere and still compresses: sources, over and over.
input() {
  local file=$work/input
  if [ "$(stat -c %s "$file" 2> /dev/null || echo 0)" != $((megabytes << 20)) ]; then
    deb zlib
    deb libzstd
    local one=$work/input.one
    find "$work/src/zlib" "$work/src/libzstd" -name '*.[ch]' -print0 | sort -z | xargs -0 cat > "$one"
    : > "$file"
    while [ "$(stat -c %s "$file")" -lt $((megabytes << 20)) ]; do cat "$one" >> "$file"; done
    truncate -s $((megabytes << 20)) "$file"
  fi
}

# Seconds of a command; its exit code is kept in `code`, what it writes to stdout goes to a file.
code=0
timed() {
  local out=$1 err=$2 from to
  shift 2
  from=$(date +%s.%N)
  code=0
  "$@" > "$out" 2> "$err" || code=$?
  to=$(date +%s.%N)
  seconds=$(printf %.2f "$(echo "$to - $from" | bc)")
}

line() { printf '%-10s %-14s %8s %8s %7s  %s\n' "$@"; }

# `job NAME ARGS…` with `plain` and `checked` set to the programs: runs both, leaves out/NAME.plain and out/NAME.checked.
job() {
  local name=$1
  shift
  timed "$work/out/$name.plain" "$work/log/$name.plain.err" "$plain" "$@"
  before=$seconds
  rm -f "$work/out/$name.json"
  timed "$work/out/$name.checked" "$work/log/$name.checked.err" \
    footrace run --detector "$detector" --json "$work/out/$name.json" "$checked" "$@"
  after=$seconds
}

verdict() {
  local name=$1 right=$2 races
  races=$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["races"]))' "$work/out/$name.json" 2> /dev/null || echo '?')
  [ "$right" = right ] || failed=1
  line "$name" "$right" "$before" "$after" "$(echo "scale=1; $after / $before" | bc)" "$races"
}

# A compressor's round trip: compressed by the checked program with 4 threads, decompressed by the checked
# program, and also by the plain one.
round_trip() {
  local name=$1 right=right
  shift
  input
  job "$name" "$@" "$work/input"
  "$plain" -dc < "$work/out/$name.checked" | cmp -s - "$work/input" || right="wrong output"
  verdict "$name" "$right"
  local squeezed=$work/out/$name.checked
  cp "$squeezed" "$work/out/$name.squeezed"
  job "$name-d" -dc "$unthread" "$work/out/$name.squeezed"
  cmp -s "$work/out/$name-d.checked" "$work/input" && right=right || right="wrong output"
  verdict "$name-d" "$right"
}

run_pigz() {
  deb zlib && deb pigz && both pigz build_pigz zlib pigz || return 1
  plain=$work/plain/pigz/pigz/pigz checked=$work/checked/pigz/pigz/pigz unthread=-p4
  round_trip pigz -p 4 -c
}
run_zstd() {
  deb libzstd && both zstd build_zstd libzstd || return 1
  plain=$work/plain/zstd/libzstd/programs/zstd checked=$work/checked/zstd/libzstd/programs/zstd unthread=-q
  round_trip zstd -q -T4 -B1MB -c
}
run_xz() {
  deb xz-utils && both xz build_xz xz-utils || return 1
  plain=$work/plain/xz/xz-utils/src/xz/xz checked=$work/checked/xz/xz-utils/src/xz/xz unthread=-T4
  round_trip xz -3 -T4 --block-size=1MiB -c
}
run_pbzip2() {
  deb bzip2 && deb pbzip2 && both pbzip2 build_pbzip2 bzip2 pbzip2 || return 1
  plain=$work/plain/pbzip2/pbzip2/pbzip2 checked=$work/checked/pbzip2/pbzip2/pbzip2 unthread=-p4
  round_trip pbzip2 -p4 -c
}
# 4 worker threads; the client of bench/real/client.py on loopback, same requests for both servers.
run_memcached() {
  deb libevent && deb memcached && both memcached build_memcached libevent memcached || return 1
  local server=memcached/memcached right=right
  timed "$work/out/memcached.plain" "$work/log/memcached.plain.err" \
    python3 "$repo/bench/real/client.py" "$work/plain/memcached/$server" -u "$(id -un)" -t 4 -m 64
  before=$seconds
  [ "$code" = 0 ] || right="wrong output"
  timed "$work/out/memcached.checked" "$work/log/memcached.checked.err" \
    python3 "$repo/bench/real/client.py" footrace run --detector "$detector" --json "$work/out/memcached.json" \
    "$work/checked/memcached/$server" -u "$(id -un)" -t 4 -m 64
  after=$seconds
  [ "$code" = 0 ] || right="wrong output"
  verdict memcached "$right"
}
# Matching lines of a source tree; their order depends on the schedule.
run_ripgrep() {
  crate ripgrep 15.2.0 && deb libzstd && both ripgrep build_ripgrep ripgrep || return 1
  plain=$(cargo_program "$work/plain/ripgrep/ripgrep" rg) checked=$(cargo_program "$work/checked/ripgrep/ripgrep" rg)
  search ripgrep -j4 --no-config -n 'size_t [a-z]+' "$work/src/libzstd"
}
search() {
  local name=$1 right=right
  job "$@"
  [ -s "$work/out/$name.plain" ] || right="wrong output"
  cmp -s <(sort "$work/out/$name.plain") <(sort "$work/out/$name.checked") || right="wrong output"
  verdict "$name" "$right"
}

line program output plain checked ratio races
for name in "${@:-pigz zstd xz pbzip2 memcached ripgrep}"; do
  for one in $name; do
    case $one in
      pigz | zstd | xz | pbzip2 | memcached | ripgrep) run_"$one" || { line "$one" "not built" - - - -; failed=1; } ;;
      *) echo "run.sh: unknown program $one" >&2; exit 2 ;;
    esac
  done
done
exit $failed

#!/bin/bash
# Real programs, unmodified: their sources and builds. The benchmark harness calls this; bench/README.md says what for.
#
#   build.sh fetch NAME            sources, and the files that its job reads
#   build.sh build NAME FOLDER PROGRAM   builds in FOLDER, which is emptied, with CC, CXX, AR, RANLIB and CARGO_BUILD
#   build.sh link NAME FOLDER PROGRAM    the same, with all that is compiled there already: what is chosen at the link may differ
#
# REAL_DIR: where sources and files go. Needs Debian's dpkg-dev, make, cmake, autoconf, tcl; python3.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=${REAL_DIR:?}
jobs=${REAL_JOBS:-1}
mkdir -p "$work"/{src,log}

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

# Debian source packages, unpacked with Debian's patches, into src/NAME.
deb() {
  local package at suite
  for package in "$@"; do
    [ ! -e "$work/src/$package" ] || continue
    prepare_apt
    at=$work/src/$package.new
    for suite in $suites; do
      rm -rf "$at" && mkdir -p "$at"
      if (cd "$at" && APT_CONFIG=$work/apt/apt.conf apt-get source --only-source -t "$suite" "$package") \
        > "$work/log/$package.fetch" 2>&1; then
        mv "$at"/*/ "$work/src/$package"
        rm -rf "$at"
        break
      fi
    done
    [ -e "$work/src/$package" ] ||
      { echo "build.sh: error: cannot fetch the source package $package; see $work/log/$package.fetch" >&2; return 1; }
  done
}

# A crate's sources into src/NAME; cargo's cache has them once cargo was asked about them.
crate() {
  [ ! -e "$work/src/$1" ] || return 0
  (cd "$work" && cargo info "$1@$2") > "$work/log/$1.fetch" 2>&1
  cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2" "$work/src/$1"
}

# Text that is different everywhere and still compresses: sources, over and over.
input() {
  local file=$work/input-$1 size=$(($1 << 20))
  [ "$(stat -c %s "$file" 2> /dev/null || echo 0)" != $size ] || return 0
  deb zlib libzstd
  find "$work/src/zlib" "$work/src/libzstd" -name '*.[ch]' -print0 | sort -z | xargs -0 cat > "$work/input.one"
  : > "$file"
  while [ "$(stat -c %s "$file")" -lt $size ]; do cat "$work/input.one" >> "$file"; done
  truncate -s $size "$file"
}

# Thirty pictures of 352 x 288 with something that moves.
video() {
  [ ! -e "$work/video.yuv" ] || return 0
  python3 - "$work/video.yuv.new" << 'PYTHON'
import sys

WIDTH, HEIGHT, PICTURES = 352, 288, 30
with open(sys.argv[1], "wb") as video:
    for t in range(PICTURES):
        rows = [bytes((x * 3 + y * 2 + t * 5 ^ (x * y >> 6)) & 255 for x in range(WIDTH)) for y in range(HEIGHT)]
        video.write(b"".join(rows))
        for shift in (3, 7):
            video.write(bytes((x + y * shift + t) & 255 for y in range(HEIGHT // 2) for x in range(WIDTH // 2)))
PYTHON
  mv "$work/video.yuv.new" "$work/video.yuv"
}

# A picture of 320 x 240, hardly compressed.
picture() {
  [ ! -e "$work/picture.png" ] || return 0
  python3 - "$work/picture.png.new" << 'PYTHON'
import struct
import sys
import zlib

WIDTH, HEIGHT = 320, 240


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(
    b"\0" + b"".join(bytes(((x * 2 + y) & 255, (x ^ y) & 255, x * y >> 8 & 255)) for x in range(WIDTH))
    for y in range(HEIGHT)
)
with open(sys.argv[1], "wb") as picture:
    picture.write(b"\x89PNG\r\n\x1a\n")
    picture.write(chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)))
    picture.write(chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
PYTHON
  mv "$work/picture.png.new" "$work/picture.png"
}

fetch() {
  case $1 in
    pigz) deb zlib pigz && input 8 ;;
    pbzip2) deb bzip2 pbzip2 && input 4 ;;
    zstd) deb libzstd && input 4 ;;
    xz) deb xz-utils && input 2 ;;
    memcached) deb libevent memcached ;;
    x264) deb x264 && video ;;
    sqlite) deb sqlite3 ;;
    leveldb) deb leveldb ;;
    ripgrep) crate ripgrep 15.2.0 && deb libzstd ;;
    fd) crate fd-find 10.5.0 && deb libzstd ;;
    oxipng) crate oxipng 10.2.1 && picture ;;
    rayon | tokio) (cd "$here/rust" && cargo fetch --locked --quiet) ;;
    *) echo "build.sh: error: unknown program $1" >&2; return 2 ;;
  esac
}

# ---- builds: in a folder of their own, with the variables a user would set -----------------------------------

take() {
  local package
  for package in "$@"; do
    if [ ! -e "$package" ]; then cp -r "$work/src/$package" .; fi
  done
}
# once STEP COMMAND…: what a further link need not do again.
once() {
  local done=$PWD/$1.done
  shift
  if [ ! -e "$done" ]; then
    "$@"
    touch "$done"
  fi
}
# at FOLDER COMMAND…
at() {
  local folder=$1
  shift
  (cd "$folder" && "$@")
}

build_pigz() {
  take zlib pigz
  once configure at zlib ./configure --static
  make -C zlib -j$jobs libz.a
  rm -f pigz/pigz
  make -C pigz -j$jobs CC="$CC" CFLAGS="-O3 -I../zlib" LDFLAGS="-L../zlib" pigz
  cp pigz/pigz program
}
build_zstd() {
  take libzstd
  find libzstd/programs -name zstd -delete
  make -C libzstd/programs -j$jobs HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd
  cp libzstd/programs/zstd program
}
build_xz() {
  take xz-utils
  once configure at xz-utils ./configure --disable-shared --disable-nls --disable-doc --disable-scripts
  rm -f xz-utils/src/xz/xz
  make -C xz-utils -j$jobs
  cp xz-utils/src/xz/xz program
}
build_pbzip2() {
  take bzip2 pbzip2
  make -C bzip2 -j$jobs CC="$CC" AR="$AR" RANLIB="$RANLIB" libbz2.a
  rm -f pbzip2/pbzip2
  # g++ warns of "..."PRIuMAX without a space; for clang it is an error unless told otherwise.
  make -C pbzip2 CXX="$CXX" CXXFLAGS="-O2 -I../bzip2 -pthread -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 \
    -Wno-reserved-user-defined-literal" \
    LDFLAGS="-L../bzip2" pbzip2
  cp pbzip2/pbzip2 program
}
build_memcached() {
  take libevent memcached
  once libevent cmake -S libevent -B event -DCMAKE_INSTALL_PREFIX="$PWD/installed" -DEVENT__LIBRARY_TYPE=STATIC \
    -DEVENT__DISABLE_OPENSSL=ON -DEVENT__DISABLE_TESTS=ON -DEVENT__DISABLE_SAMPLES=ON \
    -DEVENT__DISABLE_BENCHMARK=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5
  once install cmake --build event -j$jobs --target install
  once configure at memcached ./configure --with-libevent="$PWD/installed" --disable-docs --disable-werror
  rm -f memcached/memcached
  make -C memcached -j$jobs memcached
  cp memcached/memcached program
}
# Without hand-written assembly, in which nobody sees accesses. To learn the byte order, configure looks for strings in an object, which
# bitcode does not have: it is told what strings(1) would print on this machine.
build_x264() {
  take x264
  once configure at x264 env STRINGS="echo EGIB naidnePF" ./configure --disable-asm --disable-opencl --disable-avs --disable-swscale \
    --disable-lavf --disable-ffms --disable-gpac --disable-lsmash --bit-depth=8
  rm -f x264/x264
  make -C x264 -j$jobs x264
  cp x264/x264 program
}
build_sqlite() {
  take sqlite3
  once configure at sqlite3 env CC=cc ./configure --disable-tcl --disable-readline
  once amalgamation env CC=cc make -C sqlite3 sqlite3.c
  once compile $CC -O2 -pthread -DSQLITE_THREADSAFE=1 -c sqlite3/sqlite3.c -o sqlite3.o
  $CC -O2 -pthread -Isqlite3 sqlite3.o "$here/sqlite.c" -o program -lm -ldl
}
build_leveldb() {
  take leveldb
  once configure cmake -S leveldb -B lib -DCMAKE_BUILD_TYPE=Release -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF \
    -DHAVE_SNAPPY=OFF -DHAVE_CRC32C=OFF -DHAVE_TCMALLOC=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_AR="$(command -v "$AR")" \
    -DCMAKE_RANLIB="$(command -v "$RANLIB")"
  cmake --build lib -j$jobs --target leveldb
  $CXX -std=c++17 -O2 -pthread -Ileveldb/include "$here/leveldb.cc" lib/libleveldb.a -o program
}
build_crate() {
  take "$1"
  (cd "$1" && $CARGO_BUILD --release --locked -j$jobs --target-dir ../target)
  cp "$(find target -path "*release/$2" -type f -perm -u+x | head -1)" program
}
build_ripgrep() { build_crate ripgrep rg; }
build_fd() { build_crate fd-find fd; }
build_oxipng() { build_crate oxipng oxipng; }
build_own() {
  $CARGO_BUILD --release --locked -j$jobs --package "$1-job" --manifest-path "$here/rust/Cargo.toml" --target-dir target
  cp "$(find target -path "*release/$1-job" -type f -perm -u+x | head -1)" program
}
build_rayon() { build_own rayon; }
build_tokio() { build_own tokio; }

case ${1-} in
  fetch) fetch "$2" ;;
  build | link)
    # One command a line: a list with && would go on, in the caller's folder, if a part of it failed.
    if [ "$1" = build ]; then rm -rf "$3"; fi
    mkdir -p "$3"
    cd "$3"
    "build_$2"
    cp program "$4"
    ;;
  *) echo "usage: build.sh fetch NAME | build NAME FOLDER PROGRAM | link NAME FOLDER PROGRAM" >&2; exit 2 ;;
esac

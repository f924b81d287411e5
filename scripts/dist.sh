#!/usr/bin/env bash
# Leaves dist/vtprof/: what a user takes.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

dist="$ROOT/dist/vtprof"
rm -rf "$dist"
mkdir -p "$dist"
cp "$TARGET/release/libvtprof.so" "$TARGET/release/vtprof" "$dist/"
# Nobody is told where they were built.
while IFS='=' read -r path _; do
  # A folder right below / may be a word of its own, as /src is.
  [[ "$path" == /*/* ]] || continue
  for file in libvtprof.so vtprof; do
    ! grep -aqF -- "$path" "$dist/$file" || die "$path is in $file: it was not built by make native"
  done
done < <(build_paths)
cp "$ROOT/java-shim/target/vtprof-otel.jar" "$ROOT/LICENSE" "$dist/"
mkdir "$dist/completions"
for shell in bash elvish fish powershell zsh; do
  "$dist/vtprof" completions "$shell" >"$dist/completions/vtprof.$shell"
done
"$dist/vtprof" man >"$dist/vtprof.1"
# The options and what follows stand in one place, the project's README.
{
  cat "$ROOT/docs/dist-readme.md"
  sed -n '/^## Options/,/^Inside: /p' "$ROOT/README.md" | sed '/^Inside: /d; /docs.measurements/d'
} >"$dist/README.md"
say "built ${dist#"$PWD"/}; next: java -agentpath:${dist#"$PWD"/}/libvtprof.so -javaagent:opentelemetry-javaagent.jar -jar service.jar"

#!/usr/bin/env bash
# The agent and the command, or what arguments name, as they are shipped: optimised, and without paths of the machine that
# builds them.
# Cargo keeps what was built with other flags beside it, so neither is built again for the sake of the other.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
flags=()
# Of several that fit the last counts.
while IFS= read -r pair; do
  flags+=("--remap-path-prefix=$pair")
  # And what is written in C, as part of ring is; quoted for the crate that calls the compiler.
  CFLAGS="${CFLAGS:-} $(printf '%q' "-ffile-prefix-map=$pair")"
done < <(build_paths)
export CFLAGS CC_SHELL_ESCAPED_FLAGS=1
# Cargo does not look at its configuration where one of these is there. The first is what it takes of two, and a flag in it may
# have blanks, as a path has.
if [ -n "${CARGO_ENCODED_RUSTFLAGS+set}${RUSTFLAGS:-}" ]; then
  if [ -n "${CARGO_ENCODED_RUSTFLAGS+set}" ]; then
    mapfile -t -d $'\x1f' given < <(printf '%s' "$CARGO_ENCODED_RUSTFLAGS")
  else
    read -r -d '' -a given <<<"$RUSTFLAGS" || true
  fi
  given+=("${flags[@]}")
  CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f' && printf '%s' "${given[*]}")"
  export CARGO_ENCODED_RUSTFLAGS
  exec cargo build --release --locked "$@"
fi
# Joins what configurations have for a target; what one has for every build (build.rustflags) is not looked at then.
exec cargo build --release --locked "$@" --config "target.'cfg(all())'.rustflags=[$(printf "'%s'," "${flags[@]}")]"

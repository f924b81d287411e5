#!/usr/bin/env bash
# The agent that breaks on purpose, for tests (agent-native/src/inject.rs): in a folder of its own, so that what is released
# stays what it is. Prints where the library is.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
# Nobody waits for this one's last percent.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
target="$TARGET/inject"
cargo build --release --locked --package vtprof-agent --features inject --target-dir "$target"
echo "$target/release/libvtprof.so"

#!/usr/bin/env bash
# `vtprof merge` beside `go tool pprof -proto` on the same files, in turns: seconds by the clock and of CPUs, and the most
# memory each had.
#   WINDOWS=1000 ROUNDS=5 scripts/bench_merge.sh
# Of 1,000 windows with all labels Go needs some 30 GiB; GO_MAX_GIB is where it is ended.
# The windows are those of cli/examples/windows.rs: 6,000 samples over 2,000 stacks of some 40 frames, 500 requests that are
# new in each. Merged are all labels, and then all but the ids, of which the sum is small.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

windows="${WINDOWS:-1000}" rounds="${ROUNDS:-5}" go_gib="${GO_MAX_GIB:-48}"
go="$(command -v go || echo /usr/local/go/bin/go)"
[ -x "$go" ] || die "no Go here to compare with"
[ -x /usr/bin/time ] || die "no /usr/bin/time here"

cargo build --release --locked -p vtprof-cli --bins --examples
folder="$TARGET/bench-merge/windows-$windows"
if [ ! -e "$folder/.whole" ]; then
  rm -rf "$folder"
  "$TARGET/release/examples/windows" "$folder" --windows "$windows"
  touch "$folder/.whole"
fi
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

# Seconds, CPU seconds and KiB of a command, added to a list.
measure() {
  local list="$1"
  shift
  /usr/bin/time -f '%e %U %S %M' -a -o "$list" "$@" >/dev/null 2>"$out/said" || { cat "$out/said" >&2; die "$1 failed"; }
}

# Minimum, median, least of the CPU and most memory of a list.
figures() {
  sort -n "$1" | awk '{ s[NR] = $1; c = $2 + $3; if (NR == 1 || c < cpu) cpu = c; if ($4 > m) m = $4 }
    END { printf "%.2f %.2f %.2f %.0f", s[1], (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2, cpu, m / 1024 }'
}

compare() {
  local name="$1" ours="$out/ours" theirs="$out/theirs" a b
  rm -f "$ours" "$theirs"
  for ((round = 0; round < rounds; round++)); do
    measure "$ours" "$TARGET/release/vtprof" merge "$folder" -o "$out/ours.pb.gz" "${drop[@]}"
    measure "$theirs" prlimit "--as=$((go_gib << 30))" "$go" tool pprof -proto "-output=$out/theirs.pb.gz" "${hide[@]}" "$folder"/*.pb.gz
  done
  read -r -a a < <(figures "$ours"; echo)
  read -r -a b < <(figures "$theirs"; echo)
  echo "== $name, $windows windows, $rounds rounds in turns"
  printf '%-20s %10s %10s %10s %12s %12s\n' "" "min s" "median s" "min CPU s" "most MiB" "file MiB"
  printf '%-20s %10s %10s %10s %12s %12s\n' "vtprof merge" "${a[@]}" "$(du -m "$out/ours.pb.gz" | cut -f1)"
  printf '%-20s %10s %10s %10s %12s %12s\n' "go tool pprof" "${b[@]}" "$(du -m "$out/theirs.pb.gz" | cut -f1)"
  awk -v a="${a[1]}" -v b="${b[1]}" -v c="${a[3]}" -v d="${b[3]}" \
    'BEGIN { printf "by the median %.1f times as fast, with %.1f %% of the memory\n", b / a, 100 * c / d }'
}

ids="trace_id,span_id,local_root_span_id"
drop=() hide=()
compare "all labels"
drop=(--drop-labels "$ids") hide=("-taghide=^(${ids//,/|})\$")
compare "without ids"

# make            the agent, the shim and the command line tool, in dist/vtprof/
# make demo       a Helidon service on virtual threads under load, profiled
# make test       everything that decides whether a change may land
# make matrix     the tests on JDK 17, 21, 25 and, from Debian sid, 26 and 27, one by one; JDKS=26,27 TESTS="exits memory" for less
# make truth      the published tag figures: half an hour
# make stacks     a million stacks of virtual threads judged: an hour
# make soak       chaos under the highest rate: MINUTES=1 JDK=25 GC=G1 SEED=… PACE=stress=4000hz KINDS=all|cpu MALLOC=debug|plain
# make bench-merge  `vtprof merge` and `diff` beside `go tool pprof`: WINDOWS=1000 ROUNDS=5 ONLY=merge|diff
# make bench-push  what an application notices of servers that take no profiles: ROUNDS=3 SECONDS=30
# make fuzz       the parsers under libFuzzer: MINUTES=60
# make receivers-test  profiles sent to the OpenTelemetry Collector, too: builds it first, some minutes
# make browser-test  the pages of `vtprof flame` and `vtprof view` in Chromium
# make bench      cost of a context attach and close, and of a signal

SHELL := bash
.DEFAULT_GOAL := dist
.PHONY: dist demo test lint unit loom sanitize shim java integration built injecting shim-test matrix truth stacks soak receivers receivers-test browser-test bench bench-merge bench-push fuzz native prepare prepare-demo prepare-test prepare-matrix clean

JDK17 = $(shell . scripts/lib.sh; find_jdk 17 999 javac)
JDK21 = $(shell . scripts/lib.sh; find_jdk 21 999 javac)
# Two at once would write to the same repository.
MAVEN = flock Makefile mvn -q -B -Dstyle.color=never
# Maven's own libraries use what JDK 24 and later warn of.
JDK21_QUIET = $(shell . scripts/lib.sh; [ "$$(jdk_feature "$(JDK21)")" -lt 24 ] || echo --sun-misc-unsafe-memory-access=allow)

# One after the other also where others run side by side.
prepare-demo: prepare
prepare-test: prepare-demo
prepare-matrix: prepare-test

prepare prepare-demo prepare-test prepare-matrix: prepare%:
	@scripts/prepare.sh $(or $(patsubst -%,%,$*),build)

native: prepare
	@scripts/native.sh

shim: prepare
	JAVA_HOME="$(JDK17)" $(MAVEN) -f java-shim/pom.xml package -DskipTests

dist: native shim
	@scripts/dist.sh

java: prepare-demo
	JAVA_HOME="$(JDK21)" MAVEN_OPTS="$(JDK21_QUIET)" $(MAVEN) -f integration/java/pom.xml package

demo: prepare-demo dist java
	@scripts/demo.sh

lint: prepare
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p vtprof-agent --features inject --locked -- -D warnings
	@if command -v shellcheck >/dev/null; then shellcheck -x scripts/*.sh docker/*.sh .ci/run; else echo "SKIPPED shellcheck: not here"; fi

unit: prepare
	cargo test --workspace --exclude vtprof-integration --locked

# What unit and integration run, but for the agent.
built: prepare
	cargo test --workspace --exclude vtprof-integration --locked --no-run
	cargo test -p vtprof-integration --locked --no-run

injecting: prepare
	@scripts/injecting.sh >/dev/null

loom: prepare
	RUSTFLAGS="--cfg loom" cargo test -p vtprof-signal --release --locked --target-dir target/loom loom_

# AddressSanitizer over the signal crate's tests. Leaks are not looked for: what a handler may see is never freed.
# ThreadSanitizer needs a standard library of its own (rust-src and -Zbuild-std); without, it reports the library.
sanitize: prepare
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" ASAN_OPTIONS=detect_leaks=0 \
	  cargo test -p vtprof-signal --locked --target "$$(rustc -vV | sed -n 's/^host: //p')" --target-dir target/asan --lib

shim-test: prepare
	JAVA_HOME="$(JDK17)" $(MAVEN) -f java-shim/pom.xml package

# On the servers' own types, in seconds. The Collector itself is receivers-test's.
receivers: prepare
	@scripts/receivers.sh pyroscope otlp

receivers-test: receivers
	@scripts/receivers.sh collector
	cargo test -p vtprof-integration --locked --test receivers

integration: prepare-test native shim java receivers
	cargo test -p vtprof-integration --locked --no-fail-fast

# First what builds, or has no clock, two at a time; then, one by one, what takes time.
test: prepare-test
	@$(MAKE) --no-print-directory -j2 --output-sync=target \
	  lint native built loom sanitize shim-test java receivers injecting
	@$(MAKE) --no-print-directory unit dist integration
	docker/test.sh

JDKS ?= 17,21,25,26,27
matrix: prepare-matrix native shim java
	@scripts/matrix.sh $(JDKS) $(TESTS)

truth: prepare-test native shim java
	VTPROF_TRUTH_SAMPLES=100000 cargo test -p vtprof-integration --locked --test headline -- --nocapture

soak: export VTPROF_SOAK_MINUTES = $(MINUTES)
soak: export VTPROF_SOAK_JDK = $(JDK)
soak: export VTPROF_SOAK_GC = $(GC)
soak: export VTPROF_SOAK_SEED = $(SEED)
soak: export VTPROF_SOAK_PACE = $(PACE)
soak: export VTPROF_SOAK_KINDS = $(KINDS)
soak: export VTPROF_SOAK_MALLOC = $(MALLOC)
soak: prepare-test native shim java
	cargo test -p vtprof-integration --locked --test soak -- --nocapture

stacks: prepare-test native java
	VTPROF_STACK_SAMPLES=$(or $(VTPROF_STACK_SAMPLES),1000000) cargo test -p vtprof-integration --locked --test stacks -- --nocapture

browser-test:
	@scripts/browser-test.sh

bench: prepare-test native shim java
	scripts/bench.sh
	cargo run -p vtprof-integration --locked --example handler_time

bench-push: prepare-test native shim java
	cargo run -p vtprof-integration --locked --example push_cost

bench-merge: prepare
	scripts/bench_merge.sh

fuzz: export MINUTES := $(or $(MINUTES),60)
fuzz: prepare
	scripts/fuzz.sh

clean:
	rm -rf target dist java-shim/target java-shim/bench/target integration/java/*/target

package io.vtprof.otel.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs {@link AttachBenchmark} with both storages in turn, a fork each, and prints both and what the shim adds.
 *
 * <p>In turn, since a machine's speed drifts over minutes by more than what is measured; the least time of each side is
 * compared, as noise only ever adds. Takes JMH's options; the forks' JVM arguments are given with {@code -jvmArgsAppend}.
 */
public final class Interleaved {
    private static final String ROUNDS = "vtprof.bench.rounds";
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private record Cost(double nanos, double bytes) {
        Cost least(Cost other) {
            return new Cost(Math.min(nanos, other.nanos), Math.min(bytes, other.bytes));
        }
    }

    public static void main(String[] args) throws CommandLineOptionException, RunnerException {
        CommandLineOptions options = new CommandLineOptions(args);
        int rounds = Integer.getInteger(ROUNDS, 3);
        Map<String, Map<String, Cost>> costs = new TreeMap<>();
        for (int round = 1; round <= rounds; round++) {
            for (String storage : List.of(AttachBenchmark.PLAIN, AttachBenchmark.WRAPPED)) {
                for (RunResult result : run(options, storage)) {
                    String outside = result.getParams().getParam("outside");
                    Cost cost = new Cost(result.getPrimaryResult().getScore(), allocated(result));
                    costs.computeIfAbsent(outside, none -> new TreeMap<>()).merge(storage, cost, Cost::least);
                    System.out.printf(
                            "round %d/%d  outside=%-8s %-8s %7.2f ns/op %7.2f B/op%n",
                            round, rounds, outside, storage, cost.nanos, cost.bytes);
                }
            }
        }
        List<String> lines = new ArrayList<>();
        costs.forEach((outside, sides) -> {
            Cost plain = sides.get(AttachBenchmark.PLAIN);
            Cost wrapped = sides.get(AttachBenchmark.WRAPPED);
            lines.add(String.format(
                    "outside=%-8s plain %7.2f ns %7.2f B   wrapped %7.2f ns %7.2f B   added %7.2f ns %7.2f B",
                    outside, plain.nanos, plain.bytes, wrapped.nanos, wrapped.bytes,
                    wrapped.nanos - plain.nanos, wrapped.bytes - plain.bytes));
        });
        lines.forEach(System.out::println);
    }

    private static Collection<RunResult> run(CommandLineOptions options, String storage) throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .parent(options)
                        .include(AttachBenchmark.class.getName())
                        .param("storage", storage)
                        .addProfiler(GCProfiler.class)
                        .verbosity(VerboseMode.SILENT)
                        .shouldFailOnError(true)
                        .build())
                .run();
        if (results.isEmpty()) {
            throw new RunnerException("no result for storage " + storage);
        }
        return results;
    }

    @SuppressWarnings("rawtypes") // JMH's type.
    private static double allocated(RunResult result) {
        for (Map.Entry<String, Result> entry : result.getSecondaryResults().entrySet()) {
            if (entry.getKey().endsWith(ALLOCATED)) {
                return entry.getValue().getScore();
            }
        }
        throw new IllegalStateException("JMH's gc profiler reported no " + ALLOCATED);
    }

    private Interleaved() {}
}

package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.opentelemetry.sdk.resources.Resource;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** What the agent says cannot be read: the SDK does not learn of it, and the log does once. */
class FiguresFailureTest {
    @Test
    void an_unreadable_answer_is_no_metric_and_one_warning() {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        FakeAgent.figures = "1\ncounter\tname\n";
        for (int turn = 0; turn < 2; turn++) {
            assertEquals(List.of(), List.copyOf(VtProfMetrics.producer().produce(Resource.empty())));
        }
        assertEquals(1, log.at(Level.WARNING).size());
    }
}

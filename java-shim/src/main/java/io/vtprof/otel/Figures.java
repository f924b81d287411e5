package io.vtprof.otel;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.Data;
import io.opentelemetry.sdk.metrics.data.DoublePointData;
import io.opentelemetry.sdk.metrics.data.GaugeData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.data.MetricDataType;
import io.opentelemetry.sdk.metrics.data.SumData;
import io.opentelemetry.sdk.metrics.export.MetricProducer;
import io.opentelemetry.sdk.resources.Resource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What the agent says of itself, as metrics of whatever SDK asks: read from the agent, in one call, when a reader collects,
 * and never between. Counters that have counted nothing are left out.
 *
 * <p>A producer and no instruments: an SDK that configures itself hands out its builder but not, by any API that is stable,
 * what is built of it. Nothing here is thrown into the SDK. Without an agent there is nothing. Thread safe.
 *
 * <p>Apart from the other classes, so that nothing else needs OpenTelemetry's metrics to be there.
 */
final class Figures implements MetricProducer {
    private static final MetricProducer PRODUCER = new Figures();
    private static final InstrumentationScopeInfo SCOPE =
            InstrumentationScopeInfo.builder("io.vtprof").setVersion(Version.STRING).build();
    private static final AttributeKey<String> THREAD = AttributeKey.stringKey("thread");
    private static final int FIELDS = 6;

    static MetricProducer producer() {
        return PRODUCER;
    }

    /** Into each SDK that configures itself; one that takes no producers is left as it is. */
    static void addTo(AutoConfigurationCustomizer autoConfiguration) {
        autoConfiguration.addMeterProviderCustomizer((builder, config) -> {
            try {
                return builder.registerMetricProducer(PRODUCER);
            } catch (LinkageError older) {
                Log.fine("vtprof: this SDK takes no metrics of the agent's: " + older);
                return builder;
            }
        });
    }

    @Override
    public Collection<MetricData> produce(Resource resource) {
        try {
            String figures = Native.linked ? Native.figures() : null;
            return figures == null ? Collections.<MetricData>emptyList() : read(figures, resource);
        } catch (Throwable failed) {
            Log.failed(failed);
            return Collections.emptyList();
        }
    }

    /** The agent's text: when counting began, in ns since the epoch, then a figure a line (see {@link Native#figures()}). */
    private static Collection<MetricData> read(String figures, Resource resource) {
        String[] lines = figures.split("\n");
        long since = Long.parseLong(lines[0]);
        long now = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
        Map<String, Metric> metrics = new LinkedHashMap<>();
        for (int i = 1; i < lines.length; i++) {
            String[] fields = lines[i].split("\t", FIELDS);
            boolean isCounter = fields[0].equals("counter");
            double value = Double.parseDouble(fields[4]);
            if (isCounter && value == 0) {
                continue;
            }
            String thread = fields[3];
            Attributes attributes = thread.isEmpty() ? Attributes.empty() : Attributes.of(THREAD, thread);
            metrics.computeIfAbsent(fields[1], name -> new Metric(resource, name, fields[2], fields[5], isCounter))
                    .points
                    .add(DoublePointData.create(since, Math.max(now, since), attributes, value, Collections.emptyList()));
        }
        return new ArrayList<>(metrics.values());
    }

    private static final class Metric implements MetricData {
        final List<DoublePointData> points = new ArrayList<>(1);
        private final Resource resource;
        private final String name;
        private final String unit;
        private final String description;
        private final boolean isCounter;

        Metric(Resource resource, String name, String unit, String description, boolean isCounter) {
            this.resource = resource;
            this.name = name;
            this.unit = unit;
            this.description = description;
            this.isCounter = isCounter;
        }

        @Override
        public Resource getResource() {
            return resource;
        }

        @Override
        public InstrumentationScopeInfo getInstrumentationScopeInfo() {
            return SCOPE;
        }

        @Override
        public String getName() {
            return name;
        }

        @Override
        public String getDescription() {
            return description;
        }

        @Override
        public String getUnit() {
            return unit;
        }

        @Override
        public MetricDataType getType() {
            return isCounter ? MetricDataType.DOUBLE_SUM : MetricDataType.DOUBLE_GAUGE;
        }

        @Override
        public Data<?> getData() {
            return isCounter
                    ? SumData.createDoubleSumData(true, AggregationTemporality.CUMULATIVE, points)
                    : GaugeData.createDoubleGaugeData(points);
        }

        /** For exporters that log. */
        @Override
        public String toString() {
            return "MetricData{scope=" + SCOPE.getName() + ", name=" + name + ", unit=" + unit + ", type=" + getType()
                    + ", points=" + points + "}";
        }
    }
}

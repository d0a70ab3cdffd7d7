package rideshare;

import io.opentelemetry.api.common.Value;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.logs.LogRecordProcessor;
import io.opentelemetry.sdk.logs.ReadWriteLogRecord;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.metrics.Aggregation;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.LongPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * An extension of the OpenTelemetry agent: remembers every span and log record that was made and
 * which of them an export was acknowledged for. The agent loads it apart from the application,
 * which finds it as the system property {@link #FINISH}.
 */
public final class Report implements AutoConfigurationCustomizerProvider {
    /** A LongFunction: ends all exports and makes the report, given the number of rides. */
    static final String FINISH = "rideshare.finish";

    private final Queue<SpanData> spans = new ConcurrentLinkedQueue<>();
    private final Queue<LogRecordData> logs = new ConcurrentLinkedQueue<>();
    private final Set<String> acknowledgedSpans = ConcurrentHashMap.newKeySet();
    private final Set<String> acknowledgedLogs = ConcurrentHashMap.newKeySet();
    private final List<Supplier<CompletableResultCode>> ends = new CopyOnWriteArrayList<>();
    private volatile long exportedRides;

    @Override
    public void customize(AutoConfigurationCustomizer sdk) {
        sdk.addTracerProviderCustomizer((builder, config) -> builder.addSpanProcessor(new Spans()));
        sdk.addSpanExporterCustomizer((exporter, config) -> new NotingSpans(exporter));
        sdk.addSpanProcessorCustomizer((processor, config) -> {
            ends.add(processor::shutdown);
            return processor;
        });
        sdk.addLoggerProviderCustomizer(
                (builder, config) -> builder.addLogRecordProcessor(this::remember));
        sdk.addLogRecordExporterCustomizer((exporter, config) -> new NotingLogs(exporter));
        sdk.addLogRecordProcessorCustomizer((processor, config) -> {
            ends.add(processor::shutdown);
            return processor;
        });
        sdk.addMetricExporterCustomizer((exporter, config) -> new NotingMetrics(exporter));
        sdk.addMetricReaderCustomizer((reader, config) -> {
            ends.add(reader::shutdown);
            return reader;
        });
        LongFunction<String> finish = this::finish;
        System.getProperties().put(FINISH, finish);
    }

    private String finish(long rides) {
        List<CompletableResultCode> results =
                ends.stream().map(Supplier::get).collect(Collectors.toList());
        CompletableResultCode.ofAll(results).join(30, TimeUnit.SECONDS);
        return String.format(
                "{\"service\": %s, \"language\": \"java\", \"spans\": [%s], \"logs\": [%s], "
                        + "\"metrics\": {\"rides\": %d, \"acknowledged\": %b}}",
                quoted(System.getenv("OTEL_SERVICE_NAME")),
                spans.stream().map(this::asJson).collect(Collectors.joining(",\n")),
                logs.stream().map(this::asJson).collect(Collectors.joining(",\n")),
                rides, exportedRides == rides);
    }

    private String asJson(SpanData span) {
        SpanContext parent = span.getParentSpanContext();
        return String.format(
                "{\"span_id\": \"%s\", \"trace_id\": \"%s\", \"parent\": \"%s\", "
                        + "\"local_root\": %b, \"name\": %s, \"start\": %d, \"end\": %d, "
                        + "\"acknowledged\": %b}",
                span.getSpanId(), span.getTraceId(), parent.isValid() ? parent.getSpanId() : "",
                !parent.isValid() || parent.isRemote(), quoted(span.getName()),
                span.getStartEpochNanos(), span.getEndEpochNanos(),
                acknowledgedSpans.contains(span.getSpanId()));
    }

    private String asJson(LogRecordData log) {
        SpanContext span = log.getSpanContext();
        return String.format(
                "{\"id\": %s, \"trace_id\": \"%s\", \"span_id\": \"%s\", \"acknowledged\": %b}",
                quoted(body(log)), span.isValid() ? span.getTraceId() : "",
                span.isValid() ? span.getSpanId() : "", acknowledgedLogs.contains(body(log)));
    }

    private static String body(LogRecordData log) {
        Value<?> body = log.getBodyValue();
        return body == null ? "" : body.asString();
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    private void remember(Context context, ReadWriteLogRecord log) {
        logs.add(log.toLogRecordData());
    }

    private final class Spans implements SpanProcessor {
        @Override
        public void onStart(Context parent, ReadWriteSpan span) {}

        @Override
        public boolean isStartRequired() {
            return false;
        }

        @Override
        public void onEnd(ReadableSpan span) {
            spans.add(span.toSpanData());
        }

        @Override
        public boolean isEndRequired() {
            return true;
        }
    }

    // The real exporters, with a note of what they said.

    private final class NotingSpans implements SpanExporter {
        private final SpanExporter next;

        NotingSpans(SpanExporter next) {
            this.next = next;
        }

        @Override
        public CompletableResultCode export(Collection<SpanData> batch) {
            List<String> ids = batch.stream().map(SpanData::getSpanId).collect(Collectors.toList());
            CompletableResultCode result = next.export(batch);
            return result.whenComplete(() -> {
                if (result.isSuccess()) {
                    acknowledgedSpans.addAll(ids);
                }
            });
        }

        @Override
        public CompletableResultCode flush() {
            return next.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return next.shutdown();
        }
    }

    private final class NotingLogs implements LogRecordExporter {
        private final LogRecordExporter next;

        NotingLogs(LogRecordExporter next) {
            this.next = next;
        }

        @Override
        public CompletableResultCode export(Collection<LogRecordData> batch) {
            List<String> ids = batch.stream().map(Report::body).collect(Collectors.toList());
            CompletableResultCode result = next.export(batch);
            return result.whenComplete(() -> {
                if (result.isSuccess()) {
                    acknowledgedLogs.addAll(ids);
                }
            });
        }

        @Override
        public CompletableResultCode flush() {
            return next.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return next.shutdown();
        }
    }

    private final class NotingMetrics implements MetricExporter {
        private final MetricExporter next;

        NotingMetrics(MetricExporter next) {
            this.next = next;
        }

        @Override
        public CompletableResultCode export(Collection<MetricData> batch) {
            // Summed up first: the SDK may use the points again.
            long rides = batch.stream().filter(metric -> metric.getName().equals("rides"))
                    .flatMap(metric -> metric.getLongSumData().getPoints().stream())
                    .mapToLong(LongPointData::getValue).sum();
            CompletableResultCode result = next.export(batch);
            return result.whenComplete(() -> exportedRides = result.isSuccess() ? rides : -1);
        }

        @Override
        public AggregationTemporality getAggregationTemporality(InstrumentType type) {
            return next.getAggregationTemporality(type);
        }

        @Override
        public Aggregation getDefaultAggregation(InstrumentType type) {
            return next.getDefaultAggregation(type);
        }

        @Override
        public CompletableResultCode flush() {
            return next.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return next.shutdown();
        }
    }
}

package rideshare;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope.LabelsWrapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import java.util.logging.Logger;
import sun.misc.Signal;

/**
 * A small ride-sharing service that is its own load. What it does and reports, and its arguments,
 * are in ../../../README.md. It runs under the agents of OpenTelemetry, which makes the server
 * spans and exports the log records, and of Pyroscope; see ../../run.
 */
public final class Rideshare {
    private static final double HEAVY_SHARE = 0.25;
    private static final double REMOTE_SHARE = 0.25;
    private static final List<String> VEHICLES = List.of("bike", "scooter", "car");
    private static final AttributeKey<String> VEHICLE = AttributeKey.stringKey("vehicle");
    private static final Logger LOG = Logger.getLogger("rideshare");

    private final Tracer tracer = GlobalOpenTelemetry.getTracer("rideshare");
    private final LongCounter counter =
            GlobalOpenTelemetry.getMeter("rideshare").counterBuilder("rides").build();
    private final AtomicLong rides = new AtomicLong();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final HttpClient client = HttpClient.newHttpClient();
    private final boolean handmade;

    private Rideshare(boolean handmade) {
        this.handmade = handmade;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>(Map.of("mode", "processor", "seconds", "20",
                "workers", "3", "report", "-", "upload-seconds", "10"));
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i].replaceFirst("^--", ""), arguments[i + 1]);
        }
        LOG.setUseParentHandlers(false); // to the agent, not to the terminal
        Rideshare service = new Rideshare(options.get("mode").equals("handmade"));
        Signal.handle(new Signal("TERM"), signal -> service.stop.countDown());
        service.run(Double.parseDouble(options.get("seconds")),
                Integer.parseInt(options.get("workers")));

        // The profiler's agent drops its last window at the end: wait until that is sent.
        Thread.sleep(1000 * Long.parseLong(options.get("upload-seconds")) + 3000);
        @SuppressWarnings("unchecked")
        LongFunction<String> finish =
                (LongFunction<String>) System.getProperties().get(Report.FINISH);
        write(finish.apply(service.rides.get()), options.get("report"));
        System.exit(0);
    }

    private static void write(String report, String file) throws IOException {
        if (file.equals("-")) {
            System.out.println(report);
            return;
        }
        Path part = Path.of(file + ".part");
        Files.writeString(part, report);
        Files.move(part, Path.of(file), StandardCopyOption.ATOMIC_MOVE);
    }

    private void run(double seconds, int workers) throws Exception {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        ExecutorService pool = Executors.newCachedThreadPool();
        server.setExecutor(pool);
        for (String vehicle : VEHICLES) {
            server.createContext("/" + vehicle, exchange -> serve(exchange, vehicle));
        }
        server.start();
        String base = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            Thread thread = new Thread(() -> ask(base));
            thread.start();
            clients.add(thread);
        }
        stop.await((long) (seconds * 1000), TimeUnit.MILLISECONDS);
        stop.countDown();
        for (Thread thread : clients) {
            thread.join();
        }
        server.stop(1);
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS); // the last spans have ended
    }

    private void serve(HttpExchange exchange, String vehicle) throws IOException {
        LOG.info("ride " + UUID.randomUUID());
        counter.add(1, Attributes.of(VEHICLE, vehicle));
        rides.incrementAndGet();
        if (handmade) {
            String id = Span.current().getSpanContext().getSpanId();
            LabelsWrapper.run(new LabelsSet("span_id", id), () -> order(vehicle));
        } else {
            order(vehicle);
        }
        byte[] answer = "ride ordered\n".getBytes();
        exchange.sendResponseHeaders(200, answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
    }

    private void order(String vehicle) {
        ThreadLocalRandom dice = ThreadLocalRandom.current();
        Span span = tracer.spanBuilder("find_nearest_vehicle").startSpan();
        try (Scope scope = span.makeCurrent()) {
            span.setAttribute(VEHICLE, vehicle);
            if (dice.nextDouble() < HEAVY_SHARE) {
                matchDrivers(0.1 + 0.9 * Math.pow(dice.nextDouble(), 3));
            } else {
                sleep(20 + 100 * dice.nextDouble());
            }
        } finally {
            span.end();
        }
        if (!vehicle.equals("car")) {
            return;
        }
        span = tracer.spanBuilder("check_driver_availability").startSpan();
        span.addEvent("asked", Attributes.of(AttributeKey.longKey("drivers"), 3L));
        sleep(10);
        span.end();
    }

    /** Burns CPU in a function of its own, so that a flame graph has a name to show. */
    private static double matchDrivers(double seconds) {
        double total = 0;
        for (long until = System.nanoTime() + (long) (seconds * 1e9);
                System.nanoTime() < until; ) {
            for (int i = 0; i < 20000; i++) {
                total += Math.sqrt(i);
            }
        }
        return total;
    }

    private static void sleep(double milliseconds) {
        try {
            TimeUnit.MICROSECONDS.sleep((long) (milliseconds * 1000));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ask(String base) {
        ThreadLocalRandom dice = ThreadLocalRandom.current();
        try {
            do {
                HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create(base + VEHICLES.get(dice.nextInt(VEHICLES.size()))));
                if (dice.nextDouble() < REMOTE_SHARE) {
                    request.header("traceparent", String.format("00-%016x%016x-%016x-01",
                            dice.nextLong(), dice.nextLong(), dice.nextLong() | 1));
                }
                client.send(request.build(), HttpResponse.BodyHandlers.discarding());
            } while (!stop.await(50 + (long) (150 * dice.nextDouble()), TimeUnit.MILLISECONDS));
        } catch (IOException | InterruptedException e) {
            System.err.println("rideshare-java: " + e);
        }
    }
}

// A small ride-sharing service that traces, logs, counts and profiles itself and is its own load.
// What it does and reports, and its arguments, are in ../README.md. telemetry.go sets up the SDKs.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"math"
	random "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	heavyShare  = 0.25
	remoteShare = 0.25
)

var (
	service   = flag.String("service", "rideshare-go", "service name")
	mode      = flag.String("mode", "processor", "processor | handmade | plain")
	protocol  = flag.String("protocol", "http", "http | grpc")
	otlp      = flag.String("otlp", "http://127.0.0.1:4318", "http://host:port")
	profiles  = flag.String("pyroscope", "http://127.0.0.1:4040", "base URL")
	seconds   = flag.Float64("seconds", 20, "how long the load runs")
	workers   = flag.Int("workers", 3, "how many ask for rides")
	upload    = flag.Float64("upload-seconds", 15, "how often the profiler sends")
	reportTo  = flag.String("report", "-", "file for the JSON report")
	propagate = propagation.TraceContext{}
)

// matchDrivers burns CPU in a function of its own, so that a flame graph has a name to show.
func matchDrivers(d time.Duration) float64 {
	total := 0.0
	for until := time.Now().Add(d); time.Now().Before(until); {
		for i := range 20000 {
			total += math.Sqrt(float64(i))
		}
	}
	return total
}

type rides struct {
	tracer  trace.Tracer
	logger  log.Logger
	counter metric.Int64Counter
	made    *report
}

// count logs and counts a ride.
func (r *rides) count(ctx context.Context, vehicle string) {
	var record log.Record
	record.SetTimestamp(time.Now())
	record.SetSeverity(log.SeverityInfo)
	record.SetSeverityText("INFO")
	record.SetBody(attribute.StringValue("ride " + rand.Text()))
	r.logger.Emit(ctx, record)
	r.counter.Add(ctx, 1, metric.WithAttributes(attribute.String("vehicle", vehicle)))
	r.made.rides.Add(1)
}

func (r *rides) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ctx := propagate.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
	ctx, span := r.tracer.Start(ctx, "GET "+req.URL.Path,
		trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	vehicle := strings.Trim(req.URL.Path, "/")
	r.count(ctx, vehicle)
	if *mode == "handmade" {
		id := pyroscope.Labels("span_id", span.SpanContext().SpanID().String())
		pyroscope.TagWrapper(ctx, id, func(ctx context.Context) { r.order(ctx, vehicle) })
	} else {
		r.order(ctx, vehicle)
	}
	fmt.Fprintln(w, "ride ordered")
}

func (r *rides) order(ctx context.Context, vehicle string) {
	_, span := r.tracer.Start(ctx, "find_nearest_vehicle")
	span.SetAttributes(attribute.String("vehicle", vehicle))
	if random.Float64() < heavyShare {
		matchDrivers(time.Duration((0.1 + 0.9*math.Pow(random.Float64(), 3)) * 1e9))
	} else {
		time.Sleep(time.Duration((0.02 + 0.1*random.Float64()) * 1e9))
	}
	span.End()
	if vehicle == "car" {
		_, span = r.tracer.Start(ctx, "check_driver_availability")
		span.AddEvent("asked", trace.WithAttributes(attribute.Int("drivers", 3)))
		time.Sleep(10 * time.Millisecond)
		span.End()
	}
}

func ride(ctx context.Context, base string) {
	vehicles := []string{"bike", "scooter", "car"}
	for ctx.Err() == nil {
		// The request itself is not cut short: its span must end as any other.
		req, err := http.NewRequest(http.MethodGet, base+vehicles[random.IntN(3)], nil)
		if err != nil {
			return
		}
		if random.Float64() < remoteShare {
			req.Header.Set("traceparent", fmt.Sprintf("00-%016x%016x-%016x-01", random.Uint64(),
				random.Uint64(), random.Uint64()|1))
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration((0.05 + 0.15*random.Float64()) * 1e9)):
		}
	}
}

func run() error {
	ctx := context.Background()
	profiler, err := pyroscope.Start(pyroscope.Config{ApplicationName: *service,
		ServerAddress: *profiles, UploadRate: time.Duration(*upload * 1e9),
		Tags: map[string]string{"region": "eu-north"}})
	if err != nil {
		return err
	}
	made := &report{acked: map[string]bool{}}
	sdk, err := setUp(ctx, made)
	if err != nil {
		return err
	}
	counter, err := sdk.metrics.Meter("rideshare").Int64Counter("rides")
	if err != nil {
		return err
	}

	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &rides{sdk.tracers.Tracer("rideshare"),
		sdk.logs.Logger("rideshare"), counter, made}}
	go func() { _ = server.Serve(socket) }()
	load, cancel := context.WithTimeout(ctx, time.Duration(*seconds*1e9))
	defer cancel()
	load, stop := signal.NotifyContext(load, syscall.SIGTERM)
	defer stop()
	var all sync.WaitGroup
	for range *workers {
		all.Go(func() { ride(load, "http://"+socket.Addr().String()+"/") })
	}
	all.Wait()
	if err := server.Shutdown(ctx); err != nil {
		return err
	}
	if err := sdk.shutdown(ctx); err != nil { // exports what is queued
		fmt.Fprintln(os.Stderr, "rideshare-go:", err)
	}
	profiler.Flush(true) // Stop alone would drop uploads that are still queued
	if err := profiler.Stop(); err != nil {
		return err
	}
	return made.write()
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rideshare-go:", err)
		os.Exit(1)
	}
}

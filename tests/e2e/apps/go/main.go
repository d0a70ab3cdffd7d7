// A small ride-sharing service that traces and profiles itself and is its own load: the Go sister
// of ../python/rideshare.py, with the same options and the same report.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	heavyShare  = 0.25
	remoteShare = 0.25
)

var (
	service   = flag.String("service", "rideshare-go", "service name")
	mode      = flag.String("mode", "processor", "processor | handmade")
	protocol  = flag.String("protocol", "http", "http | grpc")
	otlp      = flag.String("otlp", "http://127.0.0.1:4318", "http://host:port")
	profiles  = flag.String("pyroscope", "http://127.0.0.1:4040", "base URL")
	seconds   = flag.Float64("seconds", 20, "how long the load runs")
	workers   = flag.Int("workers", 3, "how many ask for rides")
	reportTo  = flag.String("report", "-", "file for the JSON report")
	propagate = propagation.TraceContext{}
)

// spanReport is one span as the report tells it.
type spanReport struct {
	SpanID       string `json:"span_id"`
	TraceID      string `json:"trace_id"`
	Parent       string `json:"parent"`
	LocalRoot    bool   `json:"local_root"`
	Name         string `json:"name"`
	Start        int64  `json:"start"`
	End          int64  `json:"end"`
	Acknowledged bool   `json:"acknowledged"`
}

// report is a span processor that remembers every span, and an exporter that notes which ones the
// real exporter had acknowledged.
type report struct {
	mu    sync.Mutex
	spans []spanReport
	acked map[string]bool
	next  sdktrace.SpanExporter
}

func (r *report) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (r *report) OnEnd(s sdktrace.ReadOnlySpan) {
	parent := ""
	if s.Parent().HasSpanID() {
		parent = s.Parent().SpanID().String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, spanReport{
		SpanID:    s.SpanContext().SpanID().String(),
		TraceID:   s.SpanContext().TraceID().String(),
		Parent:    parent,
		LocalRoot: parent == "" || s.Parent().IsRemote(),
		Name:      s.Name(),
		Start:     s.StartTime().UnixNano(),
		End:       s.EndTime().UnixNano(),
	})
}

func (r *report) ForceFlush(context.Context) error { return nil }

func (r *report) Shutdown(ctx context.Context) error { return nil }

type acknowledging struct{ *report }

func (a acknowledging) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := a.next.ExportSpans(ctx, spans)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range spans {
		a.acked[s.SpanContext().SpanID().String()] = true
	}
	return nil
}

func (a acknowledging) Shutdown(ctx context.Context) error { return a.next.Shutdown(ctx) }

func (r *report) write() error {
	for i := range r.spans {
		r.spans[i].Acknowledged = r.acked[r.spans[i].SpanID]
	}
	text, err := json.Marshal(map[string]any{"service": *service, "language": "go",
		"spans": r.spans})
	if err != nil {
		return err
	}
	if *reportTo == "-" {
		_, err = os.Stdout.Write(append(text, '\n'))
		return err
	}
	if err := os.WriteFile(*reportTo+".part", text, 0o644); err != nil {
		return err
	}
	return os.Rename(*reportTo+".part", *reportTo)
}

func makeExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	if *protocol == "grpc" {
		address := strings.TrimPrefix(*otlp, "http://")
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(address),
			otlptracegrpc.WithInsecure())
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(*otlp+"/v1/traces"))
}

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

type rides struct{ tracer trace.Tracer }

func (r *rides) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ctx := propagate.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
	ctx, span := r.tracer.Start(ctx, "GET "+req.URL.Path,
		trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	vehicle := strings.Trim(req.URL.Path, "/")
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
	if rand.Float64() < heavyShare {
		matchDrivers(time.Duration((0.1 + 0.9*math.Pow(rand.Float64(), 3)) * 1e9))
	} else {
		time.Sleep(time.Duration((0.02 + 0.1*rand.Float64()) * 1e9))
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
		req, err := http.NewRequest(http.MethodGet, base+vehicles[rand.IntN(3)], nil)
		if err != nil {
			return
		}
		if rand.Float64() < remoteShare {
			req.Header.Set("traceparent", fmt.Sprintf("00-%016x%016x-%016x-01", rand.Uint64(),
				rand.Uint64(), rand.Uint64()|1))
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration((0.05 + 0.15*rand.Float64()) * 1e9)):
		}
	}
}

func run() error {
	ctx := context.Background()
	profiler, err := pyroscope.Start(pyroscope.Config{ApplicationName: *service,
		ServerAddress: *profiles, Tags: map[string]string{"region": "eu-north"}})
	if err != nil {
		return err
	}
	exporter, err := makeExporter(ctx)
	if err != nil {
		return err
	}
	made := &report{acked: map[string]bool{}, next: exporter}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", *service))),
		sdktrace.WithSpanProcessor(made), sdktrace.WithBatcher(acknowledging{made}))
	var tracers trace.TracerProvider = provider
	if *mode == "processor" {
		tracers = otelpyroscope.NewTracerProvider(provider)
	}

	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &rides{tracers.Tracer("rideshare")}}
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
	if err := provider.Shutdown(ctx); err != nil { // exports what is queued
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

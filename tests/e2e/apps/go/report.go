package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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

type logReport struct {
	ID           string `json:"id"`
	TraceID      string `json:"trace_id"`
	SpanID       string `json:"span_id"`
	Acknowledged bool   `json:"acknowledged"`
}

// report remembers every span and log record, and what an export was acknowledged for.
type report struct {
	rides        atomic.Int64
	mu           sync.Mutex
	spans        []spanReport
	logs         []logReport
	acked        map[string]bool // ids of spans and logs
	metricsAcked bool
}

// madeSpans and madeLogs are the processors that see what the application made.
type madeSpans struct{ *report }

func (madeSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (madeSpans) ForceFlush(context.Context) error                { return nil }
func (madeSpans) Shutdown(context.Context) error                  { return nil }

func (r madeSpans) OnEnd(s sdktrace.ReadOnlySpan) {
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

type madeLogs struct{ *report }

func (madeLogs) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (madeLogs) ForceFlush(context.Context) error                       { return nil }
func (madeLogs) Shutdown(context.Context) error                         { return nil }

func (r madeLogs) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, logReport{ID: record.Body().AsString(),
		TraceID: record.TraceID().String(), SpanID: record.SpanID().String()})
	return nil
}

// ackedSpans, ackedLogs and ackedMetrics are the SDK's exporters; they note what was acknowledged.
type ackedSpans struct {
	sdktrace.SpanExporter
	made *report
}

func (a ackedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := a.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		return err
	}
	a.made.mu.Lock()
	defer a.made.mu.Unlock()
	for _, s := range spans {
		a.made.acked[s.SpanContext().SpanID().String()] = true
	}
	return nil
}

type ackedLogs struct {
	sdklog.Exporter
	made *report
}

func (a ackedLogs) Export(ctx context.Context, records []sdklog.Record) error {
	err := a.Exporter.Export(ctx, records)
	if err != nil {
		return err
	}
	a.made.mu.Lock()
	defer a.made.mu.Unlock()
	for _, record := range records {
		a.made.acked[record.Body().AsString()] = true
	}
	return nil
}

type ackedMetrics struct {
	sdkmetric.Exporter
	made *report
}

func (a ackedMetrics) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	err := a.Exporter.Export(ctx, metrics)
	a.made.mu.Lock()
	defer a.made.mu.Unlock()
	a.made.metricsAcked = err == nil
	return err
}

func (r *report) write() error {
	for i := range r.spans {
		r.spans[i].Acknowledged = r.acked[r.spans[i].SpanID]
	}
	for i := range r.logs {
		r.logs[i].Acknowledged = r.acked[r.logs[i].ID]
	}
	text, err := json.Marshal(map[string]any{"service": *service, "language": "go",
		"spans": r.spans, "logs": r.logs,
		"metrics": map[string]any{"rides": r.rides.Load(), "acknowledged": r.metricsAcked}})
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

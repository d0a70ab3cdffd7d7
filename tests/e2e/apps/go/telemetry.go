package main

import (
	"context"
	"errors"
	"strings"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const metricsInterval = 2 * time.Second

// telemetry holds the providers; tracers is what the application sees of spans.
type telemetry struct {
	tracers trace.TracerProvider
	spans   *sdktrace.TracerProvider
	logs    *sdklog.LoggerProvider
	metrics *sdkmetric.MeterProvider
}

type exporters struct {
	spans   sdktrace.SpanExporter
	logs    sdklog.Exporter
	metrics sdkmetric.Exporter
}

func overGRPC(ctx context.Context) (e exporters, err error) {
	address := strings.TrimPrefix(*otlp, "http://")
	var errs [3]error
	e.spans, errs[0] = otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(address),
		otlptracegrpc.WithInsecure())
	e.logs, errs[1] = otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(address),
		otlploggrpc.WithInsecure())
	e.metrics, errs[2] = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(address),
		otlpmetricgrpc.WithInsecure())
	return e, errors.Join(errs[:]...)
}

func overHTTP(ctx context.Context) (e exporters, err error) {
	var errs [3]error
	e.spans, errs[0] = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(*otlp+"/v1/traces"))
	e.logs, errs[1] = otlploghttp.New(ctx, otlploghttp.WithEndpointURL(*otlp+"/v1/logs"))
	e.metrics, errs[2] = otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(*otlp+"/v1/metrics"))
	return e, errors.Join(errs[:]...)
}

func setUp(ctx context.Context, made *report) (*telemetry, error) {
	connect := overHTTP
	if *protocol == "grpc" {
		connect = overGRPC
	}
	to, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	named := resource.NewSchemaless(attribute.String("service.name", *service))
	t := &telemetry{}
	t.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(named),
		sdktrace.WithSpanProcessor(madeSpans{made}),
		sdktrace.WithBatcher(ackedSpans{to.spans, made}))
	t.tracers = t.spans
	if *mode == "processor" {
		t.tracers = otelpyroscope.NewTracerProvider(t.spans)
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithResource(named),
		sdklog.WithProcessor(madeLogs{made}),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(ackedLogs{to.logs, made})))
	t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(named),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(ackedMetrics{to.metrics, made},
			sdkmetric.WithInterval(metricsInterval))))
	return t, nil
}

func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.spans.Shutdown(ctx), t.logs.Shutdown(ctx), t.metrics.Shutdown(ctx))
}

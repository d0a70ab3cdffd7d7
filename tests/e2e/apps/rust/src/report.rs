//! What the application made, and what of it an exporter reported as delivered.
use std::collections::HashSet;
use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use opentelemetry::logs::AnyValue;
use opentelemetry::trace::{SpanContext, SpanId};
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};
use opentelemetry_sdk::Resource;
use serde_json::{json, Value};

#[derive(Default)]
pub struct Report {
    spans: Mutex<Vec<Value>>,
    logs: Mutex<Vec<Value>>,
    acknowledged: Mutex<HashSet<String>>,
    rides: AtomicU64,
    last_export: AtomicBool,
}

impl Report {
    pub fn logged(&self, body: &str, span: &SpanContext) {
        self.logs.lock().unwrap().push(json!({
            "id": body,
            "trace_id": span.trace_id().to_string(),
            "span_id": span.span_id().to_string(),
        }));
    }

    pub fn rode(&self) {
        self.rides.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self, items: &Mutex<Vec<Value>>, key: &str) -> Value {
        let acknowledged = self.acknowledged.lock().unwrap();
        let mut items = std::mem::take(&mut *items.lock().unwrap());
        for item in &mut items {
            let known = item[key]
                .as_str()
                .is_some_and(|id| acknowledged.contains(id));
            item["acknowledged"] = known.into();
        }
        items.into()
    }

    pub fn write(&self, service: &str, file: &str) -> io::Result<()> {
        let text = json!({
            "service": service,
            "language": "rust",
            "spans": self.take(&self.spans, "span_id"),
            "logs": self.take(&self.logs, "id"),
            "metrics": {
                "rides": self.rides.load(Ordering::Relaxed),
                "acknowledged": self.last_export.load(Ordering::Relaxed),
            },
        })
        .to_string();
        if file == "-" {
            println!("{text}");
            return Ok(());
        }
        let part = format!("{file}.part");
        fs::write(&part, text)?;
        fs::rename(part, file)
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64)
}

/// A span processor that remembers every span.
pub struct Ended(pub Arc<Report>);

impl Debug for Ended {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Ended")
    }
}

impl SpanProcessor for Ended {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let root = span.parent_span_id == SpanId::INVALID;
        self.0.spans.lock().unwrap().push(json!({
            "span_id": span.span_context.span_id().to_string(),
            "trace_id": span.span_context.trace_id().to_string(),
            "parent": if root { String::new() } else { span.parent_span_id.to_string() },
            "local_root": root || span.parent_span_is_remote,
            "name": span.name,
            "start": nanoseconds(span.start_time),
            "end": nanoseconds(span.end_time),
        }));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// An exporter that hands on to the real one and notes what it says.
pub struct Acknowledging<E>(pub E, pub Arc<Report>);

impl<E> Acknowledging<E> {
    fn note(&self, ids: Vec<String>, result: &OTelSdkResult) {
        if result.is_ok() {
            self.1.acknowledged.lock().unwrap().extend(ids);
        }
    }
}

impl<E> Debug for Acknowledging<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Acknowledging")
    }
}

impl<E: SpanExporter> SpanExporter for Acknowledging<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let ids = batch
            .iter()
            .map(|span| span.span_context.span_id().to_string())
            .collect();
        let result = self.0.export(batch).await;
        self.note(ids, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

impl<E: LogExporter> LogExporter for Acknowledging<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let body = |record: &opentelemetry_sdk::logs::SdkLogRecord| match record.body() {
            Some(AnyValue::String(text)) => Some(text.to_string()),
            _ => None,
        };
        let ids = batch
            .iter()
            .filter_map(|(record, _)| body(record))
            .collect();
        let result = self.0.export(batch).await;
        self.note(ids, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Acknowledging<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.0.export(metrics).await;
        self.1.last_export.store(result.is_ok(), Ordering::Relaxed);
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.0.temporality()
    }
}

//! A small ride-sharing service that traces and profiles itself and is its own load: the Rust
//! sister of ../python/rideshare.py, with the same options and the same report (../README.md).
//!
//! Rust has no span processor for Pyroscope: --mode handmade labels the samples of a ride with its
//! span id by the profiler's own thread tags, --mode plain labels nothing.
mod options;
mod report;

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::metrics::{Counter, MeterProvider};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use opentelemetry_sdk::Resource;
use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;
use uuid::Uuid;

use options::{Mode, Options, Protocol};
use report::{Acknowledging, Report};

type Failure = Box<dyn std::error::Error + Send + Sync>;
/// Adds or removes a tag of the calling thread.
type Tag = Box<dyn Fn(String, String) -> pyroscope::Result<()> + Send + Sync>;

const HEAVY_SHARE: f64 = 0.25;
const REMOTE_SHARE: f64 = 0.25;
const METRICS_EVERY: Duration = Duration::from_secs(2);

static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_sigterm(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Where the bits of a random UUID say nothing but chance.
const RANDOM_BITS: u128 = (1 << 62) - 1;

fn chance() -> f64 {
    (Uuid::new_v4().as_u128() & RANDOM_BITS) as f64 / RANDOM_BITS as f64
}

fn sleep(seconds: f64) {
    thread::sleep(Duration::from_secs_f64(seconds));
}

/// Burns CPU in a function of its own, so that a flame graph has a name to show.
#[inline(never)]
fn match_drivers(seconds: f64) {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < until {
        black_box((0..20_000u64).fold(0, |sum: u64, i| sum.wrapping_add(i * i % 7)));
    }
}

struct Service {
    tracer: SdkTracer,
    logger: SdkLogger,
    rides: Counter<u64>,
    report: Arc<Report>,
    propagator: TraceContextPropagator,
    tags: Option<(Tag, Tag)>,
}

impl Service {
    fn serve(self: Arc<Self>, socket: TcpListener) {
        for client in socket.incoming().flatten() {
            let service = Arc::clone(&self);
            thread::spawn(move || {
                if let Err(error) = service.answer(client) {
                    eprintln!("rideshare: {error}");
                }
            });
        }
    }

    fn answer(&self, client: TcpStream) -> Result<(), Failure> {
        let mut lines = BufReader::new(&client).lines();
        let request = lines.next().ok_or("no request")??;
        let vehicle = request.split(['/', ' ']).nth(2).ok_or("no path")?;
        let mut headers = HashMap::new();
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_string());
        }
        self.ride(vehicle, &self.propagator.extract(&headers))?;
        (&client)
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
        Ok(())
    }

    fn ride(&self, vehicle: &str, parent: &Context) -> Result<(), Failure> {
        let span = self
            .tracer
            .span_builder(format!("GET /{vehicle}"))
            .with_kind(SpanKind::Server)
            .start_with_context(&self.tracer, parent);
        let span_id = span.span_context().span_id().to_string();
        let _current = parent.with_span(span).attach();
        let Some((add, remove)) = &self.tags else {
            self.order(vehicle);
            return Ok(());
        };
        add("span_id".into(), span_id.clone())?;
        self.order(vehicle);
        remove("span_id".into(), span_id)?;
        Ok(())
    }

    fn order(&self, vehicle: &str) {
        let mut record = self.logger.create_log_record();
        let body = format!("ride {}", Uuid::new_v4());
        let context = Context::current();
        self.report.logged(&body, context.span().span_context());
        record.set_severity_number(Severity::Info);
        record.set_body(AnyValue::from(body));
        self.logger.emit(record);
        self.rides
            .add(1, &[KeyValue::new("vehicle", vehicle.to_string())]);
        self.report.rode();

        let mut span = self.tracer.start("find_nearest_vehicle");
        span.set_attribute(KeyValue::new("vehicle", vehicle.to_string()));
        if chance() < HEAVY_SHARE {
            match_drivers(0.1 + 0.9 * chance().powi(3));
        } else {
            sleep(0.02 + 0.1 * chance());
        }
        span.end();
        if vehicle == "car" {
            let mut span = self.tracer.start("check_driver_availability");
            span.add_event("asked", vec![KeyValue::new("drivers", 3i64)]);
            sleep(0.01);
            span.end();
        }
    }
}

fn ask_for_rides(port: u16, until: Instant) -> io::Result<()> {
    while Instant::now() < until && !STOPPED.load(Ordering::Relaxed) {
        let vehicle = ["bike", "scooter", "car"][(chance() * 2.999) as usize];
        let mut request = format!("GET /{vehicle} HTTP/1.1\r\nhost: localhost\r\n");
        if chance() < REMOTE_SHARE {
            let trace = Uuid::new_v4().simple();
            let span = Uuid::new_v4().as_u128() & RANDOM_BITS;
            request += &format!("traceparent: 00-{trace}-{span:016x}-01\r\n");
        }
        request += "\r\n";
        let mut client = TcpStream::connect(("127.0.0.1", port))?;
        client.write_all(request.as_bytes())?;
        client.read_to_end(&mut Vec::new())?;
        sleep(0.05 + 0.15 * chance());
    }
    Ok(())
}

struct Exporters {
    spans: SpanExporter,
    logs: LogExporter,
    metrics: MetricExporter,
}

fn exporters(options: &Options) -> Result<Exporters, Failure> {
    let url = |path: &str| format!("{}/v1/{path}", options.otlp);
    Ok(match options.protocol {
        Protocol::Http => Exporters {
            spans: SpanExporter::builder()
                .with_http()
                .with_endpoint(url("traces"))
                .build()?,
            logs: LogExporter::builder()
                .with_http()
                .with_endpoint(url("logs"))
                .build()?,
            metrics: MetricExporter::builder()
                .with_http()
                .with_endpoint(url("metrics"))
                .build()?,
        },
        Protocol::Grpc => Exporters {
            spans: SpanExporter::builder()
                .with_tonic()
                .with_endpoint(&options.otlp)
                .build()?,
            logs: LogExporter::builder()
                .with_tonic()
                .with_endpoint(&options.otlp)
                .build()?,
            metrics: MetricExporter::builder()
                .with_tonic()
                .with_endpoint(&options.otlp)
                .build()?,
        },
    })
}

fn run(options: &Options) -> Result<(), Failure> {
    // The windows of all processes are the same: without a label of its own, a process would send
    // profiles of equal labels and time as another, and a server keeps one of them.
    let process = std::process::id().to_string();
    let agent = PyroscopeAgentBuilder::new(
        &options.pyroscope,
        &options.service,
        100,
        "pyroscope-rs",
        "2.1.5",
        pprof_backend(PprofConfig::default(), BackendConfig::default()),
    )
    .tags(vec![("region", "eu-north"), ("process", process.as_str())])
    .upload_interval(Duration::from_secs(options.upload_seconds))
    .build()?
    .start()?;
    let (add, remove) = agent.tag_wrapper();
    let tags: Option<(Tag, Tag)> = match options.mode {
        Mode::Handmade => Some((Box::new(add), Box::new(remove))),
        Mode::Plain => None,
    };

    // gRPC is at home in tokio; its runtime must outlive the exporters.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let exporters = runtime.block_on(async { exporters(options) })?;
    let made = Arc::new(Report::default());
    let resource = Resource::builder()
        .with_service_name(options.service.clone())
        .build();
    let traces = SdkTracerProvider::builder()
        .with_resource(resource.clone())
        .with_span_processor(report::Ended(Arc::clone(&made)))
        .with_batch_exporter(Acknowledging(exporters.spans, Arc::clone(&made)))
        .build();
    let logs = SdkLoggerProvider::builder()
        .with_resource(resource.clone())
        .with_batch_exporter(Acknowledging(exporters.logs, Arc::clone(&made)))
        .build();
    let reader = PeriodicReader::builder(Acknowledging(exporters.metrics, Arc::clone(&made)))
        .with_interval(METRICS_EVERY)
        .build();
    let metrics = SdkMeterProvider::builder()
        .with_resource(resource)
        .with_reader(reader)
        .build();

    let service = Arc::new(Service {
        tracer: traces.tracer("rideshare"),
        logger: logs.logger("rideshare"),
        rides: metrics.meter("rideshare").u64_counter("rides").build(),
        report: Arc::clone(&made),
        propagator: TraceContextPropagator::new(),
        tags,
    });
    let socket = TcpListener::bind("127.0.0.1:0")?;
    let port = socket.local_addr()?.port();
    thread::spawn(move || service.serve(socket));
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    let workers: Vec<_> = (0..options.workers)
        .map(|_| thread::spawn(move || ask_for_rides(port, until)))
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a worker ended badly")??;
    }

    // Each sends what is queued and waits for the answer.
    for ended in [traces.shutdown(), logs.shutdown(), metrics.shutdown()] {
        if let Err(error) = ended {
            eprintln!("rideshare: {error}");
        }
    }
    agent.stop()?.shutdown();
    made.write(&options.service, &options.report)?;
    Ok(())
}

fn main() {
    let options = options::parse(std::env::args().skip(1)).unwrap_or_else(|wrong| {
        eprintln!("rideshare: {wrong}");
        std::process::exit(2);
    });
    unsafe {
        libc::signal(libc::SIGTERM, on_sigterm as *const () as libc::sighandler_t);
    }
    if let Err(error) = run(&options) {
        eprintln!("rideshare: {error}");
        std::process::exit(1);
    }
}

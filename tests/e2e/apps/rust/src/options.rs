//! The arguments that every application takes (../README.md).
use std::str::FromStr;

pub enum Mode {
    Handmade,
    Plain,
}

pub enum Protocol {
    Http,
    Grpc,
}

pub struct Options {
    pub service: String,
    pub mode: Mode,
    pub protocol: Protocol,
    pub otlp: String,
    pub pyroscope: String,
    pub seconds: f64,
    pub workers: u32,
    pub report: String,
    pub upload_seconds: u64,
}

pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        service: "rideshare-rust".into(),
        mode: Mode::Handmade,
        protocol: Protocol::Http,
        otlp: "http://127.0.0.1:4318".into(),
        pyroscope: "http://127.0.0.1:4040".into(),
        seconds: 20.0,
        workers: 3,
        report: "-".into(),
        upload_seconds: 10,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        match name.as_str() {
            "--service" => options.service = value,
            "--mode" => {
                options.mode = match value.as_str() {
                    "handmade" => Mode::Handmade,
                    "plain" => Mode::Plain,
                    _ => return Err(format!("the Rust SDK has no mode {value}")),
                }
            }
            "--protocol" => {
                options.protocol = match value.as_str() {
                    "http" => Protocol::Http,
                    "grpc" => Protocol::Grpc,
                    _ => return Err(format!("no protocol {value}")),
                }
            }
            "--otlp" => options.otlp = value,
            "--pyroscope" => options.pyroscope = value,
            "--seconds" => options.seconds = number(&name, &value)?,
            "--workers" => options.workers = number(&name, &value)?,
            "--report" => options.report = value,
            "--upload-seconds" => options.upload_seconds = number::<f64>(&name, &value)? as u64,
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(options)
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{name} {value} is no number"))
}

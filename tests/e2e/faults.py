"""Runs in which spanlink, or both backends behind it, go down."""
import time

import harness
import record
import rows

DOWN_SECONDS = 20
ROW = rows.Row("python", "processor", "http")


def start(folder, backends, seconds, **env):
    spanlink = harness.Spanlink(folder, backends, ROW.protocol)
    tee = record.Proxy(spanlink.pyroscope)
    app = harness.App(folder, 0, ROW.language, spanlink.otlp(ROW.protocol), tee.url,
                      service=rows.service_of(ROW), mode=ROW.mode, protocol=ROW.protocol,
                      seconds=seconds, env=env)
    return spanlink, tee, app


def own_backends(folder):
    """Not shared, so that data from a service of the same name elsewhere do not count here."""
    collector = harness.Collector(folder / "collector").start()
    return harness.Backends(collector, harness.Standin(folder / "pyroscope").start(), collector)


def end_in_mid_traffic(folder):
    """SIGTERM while the application is running, after its first profile. Profiles arrive every 10
    s."""
    backends = own_backends(folder)
    since = time.time()
    with rows.LOADS:
        spanlink, tee, app = start(folder, backends, 15, OTEL_BSP_SCHEDULE_DELAY="500",
                                   OTEL_EXPORTER_OTLP_TIMEOUT="2")
        try:
            assert harness.wait_for(lambda: len(tee.exchanges) >= 1, 20)
            time.sleep(1.2)
            before = time.monotonic()
            code = spanlink.stop(12)
            took = time.monotonic() - before
            reports = [app.report(60)]
        finally:
            app.kill()
            spanlink.kill()
            tee.close()
    time.sleep(1)
    try:
        outcome = rows.Outcome(rows.service_of(ROW), reports, tee.exchanges, backends, since)
    finally:
        backends.stop()
    outcome.exit_code, outcome.took, outcome.log = code, took, spanlink.tail()
    return outcome


def run_through_an_outage(folder):
    """Both backends go down 3 s after the start and come back DOWN_SECONDS later: the Collector's
    port is closed, the Pyroscope server answers 503."""
    backends = own_backends(folder)
    since = time.time()
    try:
        with rows.LOADS:
            spanlink, tee, app = start(folder, backends, 14)
            time.sleep(3)
            backends.traces.stop()
            backends.profiles.fault(status=503, count=-1)
            went = time.monotonic()
            try:
                reports = [app.report(60)]
            except BaseException:
                spanlink.kill()
                raise
        time.sleep(max(0.0, DOWN_SECONDS - (time.monotonic() - went)))
        backends.traces.start()
        backends.profiles.fault()
        rows.wait_for_otlp(backends, rows.service_of(ROW), reports, rows.SETTLE_SECONDS)
        rows.wait_for_profiles(backends.profiles, rows.service_of(ROW), tee.exchanges, since, 40)
        code = spanlink.stop()
        time.sleep(0.5)
        outcome = rows.Outcome(rows.service_of(ROW), reports, tee.exchanges, backends, since)
    finally:
        backends.stop()
    tee.close()
    outcome.exit_code, outcome.log = code, spanlink.tail()
    return outcome

"""Runs the example without containers; run.sh starts it. See run.sh --help."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import summary

HERE = pathlib.Path(__file__).resolve().parent
REGIONS = ("us-east", "eu-north", "ap-south")
STARTING, ENDING = 60, 60       # seconds that a process has
DECIDING = 50                   # longer than spanlink holds any span


class Failed(Exception):
    pass


class Process:
    """A child in its own session: Ctrl-C reaches only us, and we stop the child in its turn."""
    started = []

    def __init__(self, name, log, command, **env):
        self.name, self.log = name, log
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "wb") as out:
            self.child = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                                          stdout=out, stderr=out, start_new_session=True,
                                          env={**os.environ, **env})
        Process.started.append(self)

    def wait_ports(self, *ports):
        wait(lambda: all(map(listens, ports)) or self.child.poll() is not None, STARTING)
        if not all(map(listens, ports)):
            raise self.failure("does not listen")

    def exit_code(self):
        """The exit code."""
        try:
            return self.child.wait(ENDING)
        except subprocess.TimeoutExpired:
            raise self.failure("does not end") from None

    def failure(self, what):
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])
        return Failed(f"{self.name} {what}; the end of {self.log}:\n{tail}")


def end(*processes):
    """Sends SIGTERM to all, then returns their exit codes."""
    for process in processes:
        process.child.terminate()
    return [process.exit_code() for process in processes]


interrupts = 0


def interrupted(*_):
    global interrupts
    interrupts += 1


def wait(condition, seconds, patience=99):
    """Waits for condition(), the end of the time, or more presses of Ctrl-C than patience."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until and interrupts <= patience:
        time.sleep(0.1)


def listens(port):
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
        return True
    except OSError:
        return False


def free_port(handed_out=set()):
    while True:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        if port not in handed_out:
            handed_out.add(port)
            return port


def spanlink_command():
    command = [os.environ["SPANLINK_BIN"], "--config", HERE / "sidecar.yaml",
               "--config", HERE / "files.yaml"]
    if os.environ.get("TEMPO_ENDPOINT"):
        command += ["--set", "service.pipelines.traces.exporters=[file, otlp_grpc]"]
    if os.environ.get("PYROSCOPE_URL"):
        command += ["--set", "service.pipelines.profiles.exporters=[file, pyroscope]"]
    return command


def start_sidecar(region, data, otlp, pyroscope, page):
    return Process(f"spanlink of {region}", data / region / "spanlink.log", spanlink_command(),
                   REGION=region, DATA_DIR=str(data), OTLP_PORT=str(otlp),
                   PYROSCOPE_PORT=str(pyroscope), STATUS_HOST="localhost", STATUS_PORT=str(page))


def start_service(region, data, port, otlp, pyroscope, _):
    return Process(f"the service of {region}", data / region / "service.log",
                   [sys.executable, HERE / "rideshare.py"], REGION=region, PORT=str(port),
                   OTEL_EXPORTER_OTLP_ENDPOINT=f"http://localhost:{otlp}",
                   PYROSCOPE_SERVER_ADDRESS=f"http://localhost:{pyroscope}")


def run(seconds, data):
    ports = {region: [free_port() for _ in range(4)] for region in REGIONS}
    sidecars = [start_sidecar(region, data, *ports[region][1:]) for region in REGIONS]
    for region, sidecar in zip(REGIONS, sidecars):
        sidecar.wait_ports(*ports[region][1:])
    services = [start_service(region, data, *ports[region]) for region in REGIONS]
    for region, service in zip(REGIONS, services):
        service.wait_ports(ports[region][0])
        print("{:10}http://localhost:{}, its spanlink on {} (OTLP) and {} (Pyroscope); "
              "traces and flame graphs: http://localhost:{}".format(region, *ports[region]),
              flush=True)
    load = Process("the load", data / "load.log", [sys.executable, HERE / "load.py"]
                   + [f"http://localhost:{ports[region][0]}" for region in REGIONS])

    print(f"rides for {seconds:g} s; Ctrl-C ends them", flush=True)
    running = Process.started[:]
    wait(lambda: any(p.child.poll() is not None for p in running), seconds, patience=0)
    for process in running:
        if process.child.poll() is not None:
            raise process.failure("has ended")

    # First what produces data, then what forwards it.
    end(load)
    rides = int((load.log.read_text().split() or ["0"])[-1])    # empty: it ended before it began
    end(*services)
    patience = interrupts
    print("the last spans wait for their profiles, up to half a minute; Ctrl-C ends that",
          flush=True)
    wait(lambda: len(summary.read_rides(data)) >= rides, DECIDING, patience)
    codes = end(*sidecars)
    print(f"\n{rides} rides ordered. What left spanlink, in {data}:\n\n{summary.table(data)}")
    for sidecar, code in zip(sidecars, codes):
        if code:
            raise sidecar.failure(f"ended with {code}")


def main():
    seconds = float(sys.argv[1])
    data = pathlib.Path(os.environ["DATA_DIR"]) / time.strftime("%Y-%m-%dT%H-%M-%S")
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, interrupted)
    try:
        run(seconds, data)
    except Failed as failure:
        sys.exit(str(failure))
    finally:
        for process in Process.started:
            process.child.kill()
        signal.signal(signal.SIGINT, signal.SIG_IGN)    # Python restores the default as it exits


if __name__ == "__main__":
    main()

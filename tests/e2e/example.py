"""Runs examples/rideshare/run.sh and reads its output."""
import dataclasses
import os
import re
import signal
import subprocess

import harness

RUN = harness.ROOT / "examples" / "rideshare" / "run.sh"
LONGEST = 900     # the first run installs the SDKs
ROW = re.compile(r"(\S+) +GET /(\w+) +(\d+) +(\d+) +([\d.]+) s +(?:([\d.]+) ms|-)")


@dataclasses.dataclass(frozen=True)
class Line:
    requests: int
    linked: int
    cpu: float          # seconds
    each: float         # milliseconds of CPU of a linked span


class Run:
    """A run from its start. Its processes run in their own sessions; SIGTERM ends all of them."""

    def __init__(self, folder, seconds, **env):
        self.process = subprocess.Popen(
            [RUN, str(seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "SPANLINK_BIN": str(harness.SPANLINK), "DATA_DIR": str(folder),
                 **env})
        self.text = ""

    def read_until(self, beginning):
        """Reads lines until one starts with `beginning`, or all lines."""
        for line in self.process.stdout:
            self.text += line
            if line.startswith(beginning):
                return True
        return False

    def ctrl_c(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self):
        try:
            self.text += self.process.communicate(timeout=LONGEST)[0]
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.text += self.process.communicate()[0]
        self.code = self.process.returncode
        self.table = {(region, route): Line(int(requests), int(linked), float(cpu),
                                            float(each or 0))
                      for region, route, requests, linked, cpu, each in ROW.findall(self.text)}
        return self


def run(folder, seconds):
    return Run(folder, seconds).finish()

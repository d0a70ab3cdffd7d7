"""Orders a bike, a scooter and a car in every region, again and again, until Ctrl-C or SIGTERM.

    python load.py http://localhost:5000...

Its last line is the number of rides.
"""
import http.client
import itertools
import signal
import sys
import threading
import urllib.request

PAUSE = 0.05


def main():
    stop = threading.Event()
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda *_: stop.set())
    rides = 0
    for vehicle, region in itertools.cycle(
            itertools.product(("bike", "scooter", "car"), sys.argv[1:])):
        if stop.is_set():
            break
        try:
            with urllib.request.urlopen(f"{region}/{vehicle}", timeout=30) as answer:
                answer.read()
            rides += 1
            stop.wait(PAUSE)
        except (OSError, http.client.HTTPException) as error:
            print(f"{region}/{vehicle}: {error}", file=sys.stderr)
            stop.wait(1)        # it may not have started yet
    print(rides)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Figure 9: processing a pprof, compared with gunzip of the same file.

Usage: bench/pprof.py PROGRAM

Runs bench_pprof on profiles that it makes (1,000, 10,000 and 100,000 samples) and on those of real
profilers in tests/recorded. The former are compressed with zlib at level 6, similar to Go's.
"""
import gzip
import pathlib
import subprocess
import sys
import tempfile
import zlib

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "tests/recorded"
sys.path.insert(0, str(RECORDED))
import pbwire  # noqa: E402

MAGIC = b"\x1f\x8b\x08"


def packed(pprof):
    return gzip.compress(pprof, 6, mtime=0)


def of_ingest(body):
    """The gzip members in a multipart body."""
    at = body.find(MAGIC)
    while at >= 0:
        stream = zlib.decompressobj(31)
        stream.decompress(body[at:])
        end = len(body) - len(stream.unused_data)
        yield body[at:end]
        at = body.find(MAGIC, end)


def of_push(body):
    """The profiles of a PushRequest (series 1, samples 2, raw_profile 1)."""
    def descend(data, path):
        for number, kind, begin, end, _ in pbwire.fields(data):
            if (number, kind) == (path[0], 2):
                yield from descend(data[begin:end], path[1:]) if path[1:] else [data[begin:end]]
    for raw in descend(gzip.decompress(body), [1, 2, 1]):
        yield raw if raw.startswith(MAGIC) else packed(raw)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder, files = pathlib.Path(name), []
        for samples in (1000, 10000, 100000):
            files.append(folder / f"{samples}-samples.pb.gz")
            subprocess.run([program, "--make", str(samples), files[-1]], check=True)
            files[-1].write_bytes(packed(gzip.decompress(files[-1].read_bytes())))
        for language, kind, read in (("go", "ingest", of_ingest), ("python", "push", of_push)):
            found = [pprof for body in sorted((RECORDED / language).glob(f"*-{kind}.bin"))
                     for pprof in read(body.read_bytes())]
            for i, member in enumerate(sorted(found, key=len)[-2:], 1):
                files.append(folder / f"recorded-{language}-{i}.pb.gz")
                files[-1].write_bytes(member)
        subprocess.run([program, *files], check=True)


if __name__ == "__main__":
    main()

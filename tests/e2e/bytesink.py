"""An OTLP endpoint that keeps the bytes of every request as received."""
import concurrent.futures
import gzip
import threading

import grpc

import payloads
import record


class Calls(grpc.GenericRpcHandler):
    """Accepts any unary call, with messages as bytes."""

    def __init__(self, keep):
        self.signals = {f"/{service}/Export": signal
                        for signal, service in payloads.SERVICES.items()}
        self.keep = keep

    def service(self, call):
        signal = self.signals.get(call.method)
        if signal is None:
            return None

        def export(request, _context):
            self.keep(signal, request)
            return b""
        return grpc.unary_unary_rpc_method_handler(export)


class ByteSink:
    """One endpoint for gRPC and one for HTTP. It accepts everything."""

    def __init__(self):
        self.lock, self.kept = threading.Lock(), []
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4),
                                  [Calls(self.keep)], options=[
                                      ("grpc.max_receive_message_length", 64 << 20)])
        self.grpc = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.proxy = record.Proxy()
        self.http = self.proxy.server_port

    def keep(self, signal, body):
        with self.lock:
            self.kept.append((signal, "grpc", body))

    def requests(self, signal, protocol):
        """The decompressed bodies so far, in order of arrival."""
        if protocol == "grpc":
            with self.lock:
                return [body for kind, _, body in self.kept if kind == signal]
        with self.proxy.lock:
            exchanges = list(self.proxy.exchanges)
        return [gzip.decompress(e.body) if e.headers.get("content-encoding") == "gzip" else e.body
                for e in exchanges if e.path == payloads.PATHS[signal]]

    def stop(self):
        self.server.stop(None)
        self.proxy.close()

// pyroscope-standin replaces a Pyroscope server in spanlink's end-to-end tests. It accepts profiles
// through /ingest, push.v1 and OTLP, decodes them with Grafana's published API module and the pprof
// project's own parser, refuses what the real server refuses, with the same statuses, and answers
// the queries that Grafana sends for a span's flame graph. Everything is kept in memory.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
)

const maxBody = 256 << 20

type server struct {
	store  *store
	faults *faults
	limit  *bucket
	delay  time.Duration // the real server answers a push only after a flush
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	delay := flag.Duration("delay", 0, "wait before the answer to a push, as for a segment flush")
	rate := flag.Float64("rate-mb", 4, "ingestion rate limit, MiB a second")
	burst := flag.Float64("burst-mb", 2, "ingestion burst, MiB")
	flag.Parse()

	s := &server{
		store:  newStore(),
		faults: &faults{},
		limit:  newBucket(*rate*(1<<20), *burst*(1<<20)),
		delay:  *delay,
	}
	socket, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pyroscope-standin:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "pyroscope-standin: listening on", socket.Addr())
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	web := &http.Server{Handler: s.routes(), Protocols: &protocols}
	if err := web.Serve(socket); err != nil {
		fmt.Fprintln(os.Stderr, "pyroscope-standin:", err)
		os.Exit(1)
	}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	intake := func(path string, h http.Handler) { mux.Handle(path, s.faults.wrap(h)) }
	intake("/ingest", http.HandlerFunc(s.ingest))
	intake("/pyroscope/ingest", http.HandlerFunc(s.ingest))
	intake("/v1development/profiles", http.HandlerFunc(s.otlp))
	path, handler := pushv1connect.NewPusherServiceHandler(s, connect.WithReadMaxBytes(maxBody))
	intake(path, handler)
	path, handler = querierv1connect.NewQuerierServiceHandler(&querier{store: s.store})
	mux.Handle(path, handler)
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /debug/profiles", s.debugProfiles)
	mux.HandleFunc("/debug/fault", s.faults.control)
	return mux
}

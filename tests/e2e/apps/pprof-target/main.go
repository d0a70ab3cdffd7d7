// pprof-target is a service that is profiled by pulling: it has net/http/pprof and nothing of a
// profiler's SDK. Each of its requests is a span, whose id labels the samples taken meanwhile; half
// of them work, half of them sleep. The spans go out as OTLP JSON when the load is over; the program
// then stays up, so that its last profiles can be pulled, until SIGTERM.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type attribute struct {
	Key   string            `json:"key"`
	Value map[string]string `json:"value"`
}

type span struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
	Name    string `json:"name"`
	Kind    int    `json:"kind"`
	Start   string `json:"startTimeUnixNano"`
	End     string `json:"endTimeUnixNano"`
}

func id(size int) string {
	raw := make([]byte, size)
	if _, err := rand.Read(raw); err != nil {
		log.Fatal(err)
	}
	return hex.EncodeToString(raw)
}

var (
	lock sync.Mutex
	kept [][]byte
)

// work burns CPU, allocates, and holds a lock for which the other workers queue.
func work(until time.Time) {
	sum := 0.0
	for time.Now().Before(until) {
		lock.Lock()
		for i := 0; i < 20000; i++ {
			sum += math.Sqrt(float64(i))
		}
		kept = append(kept, make([]byte, 64<<10))
		if len(kept) > 64 {
			kept = kept[32:]
		}
		lock.Unlock()
	}
	runtime.KeepAlive(sum)
}

func request(busy bool) span {
	start := time.Now()
	made := span{TraceID: id(16), SpanID: id(8), Name: "GET /idle", Kind: 2}
	if busy {
		made.Name = "GET /busy"
	}
	pprof.Do(context.Background(), pprof.Labels("span_id", made.SpanID), func(context.Context) {
		if busy {
			work(start.Add(400 * time.Millisecond))
		} else {
			time.Sleep(100 * time.Millisecond)
		}
	})
	made.Start = strconv.FormatInt(start.UnixNano(), 10)
	made.End = strconv.FormatInt(time.Now().UnixNano(), 10)
	return made
}

func post(url, service string, spans []span) error {
	name := []attribute{{"service.name", map[string]string{"stringValue": service}}}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": name},
		"scopeSpans": []any{map[string]any{"spans": spans}},
	}}})
	if err != nil {
		return err
	}
	answer, err := http.Post(url+"/v1/traces", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("traces: %s", answer.Status)
	}
	return nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where net/http/pprof is served")
	otlp := flag.String("otlp", "", "URL of OTLP over HTTP")
	service := flag.String("service", "pprof-target", "service.name")
	seconds := flag.Int("seconds", 10, "of load")
	report := flag.String("report", "", "file for the spans made")
	flag.Parse()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	go func() { log.Fatal(http.ListenAndServe(*listen, nil)) }()

	var group sync.WaitGroup
	var all sync.Mutex
	var spans []span
	until := time.Now().Add(time.Duration(*seconds) * time.Second)
	for worker := 0; worker < 2; worker++ {
		group.Go(func() {
			for n := worker; time.Now().Before(until); n++ {
				made := request(n%2 == 0)
				all.Lock()
				spans = append(spans, made)
				all.Unlock()
			}
		})
	}
	group.Wait()
	if err := post(*otlp, *service, spans); err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(spans)
	if err == nil {
		err = os.WriteFile(*report+".part", text, 0o644)
	}
	if err == nil {
		err = os.Rename(*report+".part", *report)
	}
	if err != nil {
		log.Fatal(err)
	}
	<-stop
}

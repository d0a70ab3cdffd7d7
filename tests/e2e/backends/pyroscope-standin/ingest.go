package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/model/labelset"
	"google.golang.org/protobuf/encoding/protowire"
)

// accept checks one decoded profile and stores its rows.
func (s *server) accept(via string, p *profilev1.Profile, series labels,
	config, check string) error {
	now := time.Now()
	if !series.has("service_name") || series.get("service_name") == "" {
		series = append(series.without("service_name"), label{"service_name", "unknown_service"})
	}
	sort.Stable(series)
	size := p.SizeVT()
	charge := size
	for _, l := range series {
		charge += len(l.Name) + len(l.Value)
	}
	if bad := s.limit.allow(charge); bad != nil {
		return bad
	}
	if bad := checkProfile(p, size, series, now); bad != nil {
		return bad
	}
	name := strings.TrimPrefix(series.get("__name__"), "godeltaprof_")
	if name != series.get("__name__") {
		series = append(series.without("__name__"), label{"__name__", name})
	}
	rows, bad := split(p, series.without("__delta__").without("__session_id__"), now)
	if bad != nil {
		return bad
	}
	for _, r := range rows {
		r.via, r.config, r.pprofCheck = via, config, check
	}
	s.store.add(rows)
	return nil
}

// Push is push.v1.PusherService/Push. It is not atomic: valid profiles are stored, and the response
// is the first error.
func (s *server) Push(_ context.Context, req *connect.Request[pushv1.PushRequest]) (
	*connect.Response[pushv1.PushResponse], error) {
	time.Sleep(s.delay)
	var first error
	profiles := 0
	fail := func(err error, set labels) {
		code := connect.CodeUnknown
		var bad *refusal
		if errors.As(err, &bad) {
			code = connectCode(bad.code)
		}
		s.store.addRefused(refused{"/push.v1.PusherService/Push", httpStatus(code), code.String(),
			err.Error(), set.asMap()})
		if first == nil {
			first = connect.NewError(code, err)
		}
	}
	for _, series := range req.Msg.Series {
		set := make(labels, 0, len(series.Labels))
		for _, l := range series.Labels {
			set = append(set, label{l.Name, l.Value})
		}
		for _, raw := range series.Samples {
			profiles++
			p, check, err := decode(raw.RawProfile)
			if err == nil {
				err = s.accept("push", p, append(labels(nil), set...), "", check)
			}
			if err != nil {
				fail(err, set)
			}
		}
	}
	if profiles == 0 {
		fail(invalid("no profiles received"), nil)
	}
	if first != nil {
		return nil, first
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func connectCode(name string) connect.Code {
	var c connect.Code
	if err := c.UnmarshalText([]byte(name)); err != nil {
		return connect.CodeUnknown
	}
	return c
}

func httpStatus(c connect.Code) int {
	switch c {
	case connect.CodeInvalidArgument:
		return http.StatusBadRequest
	case connect.CodeResourceExhausted:
		return http.StatusTooManyRequests
	case connect.CodeUnavailable:
		return http.StatusServiceUnavailable
	case connect.CodeUnimplemented:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// answer writes a refusal of /ingest or OTLP as the server does, and records it.
func (s *server) answer(w http.ResponseWriter, r *http.Request, status int, code string,
	err error) {
	s.store.addRefused(refused{r.URL.Path, status, code, err.Error(), nil})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": err.Error()})
}

func (s *server) ingest(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.answer(w, r, http.StatusMethodNotAllowed, "unknown", errors.New("POST only"))
		return
	}
	q := r.URL.Query()
	name, err := labelset.Parse(q.Get("name"))
	if err != nil {
		s.answer(w, r, http.StatusBadRequest, "invalid_argument", fmt.Errorf("name: %w", err))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		s.answer(w, r, http.StatusRequestEntityTooLarge, "unknown", err)
		return
	} else if err != nil {
		s.answer(w, r, http.StatusRequestTimeout, "unknown", err)
		return
	}
	time.Sleep(s.delay)
	format, content := q.Get("format"), r.Header.Get("Content-Type")
	switch {
	case format == "jfr":
		err = s.ingestJFR(r, name, body)
	case format == "trie", format == "tree", format == "lines",
		format == "speedscope", content == "binary/octet-stream+trie",
		content == "binary/octet-stream+tree",
		format != "pprof" && !strings.Contains(content, "multipart/form-data"):
		s.ingestOpaque(w, r, name, body)
		return
	default:
		err = s.ingestPprof(r, name, body, format == "pprof")
	}
	if err != nil {
		var bad *refusal
		status, code := http.StatusUnprocessableEntity, "unknown"
		if errors.As(err, &bad) && bad.code == "resource_exhausted" {
			status, code = http.StatusTooManyRequests, bad.code
		}
		s.answer(w, r, status, code, err)
	}
}

var textSuffix = regexp.MustCompile(`^(cpu|wall|itimer|inuse_objects|inuse_space|alloc_objects|` +
	`alloc_space|goroutines|(mutex|block|lock)_(count|duration)|` +
	`alloc_(in_new|outside)_tlab_(objects|bytes)|live|exceptions|` +
	`(nano|micro|milli)?seconds|bytes)$`)

func (s *server) ingestOpaque(w http.ResponseWriter, r *http.Request, name *labelset.LabelSet,
	body []byte) {
	app := name.ServiceName()
	dot := strings.LastIndex(app, ".")
	if dot >= 0 && !textSuffix.MatchString(app[dot+1:]) {
		s.answer(w, r, http.StatusInternalServerError, "unknown",
			fmt.Errorf("unknown profile type: %s", app[dot+1:]))
		return
	}
	s.store.addOpaque(opaque{r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"),
		r.Header.Get("Content-Encoding"), body})
}

func (s *server) ingestPprof(r *http.Request, name *labelset.LabelSet, body []byte,
	raw bool) error {
	config := ""
	if !raw {
		parts, err := readParts(r.Header.Get("Content-Type"), body)
		if err != nil {
			return err
		}
		if _, old := parts["prev_profile"]; old {
			return errors.New("unsupported client version")
		}
		body, config = parts["profile"], string(parts["sample_type_config"])
	}
	if len(body) == 0 {
		return nil
	}
	p, check, err := decode(body)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if time.Unix(0, p.TimeNanos).Year() == 1970 {
		p.TimeNanos = parseTime(q.Get("from")).UnixNano()
	}
	if q.Get("spyName") == "dotnetspy" {
		for _, t := range p.SampleType {
			if t.Type >= 0 && t.Type < int64(len(p.StringTable)) {
				p.StringTable[t.Type] = strings.ReplaceAll(p.StringTable[t.Type], "-", "_")
			}
		}
	}
	if bad := checkStrings(p); bad != nil {
		return bad
	}
	metric, err := metricName(p, config)
	if err != nil {
		return err
	}
	spy := q.Get("spyName")
	if spy == "" {
		spy = "unknown"
	}
	set := labels{{"__name__", metric}, {"__delta__", "false"}, {"pyroscope_spy", spy}}
	if _, ok := name.Labels()["service_name"]; !ok {
		set = append(set, label{"service_name", name.ServiceName()})
	}
	for k, v := range name.Labels() {
		if !strings.HasPrefix(k, "__") || k == "__session_id__" {
			set = append(set, label{k, v})
		}
	}
	return s.accept("ingest", p, set, config, check)
}

// readParts returns the file parts of a multipart body; plain fields are ignored.
func readParts(contentType string, body []byte) (map[string][]byte, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	form, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(32 << 20)
	if err != nil {
		return nil, err
	}
	defer form.RemoveAll()
	parts := map[string][]byte{}
	for name, files := range form.File {
		f, err := files[0].Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		parts[name] = data
	}
	return parts, nil
}

func metricName(p *profilev1.Profile, config string) (string, error) {
	var configs map[string]struct {
		DisplayName string `json:"display-name"`
	}
	if config != "" {
		if err := json.Unmarshal([]byte(config), &configs); err != nil {
			return "", err
		}
	}
	name := ""
	for _, t := range p.SampleType {
		if p.StringTable[t.Type] == "wall" {
			return "wall", nil
		}
	}
	for _, t := range p.SampleType {
		name = p.StringTable[t.Type]
		if c := configs[name]; c.DisplayName != "" {
			name = c.DisplayName
		}
		switch {
		case strings.Contains(name, "cpu"):
			return "process_cpu", nil
		case strings.Contains(name, "alloc_"), strings.Contains(name, "inuse_"), name == "space",
			name == "objects":
			return "memory", nil
		}
		for _, kind := range []string{"mutex", "block"} {
			if strings.Contains(name, kind+"_") {
				return kind, nil
			}
		}
		if strings.Contains(name, "goroutines") {
			return "goroutines", nil
		}
	}
	return name, nil
}

// parseTime parses from and until: seconds, or milli-, micro- or nanoseconds, by their length.
func parseTime(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Now()
	}
	switch len(s) {
	case 13:
		return time.UnixMilli(n)
	case 16:
		return time.UnixMicro(n)
	case 19:
		return time.Unix(0, n)
	}
	return time.Unix(n, 0)
}

// otlp accepts an OTLP profiles request: checks its outline and keeps its bytes.
func (s *server) otlp(w http.ResponseWriter, r *http.Request) {
	content := r.Header.Get("Content-Type")
	switch content {
	case "application/x-protobuf", "application/protobuf", "application/json":
	default:
		s.answer(w, r, http.StatusUnsupportedMediaType, "unknown", errors.New(content))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		s.answer(w, r, http.StatusRequestEntityTooLarge, "unknown", err)
		return
	}
	time.Sleep(s.delay)
	plain := body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			plain, err = io.ReadAll(z)
		}
		if err != nil {
			s.answer(w, r, http.StatusBadRequest, "invalid_argument", err)
			return
		}
	}
	if content != "application/json" {
		if err := checkOutline(plain); err != nil {
			s.answer(w, r, http.StatusInternalServerError, "unknown", err)
			return
		}
	}
	s.store.addOpaque(opaque{r.URL.Path, r.URL.RawQuery, content,
		r.Header.Get("Content-Encoding"), body})
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// checkOutline requires a dictionary (2) and at least one resource_profiles (1).
func checkOutline(b []byte) error {
	seen := map[protowire.Number]bool{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(number, kind, b[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		seen[number] = true
		b = b[n+m:]
	}
	if !seen[1] || !seen[2] {
		return errors.New("missing resource_profiles or dictionary")
	}
	return nil
}

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
)

type sampleType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type sample struct {
	stack  []string // root first
	values []int64
	span   string // 16 lower-case hex, or empty
	trace  string
}

// row is one stored profile: one series, one moment.
type row struct {
	via        string
	labels     labels
	time       int64
	duration   int64
	types      []sampleType
	period     sampleType
	samples    []sample
	config     string // sample_type_config of /ingest, unchanged
	pprofCheck string // google/pprof's error, or empty
	duplicate  bool   // the server's compaction would drop it
}

func (r *row) key() string { return fmt.Sprintf("%s@%d", r.labels, r.time) }

func (r *row) typeID(i int) string {
	return strings.Join([]string{r.labels.get("__name__"), r.types[i].Type, r.types[i].Unit,
		r.period.Type, r.period.Unit}, ":")
}

type refused struct {
	Path   string            `json:"path"`
	Status int               `json:"status"`
	Code   string            `json:"code"`
	Reason string            `json:"reason"`
	Labels map[string]string `json:"labels,omitempty"`
}

// opaque is a body that is accepted without being parsed, and kept byte for byte.
type opaque struct {
	Path        string `json:"path"`
	Query       string `json:"query"`
	ContentType string `json:"content_type"`
	Encoding    string `json:"content_encoding,omitempty"`
	Body        []byte `json:"body"`
}

type store struct {
	mu      sync.Mutex
	rows    []*row
	seen    map[string]bool
	refused []refused
	opaque  []opaque
}

func newStore() *store { return &store{seen: map[string]bool{}} }

// add stores every row. A row with the labels and time of an earlier one is marked and hidden from
// queries, as after the server's compaction.
func (s *store) add(rows []*row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		r.duplicate = s.seen[r.key()]
		s.seen[r.key()] = true
		s.rows = append(s.rows, r)
	}
}

func (s *store) addRefused(r refused) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, r)
}

func (s *store) addOpaque(o opaque) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opaque = append(s.opaque, o)
}

// snapshot is safe to read without the lock: rows never change once stored.
func (s *store) snapshot() []*row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*row(nil), s.rows...)
}

// decode decompresses and decodes a pprof profile with Grafana's own generated code. check is the
// result of the pprof project's parser for the same bytes.
func decode(raw []byte) (p *profilev1.Profile, check string, err error) {
	if len(raw) > 2 && raw[0] == 0x1f && raw[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, "", err
		}
		if raw, err = io.ReadAll(io.LimitReader(z, maxProfileBytes+1)); err != nil {
			return nil, "", err
		}
	}
	if len(raw) > maxProfileBytes {
		return nil, "", invalid("uncompressed profile payload size exceeds limit of %d",
			maxProfileBytes)
	}
	p = &profilev1.Profile{}
	if err := p.UnmarshalVT(raw); err != nil {
		return nil, "", err
	}
	other, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = other.CheckValid()
	}
	if err != nil && len(p.Sample) > 0 {
		check = err.Error()
	}
	return p, check, nil
}

// split returns one row per distinct set of promoted sample labels: every string label except the
// ids of span and trace becomes a label of the series, unless the series has one of that name.
func split(p *profilev1.Profile, series labels, now time.Time) ([]*row, *refusal) {
	frames := stacks(p)
	groups := map[string]*row{}
	var order []string
	if p.TimeNanos <= 0 {
		p.TimeNanos = now.UnixNano()
	}
	for _, s := range p.Sample {
		if !counts(s.Value) {
			continue
		}
		set := append(labels(nil), series...)
		out := sample{values: s.Value, stack: frames(s.LocationId)}
		for _, l := range s.Label {
			name, value := p.StringTable[l.Key], p.StringTable[l.Str]
			switch {
			case l.Str == 0:
			case name == "span_id" || name == "profile_id":
				out.span = hexID(value, 16)
			case name == "trace_id":
				out.trace = hexID(value, 32)
			case !set.has(name):
				set = append(set, label{name, value})
			}
		}
		sort.Stable(set)
		key := set.String()
		if groups[key] == nil {
			groups[key] = newRow(p, set)
			order = append(order, key)
		}
		groups[key].samples = append(groups[key].samples, out)
	}
	rows := make([]*row, 0, len(order))
	for _, key := range order {
		if bad := checkLabels(groups[key].labels); bad != nil {
			return nil, bad
		}
		rows = append(rows, groups[key])
	}
	return rows, nil
}

func newRow(p *profilev1.Profile, set labels) *row {
	r := &row{labels: set, time: p.TimeNanos, duration: p.DurationNanos}
	for _, t := range p.SampleType {
		r.types = append(r.types, sampleType{p.StringTable[t.Type], p.StringTable[t.Unit]})
	}
	if p.PeriodType != nil {
		r.period = sampleType{p.StringTable[p.PeriodType.Type], p.StringTable[p.PeriodType.Unit]}
	}
	return r
}

// counts: the server drops samples with a negative value and those that are all zero.
func counts(values []int64) bool {
	some := false
	for _, v := range values {
		if v < 0 {
			return false
		}
		some = some || v > 0
	}
	return some
}

// hexID returns the id in lower case, or "" if it has the wrong length, is not hex or is zero.
func hexID(s string, length int) string {
	if len(s) != length {
		return ""
	}
	raw, err := hex.DecodeString(s)
	if err != nil || strings.Trim(s, "0") == "" {
		return ""
	}
	return hex.EncodeToString(raw)
}

// stacks: a location without lines is not a frame, because addresses are not symbolized here.
func stacks(p *profilev1.Profile) func([]uint64) []string {
	functions := map[uint64]string{}
	for _, f := range p.Function {
		functions[f.Id] = p.StringTable[f.Name]
	}
	lines := map[uint64][]string{} // leaf first
	for _, l := range p.Location {
		for _, line := range l.Line {
			lines[l.Id] = append(lines[l.Id], functions[line.FunctionId])
		}
	}
	return func(locations []uint64) []string {
		var out []string
		for i := len(locations) - 1; i >= 0; i-- {
			names := lines[locations[i]]
			for j := len(names) - 1; j >= 0; j-- {
				out = append(out, names[j])
			}
		}
		return out
	}
}

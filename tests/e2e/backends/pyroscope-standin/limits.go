package main

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
)

// The server's defaults.
const (
	maxLabels          = 30
	maxLabelName       = 1024
	maxLabelValue      = 2048
	maxProfileBytes    = 4 << 20
	maxSamples         = 16000
	maxLabelsPerSample = 100
	maxDepth           = 1000
	rejectOlder        = time.Hour
	rejectNewer        = 10 * time.Minute
)

// refusal is a response that the real server would give; code is connect's.
type refusal struct {
	code   string
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(code, format string, args ...any) *refusal {
	return &refusal{code: code, reason: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *refusal {
	return refuse("invalid_argument", format, args...)
}

// labels is a series' label set, sorted by name.
type label struct{ Name, Value string }
type labels []label

func (l labels) Len() int           { return len(l) }
func (l labels) Less(i, j int) bool { return l[i].Name < l[j].Name }
func (l labels) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

func (l labels) get(name string) string {
	for _, p := range l {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func (l labels) has(name string) bool {
	for _, p := range l {
		if p.Name == name {
			return true
		}
	}
	return false
}

func (l labels) without(name string) labels {
	out := make(labels, 0, len(l))
	for _, p := range l {
		if p.Name != name {
			out = append(out, p)
		}
	}
	return out
}

func (l labels) String() string {
	var b strings.Builder
	for i, p := range l {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "%s=%q", p.Name, p.Value)
	}
	return "{" + b.String() + "}"
}

func (l labels) asMap() map[string]string {
	m := make(map[string]string, len(l))
	for _, p := range l {
		m[p.Name] = p.Value
	}
	return m
}

func checkLabels(l labels) *refusal {
	sort.Stable(l)
	if len(l) > maxLabels {
		return invalid("profile series '%s' has %d label names; limit %d", l, len(l), maxLabels)
	}
	if name := l.get("__name__"); name == "" || !utf8.ValidString(name) {
		return invalid("invalid labels '%s' with error: invalid metric name", l)
	}
	if l.get("service_name") == "" {
		return invalid("invalid labels '%s' with error: service name is not provided", l)
	}
	for i, p := range l {
		switch {
		case len(p.Name) > maxLabelName:
			return invalid("profile with labels '%s' has label name too long: '%s'", l, p.Name)
		case len(p.Value) > maxLabelValue:
			return invalid("profile with labels '%s' has label value too long: '%s'", l, p.Value)
		case p.Name == "" || !utf8.ValidString(p.Name):
			return invalid("invalid labels '%s' with error: invalid label name '%s'", l, p.Name)
		case !utf8.ValidString(p.Value):
			return invalid("invalid labels '%s' with error: invalid label value '%s'", l, p.Value)
		case i > 0 && l[i-1].Name == p.Name:
			return invalid("profile with labels '%s' has duplicate label name: '%s'", l, p.Name)
		}
	}
	return nil
}

// checkProfile refuses what the server's distributor refuses, in the same order.
func checkProfile(p *profilev1.Profile, size int, l labels, now time.Time) *refusal {
	if len(p.SampleType) == 0 {
		return invalid("empty profile")
	}
	if p.TimeNanos > 0 {
		at := time.Unix(0, p.TimeNanos)
		if at.Before(now.Add(-rejectOlder)) || at.After(now.Add(rejectNewer)) {
			return invalid("profile with labels '%s' is outside of ingestion window (%s)", l, at)
		}
	}
	if size > maxProfileBytes {
		return invalid("the profile with labels '%s' exceeds the size limit (%d, limit %d)", l, size,
			maxProfileBytes)
	}
	if len(p.Sample) > maxSamples {
		return invalid("the profile with labels '%s' exceeds the samples count limit (%d, limit %d)",
			l, len(p.Sample), maxSamples)
	}
	for _, s := range p.Sample {
		if len(s.Label) > maxLabelsPerSample {
			return invalid("the profile with labels '%s' exceeds the sample labels limit", l)
		}
		if len(s.LocationId) > maxDepth {
			s.LocationId = s.LocationId[len(s.LocationId)-maxDepth:]
		}
	}
	for _, loc := range p.Location {
		if loc.Id == 0 {
			return invalid("location id is 0")
		}
	}
	for _, f := range p.Function {
		if f.Id == 0 {
			return invalid("function id is 0")
		}
	}
	for _, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return invalid("sample value length mismatch")
		}
	}
	return checkStrings(p)
}

func checkStrings(p *profilev1.Profile) *refusal {
	if len(p.StringTable) == 0 || p.StringTable[0] != "" {
		return invalid("string 0 should be empty string")
	}
	inside := func(indices ...int64) bool {
		for _, i := range indices {
			if i < 0 || i >= int64(len(p.StringTable)) {
				return false
			}
		}
		return true
	}
	for _, t := range p.SampleType {
		if !inside(t.Type, t.Unit) {
			return invalid("sample type type string index out of range")
		}
	}
	for _, s := range p.Sample {
		for _, l := range s.Label {
			if !inside(l.Key, l.Str) {
				return invalid("sample label string index out of range")
			}
		}
	}
	for _, f := range p.Function {
		if !inside(f.Name, f.SystemName, f.Filename) {
			return invalid("function name string index out of range")
		}
	}
	for _, m := range p.Mapping {
		if !inside(m.Filename, m.BuildId) {
			return invalid("mapping file name string index out of range")
		}
	}
	if p.PeriodType != nil && !inside(p.PeriodType.Type, p.PeriodType.Unit) {
		return invalid("period type string index out of range")
	}
	for _, t := range p.SampleType {
		if strings.Contains(p.StringTable[t.Type], "-") {
			return invalid("sample type contains -")
		}
	}
	for _, s := range p.StringTable {
		if !utf8.ValidString(s) {
			return invalid("invalid utf8 string hex: %x", s)
		}
	}
	return nil
}

// bucket is the tenant's rate limit: a request above the burst never passes.
type bucket struct {
	mu          sync.Mutex
	rate, burst float64
	tokens      float64
	last        time.Time
}

func newBucket(rate, burst float64) *bucket {
	return &bucket{rate: rate, burst: burst, tokens: burst, last: time.Now()}
}

func (b *bucket) allow(n int) *refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens = math.Min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	if float64(n) > b.tokens {
		return refuse("resource_exhausted", "push rate limit (%.1f MiB) exceeded while adding %d bytes",
			b.rate/(1<<20), n)
	}
	b.tokens -= float64(n)
	return nil
}

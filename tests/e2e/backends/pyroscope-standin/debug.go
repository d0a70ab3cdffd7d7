package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// faults makes the intake fail on request: POST /debug/fault with
// {"status":503,"count":N} answers the next N requests (all if N < 0) with that status,
// {"stall_ms":T,"count":N} delays them first; {} ends it. GET returns how many are left.
type faults struct {
	mu     sync.Mutex
	Status int `json:"status"`
	Stall  int `json:"stall_ms"`
	Count  int `json:"count"`
	Failed int `json:"failed"`
}

func (f *faults) control(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		f.Status, f.Stall, f.Count = 0, 0, 0
		if err := json.NewDecoder(r.Body).Decode(f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	_ = json.NewEncoder(w).Encode(f)
}

func (f *faults) take() (status, stall int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Count == 0 {
		return 0, 0
	}
	if f.Count > 0 {
		f.Count--
	}
	if f.Status != 0 {
		f.Failed++
	}
	return f.Status, f.Stall
}

func (f *faults) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, stall := f.take()
		if stall > 0 {
			select {
			case <-time.After(time.Duration(stall) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		if status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"code": "unavailable",
				"message": "fault asked for by a test"})
			return
		}
		h.ServeHTTP(w, r)
	})
}

type profileView struct {
	Via        string                      `json:"via"`
	Labels     map[string]string           `json:"labels"`
	Time       int64                       `json:"time_nanos"`
	Duration   int64                       `json:"duration_nanos"`
	Types      []sampleType                `json:"sample_types"`
	Period     sampleType                  `json:"period_type"`
	Sums       map[string]int64            `json:"sums"`
	Samples    int                         `json:"samples"`
	Spans      map[string]map[string]int64 `json:"spans"`
	Config     string                      `json:"sample_type_config,omitempty"`
	PprofCheck string                      `json:"pprof_check,omitempty"`
	Duplicate  bool                        `json:"duplicate"`
}

func view(r *row) profileView {
	v := profileView{Via: r.via, Labels: r.labels.asMap(), Time: r.time, Duration: r.duration,
		Types: r.types, Period: r.period, Samples: len(r.samples), Config: r.config,
		PprofCheck: r.pprofCheck, Duplicate: r.duplicate,
		Sums: map[string]int64{}, Spans: map[string]map[string]int64{}}
	for _, s := range r.samples {
		for i, t := range r.types {
			name := t.Type + ":" + t.Unit
			v.Sums[name] += s.values[i]
			if s.span == "" {
				continue
			}
			if v.Spans[s.span] == nil {
				v.Spans[s.span] = map[string]int64{}
			}
			v.Spans[s.span][name] += s.values[i]
		}
	}
	return v
}

// debugProfiles returns everything that a test may need. ?service= selects one service's profiles.
func (s *server) debugProfiles(w http.ResponseWriter, r *http.Request) {
	service := r.URL.Query().Get("service")
	profiles := []profileView{}
	for _, row := range s.store.snapshot() {
		if service == "" || row.labels.get("service_name") == service {
			profiles = append(profiles, view(row))
		}
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"profiles": profiles,
		"refused": append([]refused{}, s.store.refused...),
		"opaque":  append([]opaque{}, s.store.opaque...)})
}

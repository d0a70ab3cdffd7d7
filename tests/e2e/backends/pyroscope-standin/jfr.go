package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	jfr "github.com/grafana/jfr-parser/pprof"
	jfrlabels "github.com/grafana/jfr-parser/pprof/pyroscope"
	"github.com/grafana/pyroscope/api/model/labelset"
)

// ingestJFR converts a Java Flight Recorder file with the server's own parser.
func (s *server) ingestJFR(r *http.Request, name *labelset.LabelSet, body []byte) error {
	q := r.URL.Query()
	names := new(jfr.LabelsSnapshot)
	if content := r.Header.Get("Content-Type"); strings.Contains(content, "multipart/form-data") {
		parts, err := readParts(content, body)
		if err != nil {
			return err
		}
		if body, err = inflate(parts["jfr"]); err != nil {
			return err
		}
		snapshot, err := inflate(parts["labels"])
		if err != nil {
			return err
		}
		if err := names.UnmarshalVT(snapshot); err != nil {
			return err
		}
	}
	rate, err := strconv.ParseInt(q.Get("sampleRate"), 10, 64)
	if err != nil {
		rate = 100
	}
	parsed, err := jfr.ParseJFR(body, &jfr.ParseInput{StartTime: parseTime(q.Get("from")),
		EndTime: parseTime(q.Get("until")), SampleRate: rate}, names)
	if err != nil {
		return err
	}
	for _, p := range parsed.Profiles {
		var set labels
		for _, l := range jfrlabels.Labels(name.Labels(), parsed.JFREvent, p.Metric,
			name.ServiceName(), q.Get("spyName")) {
			set = append(set, label{l.Name, l.Value})
		}
		if err := s.accept("ingest", p.Profile, set, "", ""); err != nil {
			return err
		}
	}
	return nil
}

func inflate(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

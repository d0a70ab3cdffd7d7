package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// querier answers Grafana's queries for a span; all other methods are unimplemented.
type querier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	store *store
}

var matcherSyntax = regexp.MustCompile(`^\s*([\w.]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*,?`)

// parseSelector turns {a="b",c=~"d"} into a predicate.
func parseSelector(text string) (func(labels) bool, error) {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, fmt.Errorf("parse error in label selector %q", text)
	}
	text = text[1 : len(text)-1]
	var all []func(labels) bool
	for strings.TrimSpace(text) != "" {
		m := matcherSyntax.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("parse error in label selector at %q", text)
		}
		name, op, value := m[1], m[2], strings.ReplaceAll(m[3], `\`, ``)
		match := func(v string) bool { return v == value }
		if strings.HasSuffix(op, "~") {
			re, err := regexp.Compile("^(?:" + m[3] + ")$")
			if err != nil {
				return nil, err
			}
			match = re.MatchString
		}
		want := op[0] == '='
		all = append(all, func(l labels) bool { return match(l.get(name)) == want })
		text = text[len(m[0]):]
	}
	return func(l labels) bool {
		for _, f := range all {
			if !f(l) {
				return false
			}
		}
		return true
	}, nil
}

func argument(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

type selection struct {
	typeID, selector string
	start, end       int64
	spans, traces    []string
}

func idSet(ids []string, length int, what string) (map[string]bool, error) {
	set := map[string]bool{}
	for _, id := range ids {
		if len(id) != length {
			return nil, connect.NewError(connect.CodeUnknown,
				fmt.Errorf("invalid %s id length: %q", what, id))
		}
		if hexID(id, length) == "" && strings.Trim(id, "0") != "" {
			return nil, connect.NewError(connect.CodeUnknown, fmt.Errorf("invalid %s id", what))
		}
		set[strings.ToLower(id)] = true
	}
	return set, nil
}

// merge adds all selected samples to one tree.
func (q *querier) merge(sel selection) (*node, error) {
	if n := len(strings.Split(sel.typeID, ":")); n != 5 && n != 6 {
		return nil, argument("profile-type selection must be of the form "+
			"<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>, got %q", sel.typeID)
	}
	if sel.selector == "" {
		return nil, argument("label selector is required")
	}
	if sel.start == 0 || sel.end == 0 || sel.start > sel.end {
		return nil, argument("missing or invalid time range in the query")
	}
	matches, err := parseSelector(sel.selector)
	if err != nil {
		return nil, argument("%s", err)
	}
	spans, err := idSet(sel.spans, 16, "span")
	if err != nil {
		return nil, err
	}
	traces, err := idSet(sel.traces, 32, "trace")
	if err != nil {
		return nil, err
	}
	root := &node{name: "total"}
	for _, r := range q.store.snapshot() {
		ms := r.time / 1e6
		if r.duplicate || ms < sel.start || ms > sel.end || !matches(r.labels) {
			continue
		}
		for i := range r.types {
			if r.typeID(i) != sel.typeID {
				continue
			}
			for _, s := range r.samples {
				// Samples without frames are not in the flame graph, not even in its total.
				if len(s.stack) > 0 && (len(spans) == 0 || spans[s.span]) &&
					(len(traces) == 0 || traces[s.trace]) {
					root.add(s.stack, s.values[i])
				}
			}
		}
	}
	return root, nil
}

func (q *querier) SelectMergeSpanProfile(_ context.Context,
	req *connect.Request[querierv1.SelectMergeSpanProfileRequest]) (
	*connect.Response[querierv1.SelectMergeSpanProfileResponse], error) {
	m := req.Msg
	if m.Format > querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("flame graphs only"))
	}
	root, err := q.merge(selection{m.ProfileTypeID, m.LabelSelector, m.Start, m.End,
		m.SpanSelector, nil})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&querierv1.SelectMergeSpanProfileResponse{
		Flamegraph: root.flamegraph()}), nil
}

func (q *querier) SelectMergeStacktraces(_ context.Context,
	req *connect.Request[querierv1.SelectMergeStacktracesRequest]) (
	*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	m := req.Msg
	if m.Format > querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("flame graphs only"))
	}
	if len(m.SpanSelector) > 0 && len(m.TraceIdSelector) > 0 {
		return nil, argument("span selector and trace id selector are mutually exclusive")
	}
	root, err := q.merge(selection{m.ProfileTypeID, m.LabelSelector, m.Start, m.End,
		m.SpanSelector, m.TraceIdSelector})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&querierv1.SelectMergeStacktracesResponse{
		Flamegraph: root.flamegraph()}), nil
}

func (q *querier) LabelNames(_ context.Context, req *connect.Request[typesv1.LabelNamesRequest]) (
	*connect.Response[typesv1.LabelNamesResponse], error) {
	var all []func(labels) bool
	for _, m := range req.Msg.Matchers {
		f, err := parseSelector(m)
		if err != nil {
			return nil, argument("%s", err)
		}
		all = append(all, f)
	}
	names := map[string]bool{}
	for _, r := range q.store.snapshot() {
		wanted := len(all) == 0
		for _, f := range all {
			wanted = wanted || f(r.labels)
		}
		for _, l := range r.labels {
			if wanted {
				names[l.Name] = true
			}
		}
	}
	return connect.NewResponse(&typesv1.LabelNamesResponse{Names: sorted(names)}), nil
}

func (q *querier) ProfileTypes(_ context.Context,
	_ *connect.Request[querierv1.ProfileTypesRequest]) (
	*connect.Response[querierv1.ProfileTypesResponse], error) {
	ids := map[string]bool{}
	for _, r := range q.store.snapshot() {
		for i := range r.types {
			ids[r.typeID(i)] = true
		}
	}
	out := &querierv1.ProfileTypesResponse{}
	for _, id := range sorted(ids) {
		f := strings.Split(id, ":")
		out.ProfileTypes = append(out.ProfileTypes, &typesv1.ProfileType{ID: id, Name: f[0],
			SampleType: f[1], SampleUnit: f[2], PeriodType: f[3], PeriodUnit: f[4]})
	}
	return connect.NewResponse(out), nil
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// node is a frame in the merged tree.
type node struct {
	name        string
	total, self int64
	children    map[string]*node
}

func (n *node) add(stack []string, value int64) {
	n.total += value
	if len(stack) == 0 {
		n.self += value
		return
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	child := n.children[stack[0]]
	if child == nil {
		child = &node{name: stack[0]}
		n.children[stack[0]] = child
	}
	child.add(stack[1:], value)
}

// flamegraph lays the tree out level by level, with four numbers per frame: the distance from the
// end of the frame to its left, total, self and the index of its name.
func (n *node) flamegraph() *querierv1.FlameGraph {
	out := &querierv1.FlameGraph{Total: n.total}
	index := map[string]int64{}
	type placed struct {
		*node
		x int64
	}
	for level := []placed{{n, 0}}; len(level) > 0; {
		var next []placed
		line := &querierv1.Level{}
		end := int64(0)
		for _, p := range level {
			if _, ok := index[p.name]; !ok {
				index[p.name] = int64(len(out.Names))
				out.Names = append(out.Names, p.name)
			}
			line.Values = append(line.Values, p.x-end, p.total, p.self, index[p.name])
			end = p.x + p.total
			out.MaxSelf = max(out.MaxSelf, p.self)
			names := map[string]bool{}
			for name := range p.children {
				names[name] = true
			}
			x := p.x + p.self
			for _, name := range sorted(names) {
				next = append(next, placed{p.children[name], x})
				x += p.children[name].total
			}
		}
		out.Levels = append(out.Levels, line)
		level = next
	}
	return out
}

// Reads PromQL expressions, one per line, and answers each with a line of JSON: the metrics that it
// selects, or why it is invalid or cannot be evaluated. It is evaluated over ten scrapes, a minute
// apart, of the page in the file that the first argument names.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

type answer struct {
	Metrics []string `json:"metrics"`
	Error   string   `json:"error,omitempty"`
}

func read(text string) answer {
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := answer{Metrics: []string{}}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			found.Metrics = append(found.Metrics, selector.Name)
		}
		return nil
	})
	return found
}

// Appends the page as ten scrapes of one instance.
func scrape(db *tsdb.DB, page []byte, now time.Time) error {
	appender := db.Appender(context.Background())
	for minute := -9; minute <= 0; minute++ {
		parse, err := textparse.New(page, "text/plain", "", false, false, false,
			labels.NewSymbolTable())
		if parse == nil {
			return err
		}
		at := now.Add(time.Duration(minute) * time.Minute).UnixMilli()
		for {
			entry, err := parse.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if entry != textparse.EntrySeries {
				continue
			}
			var series labels.Labels
			parse.Labels(&series)
			_, _, value := parse.Series()
			series = labels.NewBuilder(series).Set("instance", "a:8888").Labels()
			if _, err := appender.Append(0, series, at, value); err != nil {
				return err
			}
		}
	}
	return appender.Commit()
}

func run(path string) error {
	folder, err := os.MkdirTemp("", "promql")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	db, err := tsdb.Open(folder, slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer db.Close()
	now := time.Now()
	if err := scrape(db, page, now); err != nil {
		return err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 20, Timeout: time.Minute})
	lines, answers := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		found := read(lines.Text())
		if found.Error == "" {
			query, err := engine.NewInstantQuery(context.Background(), db, nil, lines.Text(), now)
			if err == nil {
				err = query.Exec(context.Background()).Err
			}
			if err != nil {
				found.Error = err.Error()
			}
		}
		_ = answers.Encode(found)
	}
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Reads expressions of PromQL, one a line, and answers each with a line of JSON: the metrics that
// it asks for, or why it is none.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
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

func main() {
	lines := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		_ = answers.Encode(read(lines.Text()))
	}
}

// Command upstream-allocator answers claims with the allocator that kube-scheduler uses.
//
// JSON objects with slices, classes, claims and nodes come in; for each, one line goes out that says
// which devices the released library k8s.io/dynamic-resource-allocation/structured chose and how long
// it took. It decides nothing itself and changes nothing. README.md has the fields.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/dynamic-resource-allocation/structured"
)

const wrongInput = 2

// allocators are the variants of the library's search that may answer. The third, "stable", is left out:
// a cluster of this release does not use it, because consumable capacity is on there, and it visits
// slices in whatever order they come.
var allocators = []string{"incubating", "experimental"}

func main() {
	limit := flag.Duration("limit", time.Minute, "cut an input off after this time")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: %s [-limit 60s] [FILE]\n", os.Args[0])
		fmt.Fprintln(flag.CommandLine.Output(), "JSON objects, one after the other, from FILE or standard input.")
		flag.PrintDefaults()
	}
	flag.Parse()
	structured.EnableAllocators(allocators...)
	if err := run(flag.Args(), *limit); err != nil {
		fmt.Fprintf(os.Stderr, "upstream-allocator: %v\n", err)
		os.Exit(wrongInput)
	}
}

func run(arguments []string, limit time.Duration) error {
	source := io.Reader(os.Stdin)
	switch {
	case len(arguments) > 1:
		return fmt.Errorf("takes one file, not %d", len(arguments))
	case len(arguments) == 1 && arguments[0] != "-":
		file, err := os.Open(arguments[0])
		if err != nil {
			return err
		}
		defer file.Close()
		source = file
	}
	return answerAll(source, os.Stdout, limit)
}

// answerAll writes one line per object that it reads, as soon as it is known.
func answerAll(source io.Reader, sink io.Writer, limit time.Duration) error {
	decoder := json.NewDecoder(bufio.NewReader(source))
	encoder := json.NewEncoder(sink)
	encoder.SetEscapeHTML(false)
	for number := 1; ; number++ {
		var fields map[string]json.RawMessage
		if err := decoder.Decode(&fields); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("input %d: %w", number, err)
		}
		question, err := decode(fields)
		if err != nil {
			return fmt.Errorf("input %d: %w", number, err)
		}
		if err := encoder.Encode(question.answer(limit)); err != nil {
			return err
		}
	}
}

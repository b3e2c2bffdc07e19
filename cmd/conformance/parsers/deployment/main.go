// Command deployment reads a file of `gateway print kubernetes` strictly with the
// types of Kubernetes and prints its Deployment as JSON, for tests without a parser
// of YAML.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	apps "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: deployment FILE")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// convert writes the first Deployment of the file.
func convert(file string, out io.Writer) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		if !bytes.Contains(document, []byte("\nkind: Deployment\n")) {
			continue
		}
		var deployment apps.Deployment
		if err := yaml.UnmarshalStrict(document, &deployment); err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(deployment)
	}
	return errors.New("no Deployment")
}

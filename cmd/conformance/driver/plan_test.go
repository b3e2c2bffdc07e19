//go:build conformance

package driver

import (
	"fmt"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// call is a planned tool call.
type call struct {
	name      string
	arguments []byte
	headers   upstream.ParamHeaders
}

func (c *call) params() []byte {
	out := rawjson.AppendString([]byte(`{"name":`), c.name)
	return append(append(append(out, `,"arguments":`...), orEmpty(c.arguments)...), '}')
}

// The scenario that tests whether a tool's schema is preserved, and its two tools.
const (
	schemaScenario = "json-schema-2020-12-preservation"
	schemaTool     = "json_schema_2020_12_tool"
	schemaEcho     = "json_schema_echo"
)

// plan returns the tool calls of a job: those that its context prescribes, or else
// one call of each tool.
func plan(job Job, tools [][]byte) ([]call, error) {
	listed := make(map[string]*rawjson.Object, len(tools))
	var each []call
	for _, raw := range tools {
		tool, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return nil, fmt.Errorf("invalid tool: %w", err)
		}
		headers, err := upstream.ParseParamHeaders(raw)
		if err != nil {
			return nil, fmt.Errorf("upstream client listed a tool with invalid header annotations: %w", err)
		}
		name, _ := tool.String("name")
		listed[name] = tool
		each = append(each, call{name: name, arguments: sampleObject(tool.Object("inputSchema")), headers: headers})
	}
	prescribed, err := parseContext(job.Context)
	if err != nil {
		return nil, err
	}
	if job.Scenario == schemaScenario {
		schema := listed[schemaTool].Get("inputSchema")
		prescribed = append(prescribed, call{name: schemaEcho, arguments: append(append([]byte(`{"schema":`), orEmpty(schema)...), '}')})
	}
	if prescribed == nil {
		return each, nil
	}
	for i := range prescribed {
		for _, c := range each {
			if c.name == prescribed[i].name {
				prescribed[i].headers = c.headers
			}
		}
	}
	return prescribed, nil
}

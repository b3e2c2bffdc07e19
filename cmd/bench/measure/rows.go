package measure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The vocabulary of generated rows. The lengths have no common divisor, so that
// every combination of words occurs.
var (
	subjects = strings.Fields("orders invoices tickets builds deployments metrics alerts calendars contacts documents payments shipments")
	systems  = strings.Fields("postgres kafka redis github salesforce stripe slack kubernetes snowflake jira notion")
	verbs    = strings.Fields("searches reads writes summarizes watches exports reviews")
	labels   = strings.Fields("database messaging finance monitoring crm storage devops analytics security search ai docs testing")
)

// row is a row of a catalog file in the gateway's own format.
type row struct {
	PublisherName string   `json:"publisherName"`
	ServerName    string   `json:"serverName"`
	ServerTitle   string   `json:"serverTitle"`
	ServerType    string   `json:"serverType"`
	Description   string   `json:"description"`
	RemoteURL     string   `json:"remoteUrl"`
	Tags          []string `json:"tags"`
	ToolNames     []string `json:"toolNames"`
	Verified      bool     `json:"verified"`
}

func rowOf(i int) row {
	subject, system, verb := subjects[i%len(subjects)], systems[i%len(systems)], verbs[i%len(verbs)]
	return row{
		PublisherName: fmt.Sprintf("publisher-%d", i/20),
		ServerName:    fmt.Sprintf("%s-%s-%d", system, subject, i),
		ServerTitle:   fmt.Sprintf("%s%s for %s %d", strings.ToUpper(subject[:1]), subject[1:], system, i),
		ServerType:    "http",
		Description:   fmt.Sprintf("A server that %s %s in %s, number %d of region r%d, for teams that keep them there.", verb, subject, system, i, i%37),
		RemoteURL:     fmt.Sprintf("https://server-%d.example.com/mcp", i),
		Tags:          []string{labels[i%len(labels)], labels[(i/7+3)%len(labels)]},
		ToolNames:     []string{"find_" + subject, "read_" + subject, "update_" + subject},
		Verified:      i%9 == 0,
	}
}

// catalogQueries returns searches by text, phrase and qualifier, with few, some
// and many results.
func catalogQueries() []string {
	return []string{
		"a", "er", "kafka", "database", "payments stripe", "summarizes invoices", `"in postgres"`, "tag:search -docs",
		"publisher:publisher-3", "verified:true alerts", "region r17", "transport:http tag:ai reviews", "",
	}
}

// WriteCatalog writes a catalog file with n generated rows. The rows depend only
// on n.
func WriteCatalog(file string, n int) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	if _, err := w.WriteString(`{"version":1,"items":[`); err != nil {
		return err
	}
	for i := range n {
		raw, err := json.Marshal(rowOf(i))
		if err != nil {
			return err
		}
		if i > 0 {
			raw = append([]byte(",\n"), raw...)
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	if _, err := w.WriteString("]}\n"); err != nil {
		return err
	}
	return w.Flush()
}

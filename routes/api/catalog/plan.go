package catalog

import "mcpgateway/services/catalog/importer"

// planRecord is the result of a sync or of its preview.
type planRecord struct {
	DryRun    bool           `json:"dryRun"`
	Held      bool           `json:"held"`
	Unchanged int            `json:"unchanged"`
	Had       int            `json:"had"`
	Fetched   int            `json:"fetched"`
	Added     int            `json:"added"`
	Updated   int            `json:"updated"`
	Deleted   int            `json:"deleted"`
	Locked    int            `json:"locked"`
	Taken     int            `json:"taken"`
	Skipped   int            `json:"skipped"`
	Changes   []changeRecord `json:"changes"`
	Warnings  []string       `json:"warnings"`
}

type changeRecord struct {
	Action  importer.Action `json:"action"`
	Kind    string          `json:"kind"` // server or template
	Name    string          `json:"name"`
	Members []memberRecord  `json:"members"`
}

type memberRecord struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

func planOf(p importer.Plan) planRecord {
	r := planRecord{
		DryRun: p.DryRun, Held: p.Held, Unchanged: p.Unchanged, Had: p.Had, Fetched: p.Fetched, Added: p.Added, Updated: p.Updated, Deleted: p.Deleted,
		Locked: p.Locked, Taken: p.Conflicts, Skipped: p.Skipped, Changes: make([]changeRecord, len(p.Changes)), Warnings: append([]string{}, p.Warnings...),
	}
	for i, change := range p.Changes {
		one := changeRecord{Action: change.Action, Kind: "server", Name: change.Name, Members: []memberRecord{}}
		if change.Template {
			one.Kind = "template"
		}
		for _, m := range change.Members {
			one.Members = append(one.Members, memberRecord(m))
		}
		r.Changes[i] = one
	}
	return r
}

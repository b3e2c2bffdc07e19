package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(i int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", i) }

// store adds calls with the numbers from first up to and with last.
func store(t *testing.T, db *gorm.DB, first, last int, with ...func(*models.Call)) *activity.Calls {
	t.Helper()
	var calls []models.Call
	for i := first; i <= last; i++ {
		c := models.Call{
			ID: id(i), At: noon.Add(time.Duration(i) * time.Second), ProjectID: "p", Principal: "key:1", Tool: "up__a", Server: "up", DurationUS: 1500,
			RequestBytes: 10, ResponseBytes: 20, Outcome: models.CallOK, Code: "with, comma \"and quote\"", RequestID: fmt.Sprint("r", i),
		}
		for _, change := range with {
			change(&c)
		}
		calls = append(calls, c)
	}
	if len(calls) > 0 {
		if err := db.CreateInBatches(calls, 200).Error; err != nil {
			t.Fatal(err)
		}
	}
	return activity.NewCalls(db, time.Now, nil)
}

type file interface {
	Next(ctx context.Context) ([]byte, error)
}

// parts returns the parts of a file.
func parts(t *testing.T, f file) []string {
	t.Helper()
	var all []string
	for {
		part, err := f.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(part))
	}
}

func slug(id string) string { return "slug-of-" + id }

// rows returns the rows of a CSV file, whose lines all have as many cells.
func rows(t *testing.T, text string) [][]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return all
}

// TestCallFiles exports a page less one, a page, and one row more.
func TestCallFiles(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		stored := 0
		for _, n := range []int{export.PageSize - 1, export.PageSize, export.PageSize + 1} {
			log := store(t, db, stored+1, n)
			stored = n
			texts := parts(t, export.Calls(log, activity.CallFilter{ProjectID: "p"}, slug, export.CSV, ""))
			all := rows(t, strings.Join(texts, ""))
			if len(all) != n+2 || len(texts) != n/export.PageSize+1 {
				t.Fatalf("%d rows in %d parts, want %d", len(all), len(texts), n+2)
			}
			first := []string{"2026-03-01T12:00:01Z", "slug-of-p", "key:1", "up__a", "up", "1.500", "10", "20", "ok", "with, comma \"and quote\"", "r1", id(1)}
			last := []string{"# complete", fmt.Sprint(n), id(n), "", "", "", "", "", "", "", "", ""}
			if diff := cmp.Diff([][]string{first, last}, [][]string{all[1], all[n+1]}); diff != "" {
				t.Errorf("first and last row (-want +got):\n%s", diff)
			}
			lines := strings.SplitAfter(strings.Join(parts(t, export.Calls(log, activity.CallFilter{}, slug, export.JSONL, "")), ""), "\n")
			end := fmt.Sprintf(`{"complete":true,"rows":%d,"last":%q}`+"\n", n, id(n))
			var record export.CallRecord
			if err := json.Unmarshal([]byte(lines[0]), &record); err != nil || record.ID != id(1) || record.DurationMS != 1.5 || len(lines) != n+2 || lines[n] != end {
				t.Errorf("%d lines, first %+v, last %s, %v", len(lines), record, lines[n], err)
			}
		}
	})
}

// TestCallFilesResume cuts a file within its second page. The rest continues it
// without a gap or a repetition, also with calls that arrived since.
func TestCallFilesResume(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		log := store(t, db, 1, 2*export.PageSize+1)
		for _, format := range []export.Format{export.CSV, export.JSONL} {
			whole := strings.SplitAfter(strings.Join(parts(t, export.Calls(log, activity.CallFilter{}, slug, format, "")), ""), "\n")
			begun := export.Calls(log, activity.CallFilter{}, slug, format, "")
			var cut bytes.Buffer
			for range 2 {
				part, err := begun.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				cut.Write(part)
			}
			if strings.Contains(cut.String(), "complete") {
				t.Errorf("%s: a cut file has the last line", format)
			}
			head := map[export.Format]int{export.CSV: 1}[format]
			const n = export.PageSize + 7
			rest := strings.SplitAfter(strings.Join(parts(t, export.Calls(log, activity.CallFilter{}, slug, format, id(n))), ""), "\n")
			if diff := cmp.Diff(whole[head+n:len(whole)-2], rest[head:len(rest)-2]); diff != "" {
				t.Errorf("%s: rest (-want +got):\n%.2000s", format, diff)
			}
			if last := rest[len(rest)-2]; !strings.Contains(last, fmt.Sprint(export.PageSize-6)) || !strings.Contains(last, id(2*export.PageSize+1)) {
				t.Errorf("%s: last line %s", format, last)
			}
		}
		end := 2*export.PageSize + 1
		if got, want := parts(t, export.Calls(log, activity.CallFilter{}, slug, export.JSONL, id(end))), fmt.Sprintf(`{"complete":true,"rows":0,"last":%q}`+"\n", id(end)); len(got) != 1 || got[0] != want {
			t.Errorf("nothing new: %q, want %q", got, want)
		}
		begun := export.Calls(log, activity.CallFilter{}, slug, export.JSONL, id(export.PageSize))
		if _, err := begun.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		store(t, db, end+1, end+2)
		if got := strings.Join(parts(t, begun), ""); strings.Contains(got, id(end+1)) || !strings.Contains(got, `"rows":1001`) {
			t.Errorf("file with later calls: %s", got)
		}
		if got := strings.Join(parts(t, export.Calls(log, activity.CallFilter{}, slug, export.JSONL, id(end))), ""); !strings.Contains(got, id(end+1)) || !strings.Contains(got, `"rows":2`) {
			t.Errorf("later calls: %s", got)
		}
	})
}

func TestCallFilesFilter(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		log := store(t, db, 1, 2)
		store(t, db, 3, 3, func(c *models.Call) { c.ProjectID, c.Outcome = "q", models.CallFailed })
		for want, f := range map[string]activity.CallFilter{
			"1 2 ": {ProjectID: "p"}, "3 ": {Outcome: models.CallFailed}, "": {Projects: []string{}}, "3": {Projects: []string{"q"}}, "1": {Until: noon.Add(2 * time.Second)},
		} {
			got := ""
			for _, row := range rows(t, strings.Join(parts(t, export.Calls(log, f, slug, export.CSV, "")), ""))[1:] {
				got += strings.TrimPrefix(row[10], "r") + " "
			}
			if strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("%+v: calls %q, want %q", f, got, want)
			}
		}
		columns := "at,projectSlug,principal,tool,server,durationMs,requestBytes,responseBytes,outcome,code,requestId,id\r\n"
		if got := strings.Join(parts(t, export.Calls(log, activity.CallFilter{ProjectID: "x"}, slug, export.CSV, "")), ""); got != columns+"# complete,0,,,,,,,,,,\r\n" {
			t.Errorf("file without calls: %q", got)
		}
		if _, err := export.Calls(log, activity.CallFilter{Tool: "\xff"}, slug, export.CSV, "").Next(t.Context()); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("invalid filter: %v", err)
		}
	})
}

func TestAuditFiles(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		log, stored := activity.NewAudit(db, func() time.Time { return noon }), 0
		for _, n := range []int{export.PageSize - 1, export.PageSize, export.PageSize + 1} {
			entries := make([]activity.Entry, n-stored)
			for i := range entries {
				entries[i] = activity.Entry{Action: "key.created", Object: "=1+1", Project: "work", Detail: map[string]string{"a": "<b>"}}
			}
			if err := db.Transaction(func(tx *gorm.DB) error { return log.RecordAll(tx, entries) }); err != nil {
				t.Fatal(err)
			}
			stored = n
			all := rows(t, strings.Join(parts(t, export.Audit(log, activity.Filter{}, export.CSV, 0)), ""))
			if len(all) != n+2 || all[n][0] != fmt.Sprint(n) || all[n][8] != "'=1+1" || strings.Join(all[n+1], ",") != fmt.Sprintf("# complete,%d,%d,,,,,,,,,", n, n) {
				t.Fatalf("%d rows, the last %q %q", len(all), all[len(all)-2], all[len(all)-1])
			}
			lines := strings.Split(strings.Join(parts(t, export.Audit(log, activity.Filter{Action: "key"}, export.JSONL, 5)), ""), "\n")
			if len(lines) != n-5+2 || !strings.HasPrefix(lines[0], `{"seq":6,"at":"2026-03-01T12:00:00Z"`) || !strings.Contains(lines[0], `"detail":{"a":"<b>"}`) || lines[n-5] != fmt.Sprintf(`{"complete":true,"rows":%d,"last":%d}`, n-5, n) {
				t.Errorf("%d lines, %s … %s", len(lines), lines[0], lines[len(lines)-2])
			}
		}
		if got := strings.Join(parts(t, export.Audit(log, activity.Filter{Project: "other"}, export.JSONL, 0)), ""); got != `{"complete":true,"rows":0,"last":0}`+"\n" {
			t.Errorf("file without rows: %s", got)
		}
	})
}

func TestFormulasAreEscaped(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	i := 0
	for cell, want := range map[string]string{
		`=HYPERLINK("x")`: `'=HYPERLINK("x")`, "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'=1", "＝1": "'＝1",
		"a=1": "a=1", "1": "1",
	} {
		i++
		log := store(t, db, i, i, func(c *models.Call) { c.Tool = cell })
		all := rows(t, strings.Join(parts(t, export.Calls(log, activity.CallFilter{Tool: cell}, slug, export.CSV, "")), ""))
		if len(all) != 3 || all[1][3] != want {
			t.Errorf("cell %q exported as %q", cell, all)
		}
	}
}

func TestInvalidPositions(t *testing.T) {
	for _, after := range []string{"x", "1", id(1) + "0", "\x00"} {
		if _, err := export.ParseCallPosition(after); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("call %q: %v", after, err)
		}
	}
	for _, after := range []string{"-1", "x", "1.5", "9223372036854775808"} {
		if _, err := export.ParseAuditPosition(after); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("row %q: %v", after, err)
		}
	}
	if got, err := export.ParseCallPosition(strings.ToUpper(id(1))); got != id(1) || err != nil {
		t.Errorf("call %q, %v", got, err)
	}
}

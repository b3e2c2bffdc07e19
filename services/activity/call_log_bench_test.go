package activity_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

// BenchmarkWriteCalls measures the processor time per row of the log, for
// recording and for writing, in batches of a busy gateway, and the duration of
// the writing.
func BenchmarkWriteCalls(b *testing.B) {
	for dialect, dsn := range map[string]func(testing.TB) string{"sqlite": modelstest.SQLite, "postgres": modelstest.Postgres} {
		for _, projects := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", dialect, projects), func(b *testing.B) {
				benchmarkWriteCalls(b, modelstest.Open(b, dsn(b)), projects)
			})
		}
	}
}

func benchmarkWriteCalls(b *testing.B, db *gorm.DB, projects int) {
	c := activity.NewCalls(db, time.Now, slog.New(slog.DiscardHandler))
	ended, cancel := context.WithCancel(b.Context())
	cancel() // Run then writes the queue and returns
	const (
		turn = 1_999 // one more would wake the writer
		rate = 16_000
	)
	var (
		calls                      [turn]models.Call
		rows                       int
		recording, stored, writing time.Duration
	)
	for b.Loop() {
		start := time.Now().Add(-turn * time.Second / rate)
		for i := range calls {
			project := rand.IntN(projects)
			calls[i] = models.Call{
				At: start.Add(time.Duration(i) * time.Second / rate), ProjectID: fmt.Sprintf("01991f9e-7a63-7c3e-9d4f-%012d", project), Principal: fmt.Sprintf("key:01991f9e-7a63-7c3e-9d4f-%012d", project),
				Tool: "up__echo", Server: "up", DurationUS: 1234 + int64(i), RequestBytes: 150, ResponseBytes: 180,
				Outcome: models.CallOK, RequestID: uuid.NewString(),
			}
		}
		began := processorTime(b)
		for i := range calls {
			c.Record(calls[i])
		}
		recorded, clock := processorTime(b), time.Now()
		c.Run(ended)
		stored += processorTime(b) - recorded
		recording += recorded - began
		writing += time.Since(clock)
		rows += turn
	}
	for unit, spent := range map[string]time.Duration{"record-cpu-ns/row": recording, "write-cpu-ns/row": stored, "write-ns/row": writing} {
		b.ReportMetric(float64(spent.Nanoseconds())/float64(rows), unit)
	}
}

// processorTime returns the processor time used by the process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

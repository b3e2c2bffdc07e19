package activity_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

// BenchmarkWriteCalls shows what a row of the log costs, in turns as large as
// those of a busy gateway.
func BenchmarkWriteCalls(b *testing.B) {
	for dialect, dsn := range map[string]func(testing.TB) string{"sqlite": modelstest.SQLite, "postgres": modelstest.Postgres} {
		b.Run(dialect, func(b *testing.B) {
			c := activity.NewCalls(modelstest.Open(b, dsn(b)), time.Now, slog.New(slog.DiscardHandler))
			ended, cancel := context.WithCancel(b.Context())
			cancel() // Run then writes what waits, and ends
			const turn = 5_000
			rows := 0
			for b.Loop() {
				b.StopTimer()
				for i := range turn {
					c.Record(models.Call{
						At: time.Now(), ProjectID: "01991f9e-7a63-7c3e-9d4f-0123456789ab", Principal: "key:01991f9e-7a63-7c3e-9d4f-0123456789ab",
						Tool: "up__echo", Server: "up", DurationUS: 1234, RequestBytes: 150, ResponseBytes: 180,
						Outcome: models.CallOK, RequestID: fmt.Sprintf("01991f9e-7a63-7c3e-9d4f-%012d", i),
					})
				}
				b.StartTimer()
				c.Run(ended)
				rows += turn
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
		})
	}
}

package metrics

import "github.com/prometheus/client_golang/prometheus"

// programs sends the metrics of programs that runners start.
func (c collector) programs(projects []Project, gauge, count func(*prometheus.Desc, float64, ...string)) {
	processes := describe("runner_processes", "Processes of the program.", "project", "server")
	memory := describe("runner_memory_bytes", "Memory of the program's processes.", "project", "server")
	starts := describe("runner_starts_total", "Started processes of the program.", "project", "server")
	exits := describe("runner_exits_total", "Ended processes of the program.", "project", "server")
	took := describe("runner_start_seconds", "Time of the program's last start. Absent before it.", "project", "server")
	stray := describe("runner_stray_lines_total", "Lines of the program's standard output that are not messages.", "project", "server")
	gauge(describe("connector_online", "Connectors that are connected to this replica."), float64(c.options.Connectors()))
	for _, p := range projects {
		for _, s := range p.Servers {
			one := s.Program
			if one == nil {
				continue
			}
			gauge(processes, float64(one.Processes), p.Slug, s.Alias)
			gauge(memory, float64(one.Memory), p.Slug, s.Alias)
			count(starts, float64(one.Starts), p.Slug, s.Alias)
			count(exits, float64(max(0, one.Starts-int64(one.Processes))), p.Slug, s.Alias)
			count(stray, float64(one.StrayLines), p.Slug, s.Alias)
			if one.LastStart > 0 {
				gauge(took, one.LastStart.Seconds(), p.Slug, s.Alias)
			}
		}
	}
}

package tracing

import "testing"

func TestOpenTelemetrySamplers(t *testing.T) {
	for _, tc := range []struct {
		name, argument            string
		own, recorded, unrecorded bool // traces started here, and those whose client records them or not
		refused                   bool
	}{
		{name: "", own: true, recorded: true},
		{name: "parentbased_always_on", own: true, recorded: true},
		{name: "parentbased_always_off", recorded: true},
		{name: "parentbased_traceidratio", argument: "0", recorded: true},
		{name: "parentbased_traceidratio", argument: "1", own: true, recorded: true},
		{name: "parentbased_traceidratio", own: true, recorded: true},
		{name: "always_on", own: true, recorded: true, unrecorded: true},
		{name: "always_off"},
		{name: "traceidratio", argument: "0"},
		{name: "traceidratio", argument: "1.0", own: true, recorded: true, unrecorded: true},
		{name: "always_on", argument: "ignored", own: true, recorded: true, unrecorded: true},
		{name: "traceidratio", argument: "1.1", refused: true},
		{name: "traceidratio", argument: "NaN", refused: true},
		{name: "traceidratio", argument: "many", refused: true},
		{name: "jaeger_remote", refused: true},
	} {
		s, err := NewSampler(tc.name, tc.argument)
		if refused := err != nil; refused != tc.refused {
			t.Errorf("%q with %q: %v", tc.name, tc.argument, err)
			continue
		}
		if own, recorded, unrecorded := s.sample(false, false), s.sample(true, true), s.sample(true, false); own != tc.own || recorded != tc.recorded || unrecorded != tc.unrecorded {
			t.Errorf("%q with %q: %t, %t, %t", tc.name, tc.argument, own, recorded, unrecorded)
		}
	}
	half, err := NewSampler("traceidratio", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 10_000 {
		if half.sample(false, false) {
			n++
		}
	}
	if n < 4000 || n > 6000 {
		t.Errorf("of 10,000 requests %d are recorded", n)
	}
}

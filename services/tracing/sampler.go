package tracing

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Sampler says which requests are recorded.
type Sampler struct {
	ratio       float64 // of the requests that decide for themselves
	parentBased bool    // what a client decided holds
}

// NewSampler returns the sampler of the name and argument that OpenTelemetry's
// variables OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG have; both may be
// empty. It returns an error for others.
func NewSampler(name, argument string) (Sampler, error) {
	ratio := 1.0
	if argument != "" && (name == "traceidratio" || name == "parentbased_traceidratio") {
		var err error
		if ratio, err = strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: use a number from 0 to 1")
		}
	}
	switch name {
	case "", "parentbased_always_on", "parentbased_traceidratio":
		return Sampler{ratio: ratio, parentBased: true}, nil
	case "parentbased_always_off":
		return Sampler{parentBased: true}, nil
	case "always_on", "traceidratio":
		return Sampler{ratio: ratio}, nil
	case "always_off":
		return Sampler{}, nil
	default:
		return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER: use always_on, always_off, traceidratio, or one of these with parentbased_ before it")
	}
}

func (s Sampler) sample(remote, sampled bool) bool {
	if remote && s.parentBased {
		return sampled
	}
	return s.ratio >= 1 || s.ratio > 0 && rand.Float64() < s.ratio
}

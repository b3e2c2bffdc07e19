package tracing

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Sampler decides which requests are recorded.
type Sampler struct {
	ratio       float64 // recorded fraction of traces started here
	parentBased bool    // the client's decision applies
}

// NewSampler returns the sampler for the values of OTEL_TRACES_SAMPLER and
// OTEL_TRACES_SAMPLER_ARG, which can be empty. It returns an error for unknown
// values.
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

//go:build linux && local

package supervise_test

const churns = 1000

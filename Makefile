# Commands for developers and CI. Run `make` to list them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOVULNCHECK := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.4.0
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.4
GOLANGCI := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Starts a temporary PostgreSQL for all test processes of the command after it.
CLUSTER := $(GO) run ./models/modelstest/cluster --

.PHONY: help
help: ## list all targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)$$/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: run
run: ## start the gateway with the demo project
	$(GO) run ./cmd/gateway serve --demo

.PHONY: build
build: ## build bin/gateway like a release: static, trimmed, with its version
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/gateway ./cmd/gateway

# A build contains uncommitted changes, but its version names the commit alone.
.PHONY: release-check
release-check: ## build a release without publishing it, twice, compare both and try the archive of this machine
	.release/check $(GORELEASER)

# For .github/workflows/release.yml, on a tag: IMAGE names the container image
# with its registry, GITHUB_TOKEN may write releases.
.PHONY: release
release:
	awk -v version="$$(git describe --tags --exact-match | sed 's/^v//')" '$$1 == "##" {part = index($$2, "[" version "]")} part && $$1 != "##"' CHANGELOG.md >dist.notes
	[ -s dist.notes ]
	$(GORELEASER) release --clean --release-notes dist.notes

.PHONY: test
test: ## all checks and tests required before a merge
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory fuzz FUZZTIME=3000x FUZZIN='services web'
	@$(MAKE) --no-print-directory matrix
	@$(MAKE) --no-print-directory parsers
	@$(MAKE) --no-print-directory conformance
	@$(MAKE) --no-print-directory browser

.PHONY: deps
deps: ## install missing dependencies of the tests
	@.ci/deps

.PHONY: quick
quick: check-format lint language ## while you work: format, vet, lint, wording, and tests without PostgreSQL, programs and browsers
	$(GO) test -short -timeout 5m -p 4 ./...

.PHONY: check
check: check-format check-generated check-files lint language vuln ## format, generated code, file hygiene, vet, lint, wording, known vulnerabilities

.PHONY: check-format
check-format:
	@unformatted=$$(find . -name '*.go' ! -name '*_templ.go' ! -path './node_modules/*' -print0 | xargs -0 gofmt -l); \
	[ -z "$$unformatted" ] || { echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; } >&2

# Compares contents instead of using git, so that it works with uncommitted
# changes and outside of a repository.
.PHONY: check-generated
check-generated:
	@generated() { find . -name '*_templ.go' ! -path './node_modules/*' -print0 | sort -z | xargs -0r sha256sum; }; \
	before=$$(generated); $(GO) generate ./...; after=$$(generated); \
	[ "$$before" = "$$after" ] || { echo "generated code was outdated and has been updated, commit it:"; \
		diff <(echo "$$before") <(echo "$$after") | awk '/^[<>]/ {print $$3}' | sort -u; exit 1; } >&2

# Files must not contain hosts of package registries: the machine's configuration
# selects them. The brackets prevent a match of this line.
REGISTRY_HOSTS := registry[.]npm|registry[.]yarn|proxy[.]golang|sum[.]golang|(deb|security|ftp)[.]debian|pypi[.]org
.PHONY: check-files
check-files:
	@! grep -nE '"resolved"|://' package-lock.json >&2 || { echo "package-lock.json contains addresses, run make lock" >&2; exit 1; }
	@files() { git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -type f ! -path './node_modules/*' -print0; }; \
	named=$$(files | xargs -0r grep -InE '$(REGISTRY_HOSTS)' || true); \
	[ -z "$$named" ] || { echo "these lines contain a host of a package registry:"; echo "$$named"; exit 1; } >&2

# Skipped without network access to the vulnerability database or to govulncheck.
# Any other error fails.
.PHONY: vuln
vuln: ## known vulnerabilities, if their database is reachable
	@$(GOVULNCHECK) -version >/dev/null 2>&1 || { echo "vuln: skipped, govulncheck can't be built"; exit 0; }; \
	if found=$$($(GOVULNCHECK) ./... 2>&1); then echo "$$found"; \
	elif grep -q '^govulncheck: fetching vulnerabilities:' <<<"$$found"; then echo "vuln: skipped, the vulnerability database is unreachable"; \
	else echo "$$found" >&2; exit 1; fi

.PHONY: lint
lint: ## golangci-lint with go vet, including tests with build tags
	$(GOLANGCI) run

.PHONY: language
language: ## wording: the rules in cmd/checklanguage/rules.txt
	@$(GO) run ./cmd/checklanguage .

.PHONY: generate
generate: ## update generated code
	$(GO) generate ./...

.PHONY: unit
unit: ## all Go tests without the race detector, cached if unchanged
	$(CLUSTER) $(GO) test -timeout 10m ./...

# -count=1 disables the cache, because the end-to-end tests build and start
# programs that the cache doesn't track. SQLite's own code, which is machine-made
# from C, uses neither goroutines nor atomics, and each connection has its own
# memory. The race detector leaves it out, because it would take a third of the
# time; it watches the driver around it. `make lint` has already vetted the tests.
# The first command compiles the programs that tests start: a test waits for linking
# only.
.PHONY: race
race: ## all Go tests with the race detector, including end-to-end tests
	CGO_ENABLED=0 $(GO) build -trimpath ./cmd/gateway ./cmd/mockmcp ./services/sandbox/testdata/worker
	CGO_ENABLED=1 $(CLUSTER) $(GO) test -race -p 3 -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' -vet=off -count=1 -timeout 30m ./...

.PHONY: e2e
e2e: ## end-to-end tests of the binary with real clients and upstream servers
	$(GO) test -count=1 -timeout 10m -v ./cmd/gateway

# Compares screenshots with playwright/screenshots. UPDATE_SCREENSHOTS=1 updates
# them. TRACE=1 stores traces of failed tests in playwright/results.
.PHONY: browser
browser: ## pages of the binary in Chromium: screenshots, accessibility, budgets
	@GO="$(GO)" node_modules/.bin/playwright test --config playwright

.PHONY: chaos-oauth
chaos-oauth: ## OAuth connections, shared and of 200 people, with failing authorization servers and killed processes (4 minutes)
	$(CLUSTER) $(GO) test -tags chaos -count=1 -timeout 10m -run TestChaos -v ./services/oauthclient

# HA_CUT is the time between two cuts of a runner's connections, 5s if it is empty.
.PHONY: ha-test
ha-test: ## two replicas on one PostgreSQL with failures of replicas, an upstream, the database and the network of a runner, and a rollout of the printed Deployment (5 minutes)
	$(GO) test -tags ha -count=1 -timeout 15m -run 'TestReplicas(Connector|OfKubernetesFile)?$$' -v ./cmd/gateway

# For a shorter test, set SOAK_CALLS=300000.
.PHONY: soak
soak: ## a million calls through the binary: memory, goroutines, call log
	$(GO) test -tags soak -count=1 -timeout 60m -run 'TestSoak$$' -v ./cmd/gateway

.PHONY: chaos-test
chaos-test: ## calls to four upstream servers while six others fail, and startup with 100 failing servers (2 minutes)
	$(GO) test -tags chaos -count=1 -timeout 15m -run TestChaos -v ./cmd/gateway

.PHONY: flood-test
flood-test: ## 1,000 incomplete bodies, 60 clients that don't read, and three batches of large results, with 1,024 file descriptors (2 minutes)
	$(GO) test -tags flood -count=1 -timeout 10m -run 'TestFlood$$' -v ./cmd/gateway

.PHONY: local-test
local-test: ## local servers: killed processes, 1,000 starts, floods and a start of 90 seconds, with figures (9 minutes)
	$(GO) test -tags local -count=1 -timeout 20m -run 'TestLocal(Kills|Starts|Floods|SlowStart)$$' -v ./cmd/gateway

# SETS selects sets of the suites, for example SETS='client.*', and leaves out the
# SDKs. FLAGS=-artifacts retains the suites' output.
SETS ?= .
.PHONY: conformance
conformance: ## official MCP suites, clients and servers of other SDKs, and the official registry's schema, against the gateway
	@$(MAKE) --no-print-directory deps
	[ '$(SETS)' != . ] || $(GO) test -tags conformance -count=1 -timeout 10m ./cmd/conformance/extensions
	$(GO) test -tags conformance -count=1 ./cmd/conformance/registry
	$(GO) test -tags conformance -count=1 ./cmd/conformance/driver
	$(GO) test -tags conformance -count=1 -timeout 30m $(FLAGS) ./cmd/conformance/suite -v -run '/$(SETS)'

.PHONY: matrix
matrix: ## every client revision with every upstream revision through the gateway
	$(GO) test -tags conformance -count=1 ./cmd/conformance/matrix

# A separate module, so that the gateway's module doesn't have these parsers.
.PHONY: parsers
parsers: ## the output of gateway print in the parsers of Kubernetes, Compose, Prometheus and systemd
	cd cmd/conformance/parsers && $(GO) test -count=1 -timeout 15m .

# Each target runs for FUZZTIME, which `make test` replaces by a number of inputs. It also leaves out
# routes, whose instrumented build takes longer than all targets. Failing inputs are
# stored as seeds in the package's testdata/fuzz, which the unit tests run too.
FUZZTIME ?= 60s
FUZZPARALLEL ?= 2
FUZZIN ?= .
.PHONY: fuzz
fuzz: ## all fuzz targets in sequence, one minute each
	@grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=node_modules $(FUZZIN) | sort | while read -r file; do \
		sed -nE 's/^func (Fuzz[A-Za-z]+).*/\1/p' "$$file" | while read -r target; do \
			echo "$$target in $$(dirname "$$file")"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -parallel $(FUZZPARALLEL) "./$$(dirname "$$file")" || exit 1; \
		done || exit 1; \
	done

# Needs an otherwise idle machine. FLAGS are passed to the program, for example
# FLAGS='-rounds 1 -d 300ms'.
.PHONY: bench
bench: build ## measure performance and scaling, and write the tables into views/docs/performance.md (20 minutes)
	$(GO) build -o bin/bench ./cmd/bench
	bin/bench report -gateway bin/gateway -into views/docs/performance.md $(FLAGS)

.PHONY: many
many: build ## measure thousands of projects, servers, keys, people and connections on PostgreSQL (10 minutes)
	$(GO) build -o bin/bench ./cmd/bench
	bin/bench many -gateway bin/gateway -into views/docs/performance.md $(FLAGS)

# BENCH selects benchmarks. COUNT is the number of runs of each.
BENCH ?= .
COUNT ?= 6
.PHONY: bench-go
bench-go: ## Go benchmarks, in the format of benchstat
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 2h ./...

# The labeled sets are not in this repository.
SEARCH_EVAL ?=
.PHONY: search-eval
search-eval: ## evaluate tool search on the labeled sets in SEARCH_EVAL
	@[ -d "$(SEARCH_EVAL)" ] || { echo "set SEARCH_EVAL to the folder of the labeled sets" >&2; exit 1; }
	$(GO) test -count=1 ./services/toolsearch -run TestEval -v -eval "$(abspath $(SEARCH_EVAL))"

.PHONY: lock
lock: ## update package-lock.json from package.json, without addresses
	npm install --package-lock-only
	@node -e 'const fs = require("fs"), lock = JSON.parse(fs.readFileSync("package-lock.json")); for (const p of Object.values(lock.packages)) { delete p.funding; delete p.resolved; } fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");'

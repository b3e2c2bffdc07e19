# Everything a developer or CI does with this repository. `make` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOVULNCHECK := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.4.0
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.4
GOLANGCI := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# One throw-away PostgreSQL for all test processes of the command that follows.
CLUSTER := $(GO) run ./models/modelstest/cluster --

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)$$/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: run
run: ## start the gateway with its demo project
	$(GO) run ./cmd/gateway serve --demo

.PHONY: build
build: ## build bin/gateway as it is released: static, trimmed, with its version
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/gateway ./cmd/gateway

# Changed files are part of what is built, but the version names the commit alone.
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
test: ## everything that must hold before a change lands
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5s
	@$(MAKE) --no-print-directory matrix
	@$(MAKE) --no-print-directory conformance
	@$(MAKE) --no-print-directory browser

.PHONY: deps
deps: ## install what the tests need and this machine lacks
	@.ci/deps

.PHONY: quick
quick: check-format lint language ## while writing: format, vet, lint, and the tests without PostgreSQL, programs and browsers
	$(GO) test -short -timeout 5m ./...

.PHONY: check
check: check-format check-generated check-files lint vuln ## format, generated code, file hygiene, vet, lint, known vulnerabilities

.PHONY: check-format
check-format:
	@unformatted=$$(find . -name '*.go' ! -name '*_templ.go' ! -path './node_modules/*' -print0 | xargs -0 gofmt -l); \
	[ -z "$$unformatted" ] || { echo "not in gofmt's format, run gofmt -w on:"; echo "$$unformatted"; exit 1; } >&2

# What `go generate` would change is judged by content, so that it holds in a
# tree with uncommitted work and outside of a checkout too.
.PHONY: check-generated
check-generated:
	@generated() { find . -name '*_templ.go' ! -path './node_modules/*' -print0 | sort -z | xargs -0r sha256sum; }; \
	before=$$(generated); $(GO) generate ./...; after=$$(generated); \
	[ "$$before" = "$$after" ] || { echo "generated code was stale and has been renewed, commit it:"; \
		diff <(echo "$$before") <(echo "$$after") | awk '/^[<>]/ {print $$3}' | sort -u; exit 1; } >&2

# Files name packages, never the host that serves them: where packages come
# from is the machine's configuration. The brackets keep this line from
# matching itself.
REGISTRY_HOSTS := registry[.]npm|registry[.]yarn|proxy[.]golang|sum[.]golang|(deb|security|ftp)[.]debian|pypi[.]org
.PHONY: check-files
check-files:
	@! grep -nE '"resolved"|://' package-lock.json >&2 || { echo "package-lock.json holds addresses, run make lock" >&2; exit 1; }
	@files() { git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -type f ! -path './node_modules/*' -print0; }; \
	named=$$(files | xargs -0r grep -InE '$(REGISTRY_HOSTS)' || true); \
	[ -z "$$named" ] || { echo "these lines name a package registry's host:"; echo "$$named"; exit 1; } >&2

# Without a network there is no database to compare with, and maybe no
# govulncheck either; everything else that fails is a failure.
.PHONY: vuln
vuln: ## known vulnerabilities of the code in use, where their database can be reached
	@$(GOVULNCHECK) -version >/dev/null 2>&1 || { echo "vuln: skipped, govulncheck cannot be built here"; exit 0; }; \
	if found=$$($(GOVULNCHECK) ./... 2>&1); then echo "$$found"; \
	elif grep -q '^govulncheck: fetching vulnerabilities:' <<<"$$found"; then echo "vuln: skipped, the vulnerability database cannot be reached"; \
	else echo "$$found" >&2; exit 1; fi

.PHONY: lint
lint: ## golangci-lint, with go vet in it; tests behind build tags too
	$(GOLANGCI) run

# A program that is given the folder, for example LANGUAGE_CHECK=~/bin/check-language.
LANGUAGE_CHECK ?=
.PHONY: language
language:
	@[ -z "$(LANGUAGE_CHECK)" ] || $(LANGUAGE_CHECK) .

.PHONY: generate
generate: ## renew generated code
	$(GO) generate ./...

.PHONY: unit
unit: ## all Go tests, quick: no race detector, unchanged packages from the cache
	$(CLUSTER) $(GO) test -timeout 10m ./...

# Nothing comes from the cache here: the end-to-end tests build and start
# programs that the cache of go test cannot see.
.PHONY: race
race: ## all Go tests, end to end included, with the race detector
	CGO_ENABLED=1 $(CLUSTER) $(GO) test -race -count=1 -timeout 10m ./...

.PHONY: e2e
e2e: ## only the real binary with real clients and real upstream servers
	$(GO) test -count=1 -timeout 10m -v ./cmd/gateway

# The pictures in playwright/screenshots are compared; UPDATE_SCREENSHOTS=1
# draws them anew.
.PHONY: browser
browser: ## the pages of the real binary in Chromium: looks, accessibility, budgets
	@GO="$(GO)" node_modules/.bin/playwright test --config playwright

.PHONY: chaos-oauth
chaos-oauth: ## upstream connections while authorization servers fail and processes are killed, two minutes
	$(CLUSTER) $(GO) test -tags chaos -count=1 -timeout 10m -run TestChaos -v ./services/oauthclient

.PHONY: ha-test
ha-test: ## two replicas on one PostgreSQL while replicas, an upstream and the database break, two minutes
	$(GO) test -tags ha -count=1 -timeout 10m -run 'TestReplicas$$' -v ./cmd/gateway

# SOAK_CALLS=300000 makes it shorter.
.PHONY: soak
soak: ## a million calls through the real binary: memory, goroutines and the log of calls
	$(GO) test -tags soak -count=1 -timeout 60m -run 'TestSoak$$' -v ./cmd/gateway

.PHONY: chaos-test
chaos-test: ## calls of four upstream servers while six others turn bad, and the start with a hundred bad ones, two minutes
	$(GO) test -tags chaos -count=1 -timeout 15m -run TestChaos -v ./cmd/gateway

.PHONY: flood-test
flood-test: ## 1,000 announced bodies, 60 clients that never read and three batches of large results at once, with 1,024 descriptors, two minutes
	$(GO) test -tags flood -count=1 -timeout 10m -run 'TestFlood$$' -v ./cmd/gateway

# SETS chooses sets of the suites, for example SETS='client.*'; with FLAGS=-artifacts
# what the suites wrote is kept.
SETS ?= .
.PHONY: conformance
conformance: ## the official MCP suites through the gateway and against its upstream client
	@$(MAKE) --no-print-directory deps
	$(GO) test -tags conformance -count=1 ./cmd/conformance/driver
	$(GO) test -tags conformance -count=1 -timeout 30m $(FLAGS) ./cmd/conformance/suite -v -run '/$(SETS)'

.PHONY: matrix
matrix: ## every client revision against every upstream revision through the gateway
	$(GO) test -tags conformance -count=1 ./cmd/conformance/matrix

# Each runs for FUZZTIME, which `make test` shortens; what one finds stays as a seed in the
# package's testdata/fuzz, which the ordinary tests then try too.
FUZZTIME ?= 60s
FUZZPARALLEL ?= 2
.PHONY: fuzz
fuzz: ## every fuzz target, one after another, a minute each
	@grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=node_modules . | sort | while read -r file; do \
		sed -nE 's/^func (Fuzz[A-Za-z]+).*/\1/p' "$$file" | while read -r target; do \
			echo "$$target in $$(dirname "$$file")"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -parallel $(FUZZPARALLEL) "./$$(dirname "$$file")" || exit 1; \
		done || exit 1; \
	done


# Nothing else should run meanwhile. FLAGS go to the program, for example
# FLAGS='-rounds 1 -d 300ms'.
.PHONY: bench
bench: build ## measure speed and growth and write them into views/docs/performance.md, twenty minutes
	$(GO) build -o bin/bench ./cmd/bench
	bin/bench report -gateway bin/gateway -into views/docs/performance.md $(FLAGS)

# BENCH chooses benchmarks, COUNT says how often each runs.
BENCH ?= .
COUNT ?= 6
.PHONY: bench-go
bench-go: ## benchmarks of the Go packages, in the format of benchstat
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 2h ./...

# The labelled sets are no part of this repository.
SEARCH_EVAL ?=
.PHONY: search-eval
search-eval: ## measure tool search on labelled sets in SEARCH_EVAL
	@[ -d "$(SEARCH_EVAL)" ] || { echo "name the folder of the labelled sets with SEARCH_EVAL=…" >&2; exit 1; }
	$(GO) test -count=1 ./services/toolsearch -run TestEval -v -eval "$(abspath $(SEARCH_EVAL))"

.PHONY: lock
lock: ## renew package-lock.json after package.json was edited, without addresses
	npm install --package-lock-only
	@node -e 'const fs = require("fs"), lock = JSON.parse(fs.readFileSync("package-lock.json")); for (const p of Object.values(lock.packages)) { delete p.funding; delete p.resolved; } fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");'

# Every target works on a machine with Go alone; `clients` also wants npm.

GO      ?= go
BIN     := bin/dsh-acp
PKGS    := ./...
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Without the folder's path in them, what one clone has compiled serves the others.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# The packages whose tests draw at random. `make test` draws the same each time, so
# that a run tells of the code alone; `make laws` draws anew, and more.
LAWS = $(shell $(GO) list -f '{{join .TestImports " "}} {{join .XTestImports " "}} {{.ImportPath}}' $(PKGS) | awk '/pgregory.net\/rapid /{print $$NF}')
SEED   ?= 1
CHECKS ?= 2000

.PHONY: all build test laws fmt-check vet lint bench fuzz demo tools clients update cover clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/dsh-acp

# test is the whole gate: format, vet, lint, a static build, every test under
# the race detector, and the real ACP clients when node is there.
test: fmt-check vet lint build clients
	@export DSH_ACP_BIN=$(CURDIR)/$(BIN) failed=; laws=$$(printf '%s\n' $(LAWS)); all=$$($(GO) list $(PKGS)) || exit 1; \
	$(GO) test -race -timeout 20m $$(echo "$$all" | grep -vxF "$$laws") || failed=1; \
	$(GO) test -race -timeout 20m $$laws -rapid.seed=$(SEED) || failed=1; \
	[ -z "$$failed" ]

laws:
	$(GO) test -timeout 60m $(LAWS) -rapid.checks=$(CHECKS)

fmt-check:
	@out=$$($(GO) tool gofumpt -l cmd internal); \
	if [ -n "$$out" ]; then echo "not gofumpt-formatted (run: go tool gofumpt -w cmd internal):"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet $(PKGS)

lint:
	$(GO) tool staticcheck $(PKGS)

# clients installs the pinned ACP clients that the end-to-end tests drive.
clients:
	@if command -v npm >/dev/null 2>&1; then \
	  if [ ! -f testdata/clients/node_modules/.stamp ] || [ testdata/clients/package-lock.json -nt testdata/clients/node_modules/.stamp ]; then \
	    cd testdata/clients && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules/.stamp; \
	  fi; \
	else echo "npm not found: the real-client tests will be skipped"; fi

# bench prints figures beside a baseline measured in the same run.
bench: build
	DSH_ACP_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench . -benchmem -benchtime=$(or $(BENCHTIME),1s) $(PKGS) | grep -E '^(goos|cpu|pkg|Benchmark|PASS|FAIL|ok)' | grep -v 'no test files'

FUZZTIME ?= 60s

# fuzz runs every fuzz target for FUZZTIME each.
fuzz:
	@set -e; for pkg in $$($(GO) list $(PKGS)); do \
	  dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go 2>/dev/null | cut -c6-); do \
	    echo "== $$pkg $$target ($(FUZZTIME))"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

demo:
	$(GO) run ./cmd/dsh-acp demo

tools:
	$(GO) run ./cmd/dsh-acp tools

# update rewrites the golden files; review the diff like code.
update:
	$(GO) test ./internal/... -update

cover:
	$(GO) test -coverprofile=cover.out $(PKGS) && $(GO) tool cover -func=cover.out | tail -1

clean:
	rm -rf bin cover.out

# What CI runs, and nothing else. `make help` lists the targets.
# Linters are pinned in tools/go.mod; nested modules have their own go.mod.
GO       ?= go
FUZZTIME ?= 20s
TOOL     := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
NESTED   := $(patsubst %/go.mod,%,$(wildcard otel/go.mod examples/agent/go.mod))
MODULES  := . $(NESTED) tools

# each runs $(2) in every directory of $(1) and stops at the first failure.
each = @set -e; for dir in $(1); do echo "[$$dir] $(2)"; (cd $$dir && $(2)); done

.PHONY: all help fmt fmt-check vet lint test race cover bench bench-tokens fuzz examples nightly tidy tidy-check vuln
all: fmt-check vet lint test ## the default: formatting, vet, lint, tests

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

fmt: ## format every file with the pinned gofumpt
	$(TOOL) gofumpt -w .

fmt-check: ## fail when a file is not formatted
	@files=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted, run make fmt:"; echo "$$files"; exit 1; fi

vet: ## go vet for this system, darwin, windows and the nightly tests; a 32-bit build
	$(call each,. $(NESTED),$(GO) vet ./...)
	$(call each,. $(NESTED),$(GO) vet -tags nightly ./...)
	$(call each,. $(NESTED),GOOS=darwin $(GO) vet ./...)
	$(call each,. $(NESTED),GOOS=windows $(GO) vet ./...)
	$(call each,. $(NESTED),GOARCH=386 $(GO) build ./...)

lint: ## the pinned staticcheck
	$(call each,. $(NESTED),$(TOOL) staticcheck ./...)

test: ## all tests, offline
	$(call each,. $(NESTED),$(GO) test -shuffle=on ./...)

race: ## the short tests under the race detector
	$(call each,. $(NESTED),$(GO) test -race -short -shuffle=on -timeout 8m ./...)

cover: ## statement coverage per function in coverage.out, as HTML in coverage.html
	$(GO) test -coverprofile=coverage.out ./...
	$(GO) tool cover -html=coverage.out -o coverage.html
	@$(GO) tool cover -func=coverage.out | tail -n 1

bench: ## every benchmark
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-tokens: ## token counters beside the libraries they are compared with
	$(GO) test -run '^$$' -bench . -benchmem ./tokens/...

fuzz: ## every fuzz target for FUZZTIME (20s)
	@grep -rnoE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' . | sort | \
	while IFS=: read -r file _ decl; do \
		name=$${decl#func }; echo "fuzz $${file%/*} $$name"; \
		(cd "$${file%/*}" && $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x . </dev/null) || exit 1; \
	done

examples: ## run every example program
	@set -e; test -d examples || exit 0; \
	dirs=$$($(GO) list -f '{{if eq .Name "main"}}{{.Dir}}{{end}}' ./examples/...); \
	for dir in $$dirs; do echo "example $${dir#$(CURDIR)/}"; $(GO) run "$$dir" </dev/null; done

nightly: ## the long forms: soak and crash tests, then five minutes per fuzz target
	CONTEXTENGINE_NIGHTLY=1 $(GO) test -tags nightly -race -shuffle=on -count=1 -timeout 60m ./...
	$(MAKE) fuzz FUZZTIME=5m

tidy: ## go mod tidy in every module
	$(call each,$(MODULES),$(GO) mod tidy)

tidy-check: ## fail when a go.mod or go.sum is not tidy
	$(call each,$(MODULES),$(GO) mod tidy -diff)

vuln: ## known vulnerabilities (needs the network; not part of CI)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...

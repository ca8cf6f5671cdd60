# Everyday targets; `make` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO         ?= go
BIN        := bin/netloom
TOOLS      := .cache/bin
LINT       := $(TOOLS)/golangci-lint
VULNCHECK  := $(TOOLS)/govulncheck
VULNDB     ?= https://vuln.go.dev
RELEASE    := $(shell git describe --tags --exact-match --match 'v*' 2>/dev/null)
# Without Go plugins of kustomizations, which netloom never loads, the linker leaves out what nothing calls: see test/sbom.
TAGS       := kustomize_disable_go_plugin_support
LDFLAGS    := $(if $(RELEASE),-X github.com/netloom/netloom/pkg/version.release=$(RELEASE))

ARGS       ?=
MINUTES    ?= 30
ONLY       ?=
BENCHTIME  ?= 1s
BENCH      ?= .
SHOTS      ?=
COLD       ?= .cache/cold
VERSION    ?=
DIST       ?= dist
SIZES      ?= 1000,10000
STORM      ?= 1
MEMORY     ?= 10000,50000,100000
PODS       ?= 10000
POLICIES   ?= 1000
WATCHES    ?= 3000

# Those that take longest begin first, so that no processor is idle at the end.
LONG_ROOMS  := ./cmd/netloom ./test/cnf ./test/scenario ./backends/tungsten ./backends/ovn ./backends/openwrt ./test/readme ./translator

# What starts goroutines or holds locks, in code or tests: the others have nothing to race with.
RACE_ROOMS  := ./labelcache/... ./backends/memory/... ./backends/ovn/... ./test/cnf/... \
	$$(grep -rlE --include='*.go' '\bgo func|\.Go\(|^\s*go [a-z]|"sync"|"sync/atomic"|synctest|httptest' pkg | xargs -n1 dirname | sort -u | sed 's,^,./,')
# Tests of these rooms in which one goroutine at a time does anything, and one of the two schemas.
RACE_SKIP   := TestContract/OVN_23.03|^TestEveryRoadOfLoadBalancersEndsAlike$$|^TestLargePlan$$|^TestManyServicesChangeTheirRows$$|\
^TestOwnChangesCauseNoReadBack$$|^TestEveryKindGoesRoundTrip$$|^TestPlantedSecretsComeOutNowhere$$|^TestAnHour|^TestRandomHistory|\
^TestIDSet|^TestTenThousandPodsFitAnAnswer$$|^TestALargeClusterIsNotComparedWhileSomebodyWaits$$|^TestExpensiveRulesAreGivenUp$$
empty       :=
space       := $(empty) $(empty)
# The client's floor needs a server; the benchmarks of test/bench say themselves when there is none.
BENCH_ROOMS := ./labelcache/... ./translator/... ./pkg/inputs/manifest ./pkg/ovsdb/nbtrace/... \
	./pkg/answers/probe ./pkg/answers/connections ./pkg/answers/explain ./pkg/answers/reach ./pkg/serve/web ./cmd/netloom ./test/bench/... \
	$(if $(shell PATH=$$PATH:/usr/sbin command -v ovsdb-server),./pkg/ovsdb)
# Rooms with tests on a real server beside others, which make test runs, and these tests.
E2E_FILES   := $(shell grep -rlE --include='*_test.go' '^//go:build e2e' backends pkg)
E2E_ROOMS   := $(addprefix ./,$(sort $(patsubst %/,%,$(dir $(E2E_FILES)))))
E2E_TESTS   := $(shell cat $(E2E_FILES) | sed -nE 's/^func (Test[A-Za-z0-9_]+).*/\1/p' | sort -u)

# An OVN with tiers, beside the installed one, and the tests whose outcome may differ on it.
TIERED      := .cache/ovn-trixie
TIERED_TESTS := TestGenerated TestClusterPolicyPackets TestRepliesPassADenyThatIsAlone TestAnEqualPolicyCausesNoRecompute \
	TestEndpointForms TestStagedPoliciesOnLiveTraffic TestNoOpenInstant

# A Kubernetes control plane in one program. What it is made of names the place where it is kept.
KUBE        := v1.36.3
KUBEAPI     := .cache/kubeapi-$(firstword $(shell cat test/kubeapi/go.mod test/kubeapi/go.sum test/kubeapi/*.go | sha256sum | cut -c1-12))/kubeapi
KUBEVERSION := k8s.io/component-base/version
KUBEFLAGS   := -s -w -X $(KUBEVERSION).gitVersion=$(KUBE) -X $(KUBEVERSION).gitTreeState=clean \
	-X $(KUBEVERSION).gitMajor=1 -X $(KUBEVERSION).gitMinor=$(word 2,$(subst ., ,$(KUBE)))

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##: / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

##: every day

# One set of flags for whatever is compiled here, so that nothing is compiled twice; only the race detector needs C.
export CGO_ENABLED := 0

# What the linters remember holds paths, and is wrong in another clone.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

.PHONY: build
build: ## Build bin/netloom
	$(GO) build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/netloom

.PHONY: demo
demo: build ## Run the real daemon over examples/ and an embedded database (ARGS=--once)
	@$(BIN) demo $(ARGS)

# A test lives for seconds, and with a larger heap it spends a fourth less of them on collecting garbage.
test test-alone race roads explore mutants: export GOGC ?= 400

.PHONY: test
test: ## Run every test that needs nothing but Go (four packages at once: some wait more than they work)
	$(GO) test -p 4 $(LONG_ROOMS) ./...

.PHONY: lint
lint: $(LINT) ## Run the linters pinned in test/tools
	$(LINT) run ./...

.PHONY: fmt
fmt: $(LINT) ## Format the code
	$(LINT) fmt

.PHONY: arch
arch: ## Check every import against the table of packages
	$(GO) test ./test/arch

.PHONY: vet
vet: ## Compile without tests, and run go vet with the end-to-end tests (make test compiles the others without them)
	$(GO) build ./...
	$(GO) vet -tags e2e ./...

.PHONY: crds
crds: ## Validate deploy/crds and the manifests of users with the code of an API server
	$(GO) test -C test/crds ./...

.PHONY: conformance
conformance: ## Run the conformance suite of the network policy API on rows, without a cluster
	$(GO) test -C test/conformance ./...

.PHONY: monitoring
monitoring: ## Check the alerts with promtool, run their unit tests, and check the dashboards
	$(GO) test -C test/monitoring ./...

.PHONY: check
check: build vet lint arch verify test growth crds conformance monitoring ## Run every check that a pull request must pass

##: thorough tests

.PHONY: race
race: export CGO_ENABLED := 1
race: ## Run the tests of concurrent packages with the race detector, one seed each
	$(GO) test -race -short -timeout 20m -skip '$(subst $(space),,$(RACE_SKIP))' $(RACE_ROOMS)

.PHONY: growth
growth: ## Check that no cost outgrows its size, with every statement counted
	$(GO) run ./test/growth/count

.PHONY: roads
roads: ## Run the tests that make test samples in full: every road of every scenario, a failure at every call, longer soaks
	$(GO) test -count=1 -timeout 20m -run '^TestScenarios$$' ./test/scenario -scenario.roads
	$(GO) test -count=1 -timeout 20m -run '^TestFaultAtEveryCall$$' ./backends/tungsten -tungsten.everycall
	$(GO) test -count=1 -timeout 20m -run '^TestSoak$$' ./test/cnf -cnf.functions=2 -cnf.replicas=3 -cnf.resources=200 -cnf.rounds=4

.PHONY: explore
explore: ## Look for seeds and inputs that fail, for MINUTES (30), from where the last run stopped (ONLY=regexp)
	$(GO) run ./test/explore -minutes $(MINUTES) -only '$(ONLY)'

.PHONY: upgrade
upgrade: $(KUBEAPI) ## Go up and down between this version and earlier ones, which it builds from the history (minutes the first time, then cached)
	$(GO) test -tags e2e -count=1 -timeout 60m ./test/upgrade
	$(GO) test -C test/e2ekube -tags e2e,upgrade -count=1 -timeout 60m -run '^TestReplicasOfTwoVersions$$' . -kubeapi $(CURDIR)/$(KUBEAPI)

.PHONY: soak
soak: ONLY := ^[^/]+/
soak: explore ## Explore random tests only (MINUTES=30)

.PHONY: fuzz
fuzz: ONLY := ^fuzz/
fuzz: explore ## Explore fuzz targets only (MINUTES=30)

.PHONY: mutants
mutants: ## Plant the defects of test/mutants one by one, and fail if a test does not notice (ARGS='-section race')
	$(GO) run ./test/mutants $(ARGS)

.PHONY: bench
bench: ## Run the benchmarks, with the raw database as a baseline (BENCH=regexp BENCHTIME=1s MEMORY=10000,50000,100000)
	$(GO) test -tags e2e -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 60m -p 1 $(BENCH_ROOMS)
	$(GO) test -count=1 -v -run TestTieredCluster ./test/bench -tiers.pods=10000 -tiers.policies=1000
	$(GO) test -tags e2e -count=1 -v -timeout 30m -run TestProcessMemory ./test/bench -memory.pods=$(MEMORY)

.PHONY: bench-kube
bench-kube: $(KUBEAPI) ## Print a table of figures beside raw floors, the last published ones and those of others, on a real API server and OVN; fail if one is worse (SIZES=1000,10000 STORM=1 MEMORY=10000,50000,100000; root, OVN installed)
	$(GO) test -C test/e2ekube -tags e2e -count=1 -timeout 90m -v -run '^TestFigures$$' . -kubeapi $(CURDIR)/$(KUBEAPI) \
		-sizes '$(SIZES)' -storm $(if $(filter 0,$(STORM)),0,4000) -memory '$(MEMORY)' -flips 20 -selectors -published -table $(CURDIR)/.cache/figures.md

.PHONY: bench-scale
bench-scale: $(KUBEAPI) ## Run the other benchmarks there: changes under load, and the gateway (PODS=10000 POLICIES=1000 WATCHES=3000)
	$(GO) test -C test/e2ekube -tags e2e -count=1 -timeout 60m -v -run '^(TestScale|TestGatewayScale)$$' . \
		-kubeapi $(CURDIR)/$(KUBEAPI) -pods $(PODS) -policies $(POLICIES) -gateway-watches $(WATCHES)

.PHONY: bench-gateway
bench-gateway: build ## Measure netloom gateway with many clusters, beside the same requests sent directly (CLUSTERS=50 STREAMS=10000 RATE=500)
	$(GO) test -count=1 -timeout 20m -v -run '^TestManyClusters$$' ./pkg/gateway -scale.program $(CURDIR)/$(BIN) \
		-scale.clusters $(or $(CLUSTERS),50) -scale.watches $(or $(STREAMS),10000) -scale.rate $(or $(RATE),500) -scale.seconds 20

.PHONY: e2e
e2e: ## Run the tests on a real OVN (root, OVN and Open vSwitch installed)
	$(GO) test -tags e2e -count=1 -p 1 -timeout 25m ./test/e2e/...
	$(GO) test -tags e2e -count=1 -p 1 -timeout 12m -run '^($(subst $(space),|,$(strip $(E2E_TESTS))))$$' $(E2E_ROOMS)

.PHONY: e2e-tiers
e2e-tiers: $(TIERED) ## Run the tests on a real OVN that may depend on its release, on OVN 25.03 with ACL tiers (root; downloads it)
	PATH=$(CURDIR)/$(TIERED)/bin:$$PATH $(GO) test -tags e2e -count=1 -v -timeout 10m \
		-run '^($(subst $(space),|,$(strip $(TIERED_TESTS))))$$' ./test/e2e -tiers -seed=1 -seeds=12

$(TIERED):
	test/e2e/ovnlab/unpack trixie $@

.PHONY: kubeapi
kubeapi: $(KUBEAPI) ## Build kube-apiserver, its controllers and etcd for the tests (ten minutes the first time, then cached)

$(KUBEAPI):
	$(GO) build -C test/kubeapi -ldflags '$(KUBEFLAGS)' -o $(CURDIR)/$@ .

.PHONY: e2e-kube
e2e-kube: $(KUBEAPI) ## Run the manifests of deploy/ on a real API server and a real OVN, three tests at once: they mostly wait (root, OVN installed)
	$(GO) vet -C test/e2ekube -tags e2e,upgrade ./...
	$(GO) test -C test/e2ekube -count=1 ./deployment ./nbwatch
	$(GO) test -C test/e2ekube -tags e2e -count=1 -timeout 35m -parallel 3 . -kubeapi $(CURDIR)/$(KUBEAPI)

.PHONY: drills
drills: $(KUBEAPI) ## Attack netloom on a real API server and a real database, and print a table of what happened (root, OVN installed)
	@$(GO) test -C test/e2ekube -tags e2e -count=1 -timeout 60m -v -parallel 1 -run '^TestDrill' . -kubeapi $(CURDIR)/$(KUBEAPI) -drills >.cache/drills.log || \
		{ tail -n 100 .cache/drills.log; exit 1; }
	@printf '| attack | open | others, from event to row, p99 | memory | what the operator saw |\n| --- | --- | --- | --- | --- |\n'; sed -n 's/.*drill: //p' .cache/drills.log

.PHONY: cluster
cluster: $(KUBEAPI) build ## Run an API server, OVN, netloom and the examples until Ctrl-C (root, OVN installed)
	@$(GO) build -C test/e2ekube -tags e2e -o $(CURDIR)/.cache/cluster ./cluster
	@.cache/cluster -kubeapi $(KUBEAPI) -netloom $(BIN) -overlay deploy/kustomize/overlays/central

.PHONY: e2e-browser
e2e-browser: ## Test the demo's web page in Chromium (Chromium installed; SHOTS=docs/img takes screenshots)
	$(GO) vet -C test/browser ./...
	$(GO) test -C test/browser -count=1 -timeout 10m ./... $(if $(SHOTS),-shots $(abspath $(SHOTS)))

.PHONY: accessibility
accessibility: ## Check every view of the web page with axe-core (Chromium installed, npm, the network)
	GO=$(GO) test/browser/npm/check

.PHONY: vulncheck
vulncheck: $(VULNCHECK) ## Check the binary for known vulnerabilities (queries vuln.go.dev, or VULNDB=URL)
	test/supply/vulncheck $(VULNCHECK) $(VULNDB) -tags $(TAGS) ./cmd/...

.PHONY: sbom
sbom: build ## Write the SBOM of bin/netloom and its image to .cache/netloom.cdx.json (CycloneDX)
	$(GO) run ./test/sbom -npm pkg/serve/web/npm/package-lock.json $(BIN) > .cache/netloom.cdx.json

.PHONY: release
release: ## Build what a release is made of in dist/, from a clean tree: programs, image, manifests, SBOMs, checksums (VERSION=v0.1.0)
	$(GO) run ./test/release '$(VERSION)' $(DIST)

.PHONY: test-alone
test-alone: ## Run make test with nothing but Go, git and a POSIX shell on the PATH
	@rm -rf .cache/alone && mkdir -p .cache/alone/bin
	@ln -s "$$(command -v git)" "$$(command -v sh)" "$$($(GO) env GOROOT)/bin/go" .cache/alone/bin/
	env -i HOME="$$HOME" PATH=$(CURDIR)/.cache/alone/bin CGO_ENABLED=0 GOGC=$$GOGC GOFLAGS="$$($(GO) env GOFLAGS)" GOCACHE="$$($(GO) env GOCACHE)" \
		GOMODCACHE="$$($(GO) env GOMODCACHE)" GOPROXY="$$($(GO) env GOPROXY)" go test -p 4 $(LONG_ROOMS) ./...

.PHONY: ci
ci: ## Run everything that CI runs (root, Debian)
	bash .ci/run

.PHONY: ci-cold
ci-cold: ## Run it in a fresh clone with empty caches, and make test-alone there (COLD=directory)
	bash .ci/cold $(COLD)

##: generated files

.PHONY: generate
generate: ## Regenerate files
	$(GO) generate ./...
	$(GO) test -C test/e2ekube -count=1 -run TestSchemaKnowsEverySetting ./deployment -update

.PHONY: page-library
page-library: ## Copy the web page's library from npm, as pkg/serve/web/npm pins it (npm, the network)
	pkg/serve/web/npm/copy

.PHONY: docs
docs: ## Build the site of the documentation in bin/docs, with VERSIONS='v0.1.0 …' beside it (git, npm, the network)
	docs/.vitepress/build bin/docs $(VERSIONS)

.PHONY: verify
verify: ## Fail if the go.mod of any module here or a generated file is out of date
	@for module in $$(git ls-files 'go.mod' '*/go.mod' | xargs -n 1 dirname); do \
		$(GO) mod tidy -C "$$module" -diff || { echo "$$module/go.mod or go.sum is stale: go mod tidy -C $$module" >&2; exit 1; }; \
	done
	@for version in $$(cd test/kubetypes && echo versions/*.mod); do \
		$(GO) mod tidy -C test/kubetypes -modfile "$$version" -diff || { \
			echo "$$version is stale: go mod tidy -C test/kubetypes -modfile $$version" >&2; exit 1; }; \
	done
	@tree() { git ls-files -cmo --exclude-standard -z | sort -zu | xargs -0 sha256sum 2>/dev/null || true; }; \
	before=$$(tree); $(MAKE) --no-print-directory generate; \
	if ! diff <(echo "$$before") <(tree); then \
		echo "these generated files were stale; 'make generate' has rewritten them: commit them" >&2; exit 1; \
	fi

.PHONY: upgrade-record
upgrade-record: ## Record the rows that earlier versions write (test/upgrade/versions.txt), after a change of rows
	$(GO) test -tags e2e -count=1 -timeout 60m -run '^TestRecordsAreWhatTheVersionsWrite$$' ./test/upgrade -record
	$(GO) test -count=1 ./test/upgrade -update

.PHONY: golden
golden: ## Rewrite golden files; review the diff like code
	@grep -rlE --exclude-dir=.cache --include='*_test.go' 'flag\.Bool(Var)?\(.*"update"' . | xargs -r -n1 dirname | sort -u | while read -r room; do \
		$(GO) test -C "$$room" . -count=1 -update; \
	done

.PHONY: hooks
hooks: ## Install git hooks that check each commit (.githooks)
	git config core.hooksPath .githooks

$(VULNCHECK): test/supply/go.mod test/supply/go.sum
	$(GO) build -C test/supply -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck

$(LINT): test/tools/go.mod test/tools/go.sum
	$(GO) build -C test/tools -o $(CURDIR)/$(TOOLS)/ tool

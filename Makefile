# Everything a newcomer needs. Works with whatever Node the machine has: npm brings Node 24 into node_modules.
.DEFAULT_GOAL := help
.PHONY: help setup demo up test lint generate bench bench-cluster bench-gateway bench-tasks bench-blobs durability hostile attacks fuzz sbom soak faults build images install install-manifests clean cluster cluster-install cluster-down test-cluster conformance

# The checkout's own Node where npm has put one, else the machine's (it must then be 24 or newer).
NODE = $(if $(wildcard node_modules/.bin/node),node_modules/.bin/node,node)
PREFIX ?= /usr/local

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name what; do printf '  make %-17s %s\n' "$$name" "$$what"; done

# npm writes this file at the end of an install; it is older than the lock file when packages changed.
# Not `npm ci`: it refuses a lock file that lacks a platform's optional packages, and a registry that mirrors only
# some platforms gives no other. Versions are the lock file's here too, and --no-save leaves that file alone.
node_modules/.package-lock.json: package-lock.json package.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node (any version with npm) from https://nodejs.org or your system' >&2; exit 1; }
	npm install --no-save --loglevel=error
	@touch $@

setup: node_modules/.package-lock.json ## Install npm packages and, as root, missing system packages
	@$(NODE) scripts/setup.ts

demo: setup ## Start the examples in sandboxes, call their tools, show it, stop
	@$(NODE) scripts/demo.ts

up: setup ## Start the examples and stay until Ctrl-C
	@bin/ploinky --workspace examples up --apply examples

test: setup lint ## Check everything that can be checked on this machine
	@$(NODE) scripts/setup.ts cluster
	@$(NODE) scripts/test.ts

cluster: node_modules/.package-lock.json ## Bring up a real Kubernetes for tests
	@$(NODE) scripts/setup.ts cluster
	@$(NODE) scripts/cluster.ts up

cluster-install: setup cluster ## Install Ploinky there, with images built from this checkout
	@$(NODE) scripts/cluster.ts install

cluster-down: node_modules/.package-lock.json ## Take it down; nothing of it is left
	@$(NODE) scripts/cluster.ts down

test-cluster: setup ## Run the tests that need a real Kubernetes
	@$(NODE) scripts/setup.ts cluster
	@$(NODE) scripts/test.ts --cluster-only test/cluster test/e2e/both

conformance: setup ## Run the MCP conformance suite against all there is, here and on a Kubernetes
	@$(NODE) scripts/setup.ts cluster
	@$(NODE) scripts/conformance.ts

lint: node_modules/.package-lock.json ## Check format, layers, types and generated files
	@node_modules/.bin/biome check --error-on-warnings .
	@node_modules/.bin/tsc --noEmit
	@$(NODE) scripts/generate.ts --check

generate: node_modules/.package-lock.json ## Write crds/, docs/reference and docs/bridge-matrix.md
	@$(NODE) scripts/generate.ts
	@$(NODE) test/e2e/bridge-matrix/write.ts

bench: setup ## Measure this machine, beside other programs
	@$(NODE) scripts/bench.ts

bench-cluster: setup ## Measure controller and routers on a real Kubernetes, with simulated nodes
	@$(NODE) scripts/setup.ts cluster
	@$(NODE) scripts/bench-cluster.ts $(FLAGS)

bench-blobs: setup ## Measure files in and out of agents beside nginx
	@$(NODE) scripts/setup.ts bench
	@$(NODE) scripts/bench-blobs.ts $(FLAGS)

bench-gateway: setup ## Measure the router beside other MCP gateways, each on one core
	@$(NODE) scripts/setup.ts bench
	@$(NODE) scripts/bench-gateway.ts $(FLAGS)

bench-tasks: setup ## Measure queued tasks, and the processes that carry tools out
	@$(NODE) scripts/setup.ts bench
	@$(NODE) scripts/bench-tasks.ts $(FLAGS)

durability: setup ## Kill, tear and fill up the queue of tasks; see that nothing acknowledged is lost
	@$(NODE) scripts/durability.ts $(FLAGS)

soak: setup ## Make a million calls in 50,000 sessions; see that nothing is left of them
	@$(NODE) scripts/soak.ts $(FLAGS)

faults: setup ## End, kill, slow down and change things under load; see that calls bear it
	@$(NODE) scripts/faults.ts $(FLAGS)

hostile: setup ## Attack the router with hostile requests and hostile agents, and measure what it costs
	@$(NODE) scripts/hostile.ts

fuzz: setup ## Throw made-up input at every parser of what strangers send, FUZZ_SECONDS (600) each
	@$(NODE) scripts/fuzz.ts $(FLAGS)

sbom: setup ## Write the list of what is shipped to .out/sbom.json (CycloneDX)
	@$(NODE) scripts/sbom.ts

attacks: setup ## Attack from inside our sandbox, another one and none; write docs/security-table.md
	@$(NODE) scripts/setup.ts attacks
	@$(NODE) scripts/attacks.ts
	@$(NODE) test/attacks/traversal.test.ts --whole

build: node_modules/.package-lock.json ## Bundle the agent-server and the cluster's programs into dist/
	@$(NODE) scripts/build.ts

images: setup ## Build the container images that tests load, and print their sizes
	@$(NODE) scripts/images.ts

install-manifests: node_modules/.package-lock.json ## Render the chart into dist/install.yaml, for kubectl apply
	@$(NODE) scripts/manifests.ts

install: setup ## Link ploinky and kubectl-ploinky into $(PREFIX)/bin
	@mkdir -p "$(PREFIX)/bin" && for name in ploinky kubectl-ploinky; do \
	  ln -sf "$(CURDIR)/bin/$$name" "$(PREFIX)/bin/$$name" && echo "Linked $(PREFIX)/bin/$$name"; done

clean: ## Remove what was installed and built
	rm -rf node_modules test/peers/node_modules dist .out

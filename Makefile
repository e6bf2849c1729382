# The commands of this repository; a bare `make` prints them. Each prepares what it needs, from the package registries.

PYTHON ?= python3
RUN = .venv/bin/python
ARGS ?=

.DEFAULT_GOAL = help
.PHONY: help environment demo chaos chaos-long test test-full test-pythons test-stress test-sparks e2e requirements check bench crds images lock clean

help: ## print what there is
	@awk -F ':.*## ' '/^[a-z][^:]*:.*## / {sub("%", "NAME", $$1); printf "  make %-12s %s\n", $$1, $$2}' Makefile

environment: ## make .venv, which everything else runs in
	@$(PYTHON) tools/environment.py

demo: environment ## lead 50 000 orders from JetStream through Spark into Parquet, here and now
	@$(RUN) examples/demo.py $(ARGS)

test: ## run what every edit needs: pure tests, one real NATS server, API server and Spark (ARGS="-k relay")
	@$(PYTHON) tools/test.py test $(ARGS)

test-full: ## run every test that needs no cluster, on this Python: all servers, faults, simulations
	@$(PYTHON) tools/test.py test-full $(ARGS)

test-pythons: ## run what depends on the interpreter, under the other supported Pythons
	@$(PYTHON) tools/test.py test-pythons $(ARGS)

test-stress: environment ## run tests in random order, under load, with processes that stop (ARGS="--rounds 5 tests/worker")
	@$(RUN) tools/stress.py $(ARGS)

e2e: ## run what needs a whole cluster: a node made here (root), or the one that KUBECONFIG names
	@$(PYTHON) tools/test.py e2e $(ARGS)

test-sparks: ## run the driver's tests under each pyspark that it supports (ARGS="4.0 4.1 -- -k connect")
	@$(PYTHON) tools/sparks.py $(ARGS)

chaos: environment ## kill, freeze and cut off workers, Spark and servers a thousand times, and count (ARGS="--scene poison")
	@$(RUN) -m tests.chaos $(ARGS)

chaos-long: environment ## the same for three hours, each time at other moments
	@$(RUN) -m tests.chaos --times 100 --seed $$(date +%j) $(ARGS)

requirements: environment ## show which tests prove which requirement, and run them (ARGS="C-35 V-01", ARGS=--last)
	@$(RUN) tools/requirements.py $(ARGS)

check: environment ## judge form, types, import rules, duplicates and generated files
	@$(RUN) tools/check.py

bench: environment ## run all benchmarks
	@$(RUN) -m bench

bench-%: environment ## run one benchmark
	@$(RUN) -m bench $*

crds: environment ## write crds/, the chart's copy and table of values, and docs/reference.md
	@.venv/bin/penstock crds --into crds --into charts/penstock/files/crds
	@.venv/bin/penstock crds --policies --into charts/penstock/files/policies
	@.venv/bin/penstock reference --into docs/reference.md
	@$(RUN) tools/values.py

images: ## build the container images, and print their sizes
	@$(PYTHON) tools/images.py $(ARGS)

lock: ## pin all dependencies anew: constraints.txt
	@$(PYTHON) tools/lock.py

clean: ## remove what was made in this folder; ~/.cache/penstock stays
	@rm -rf .venv .venv-* .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# `make` lists the targets. Each target does all its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO := cargo

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

.PHONY: setup
setup:
	@./scripts/setup

.PHONY: demo
demo: setup ## watch nodes and Services come alive on a real API server; KEEP=1 leaves it running
	@$(CARGO) build --quiet --locked -p outrigger
	@target/debug/outrigger demo $(if $(KEEP),--keep)

.PHONY: test
test: setup ## every test, and the checks of the house
	@./scripts/test

.PHONY: binary
binary: setup ## the static binary, in target/outrigger
	@./scripts/binary

.PHONY: bench
bench: setup binary ## side by side with the Go framework, in one run
	@$(CARGO) build --quiet --release --locked -p bench
	@target/release/bench --outrigger target/outrigger

.PHONY: docs
docs: setup ## write the documents that are generated
	@$(CARGO) run --quiet --locked -p xtask -- docs

.PHONY: fmt
fmt: ## format the code
	@$(CARGO) fmt --all

.PHONY: clean
clean: ## remove what was built here; the lab's programs stay in the cache
	@$(CARGO) clean

# `make` lists the targets. Each target does all its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO := cargo

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-15s %s\n", $$1, $$2}'

.PHONY: setup
setup:
	@./scripts/setup

# For what needs neither Go nor Python.
.PHONY: setup-rust
setup-rust:
	@./scripts/setup --rust

.PHONY: demo
demo: setup ## nodes, Services and a fail-over on a real API server; CLOUD=aws, CLOUD=openstack [REAL=1], KEEP=1 leaves it running
	@./scripts/demo $(if $(CLOUD),--cloud $(CLOUD)) $(if $(REAL),--real) $(if $(KEEP),--keep)

.PHONY: test
test: setup ## checks and tests; as root on Debian also on a real node and, the most important ones, on the real OpenStack services
	@./scripts/test

.PHONY: test-full
test-full: setup ## the same, with the tests that wait for minutes and every test on the real OpenStack services
	@./scripts/test --full

.PHONY: test-openstack
test-openstack: setup ## every test on the real OpenStack services, which are installed first
	@./scripts/test-openstack

.PHONY: binary
binary: setup-rust ## the static binary, in target/outrigger
	@./scripts/binary

.PHONY: image
image: setup-rust ## the image, in target/outrigger-image.tar; NAME=registry.example.com/outrigger:1.2 names it
	@./scripts/image

.PHONY: release
release: setup-rust ## everything of a release, in target/release-VERSION; AMD64= and ARM64= name the binaries, REPOSITORY= that of the image
	@./scripts/release

.PHONY: test-cluster
test-cluster: setup ## our image and manifests on a real kubelet; needs root and Debian; OUTRIGGER_IMAGE=target/outrigger-image.tar takes what make image packed
	@./scripts/test-cluster

.PHONY: bench
bench: setup binary ## side by side with the Go framework, in one run
	@$(CARGO) build --quiet --release --locked -p bench
	@target/release/bench --outrigger target/outrigger

.PHONY: docs
docs: setup ## write the documents that are generated
	@$(CARGO) build --quiet --locked --workspace
	@$${CARGO_TARGET_DIR:-target}/debug/xtask docs

.PHONY: book
book: setup-rust ## the documentation as a book, in target/book; the first time builds mdBook
	@./scripts/book

.PHONY: fmt
fmt: ## format the code
	@$(CARGO) fmt --all

.PHONY: clean
clean: ## remove what was built here; the lab's programs stay in the cache
	@$(CARGO) clean

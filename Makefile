# make only forwards: first what is missing is installed (scripts/setup), then `cargo xtask` does the work.
# Arguments go in ARGS:  make sim ARGS="--seeds 10000"
# `make` alone prints the menu; `make setup` installs and stops there.

COMMANDS := bench check ci demo deny dist doc fuzz guest loom miri mutants sim test tidy

# rustup's own installer puts cargo here and the shell that runs make may not know it yet.
CARGO_BIN := $(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)/bin
export PATH := $(CARGO_BIN):$(PATH)

.DEFAULT_GOAL := menu
.PHONY: menu setup $(COMMANDS)

menu: setup
	@cargo xtask

setup:
	@scripts/setup

$(COMMANDS): setup
	@cargo xtask $@ $(ARGS)

# Cross compilers are large, and only this needs them.
dist: setup-dist

.PHONY: setup-dist
setup-dist: setup
	@scripts/setup dist

# What people type.  Meson does the building (meson.build), from a virtual environment because
# Debian's own is too old; Debian's packages are seen to by scripts/deps.  The umask is because
# programs load the runtime only from where nobody else can write.

PREFIX ?= /usr/local
BUILD = build
VENV = .venv
MESON = $(VENV)/bin/meson
PYTHON = $(VENV)/bin/python
PIP_INSTALL = $(PYTHON) -m pip install --quiet --disable-pip-version-check

# Leaves $(BUILD)/inferscope, $(BUILD)/libinferscope-rt.so and the Python package in $(BUILD)/python.
all: $(BUILD)/build.ninja
	@umask 022 && ninja -C $(BUILD)

# A slow program, what is said of it, and whether that is true: half a minute.
demo: all
	@$(MAKE) -s --no-print-directory $(VENV)/.torch
	@$(PYTHON) scripts/demo --build $(BUILD)

# The same way part by part, from Python: collect, merge, analyze, report.
e2e-demo: all
	@$(PYTHON) scripts/run_e2e_demo.py --build $(BUILD)

# Everything, in about as many minutes as a coffee takes; ends with "N passed, M failed".
test: tools-test
	@$(MAKE) -s --no-print-directory $(VENV)/.test $(VENV)/.torch $(VENV)/web/.ready
	@$(PYTHON) scripts/test

# What drives the program from outside: commands, the Python package, recordings, faults.
integration: tools-test
	@$(MAKE) -s --no-print-directory $(VENV)/.test $(VENV)/.torch $(VENV)/web/.ready
	@$(PYTHON) scripts/test cli python

# Writes $(BUILD)/bench.json and prints it as a table.
bench: tools-bench
	@$(MAKE) -s --no-print-directory $(VENV)/.bench $(VENV)/.torch $(VENV)/.hta $(VENV)/web/.ready
	@umask 022 && test -f $(BUILD)/perf/build.ninja || $(MESON) setup $(BUILD)/perf -Dbench=enabled
	@umask 022 && ninja -C $(BUILD)/perf
	@$(PYTHON) bench/run.py $(BUILD)/perf --output $(BUILD)/bench.json

# Programs with known bottlenecks, and what we say of them; tests/zoo/README.md.
zoo: all
	@$(MAKE) -s --no-print-directory $(VENV)/.test $(VENV)/.torch
	@$(PYTHON) tests/zoo/run.py judge --build $(BUILD)

# Every fuzz target, for an hour on all processors unless OPTIONS='--minutes N --jobs N ...' say otherwise (scripts/fuzz-long
# --help); goes on where it ended the last time, and ends with a table.
fuzz-long: tools-test
	@$(PYTHON) scripts/fuzz-long $(OPTIONS)

# Which lines of src/ the tests reach, in $(BUILD)-coverage/index.html.
coverage: tools-coverage
	@scripts/coverage

install: all
	@$(MESON) configure $(BUILD) --prefix=$(abspath $(PREFIX))
	@DESTDIR=$(abspath $(DESTDIR)) $(MESON) install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-coverage

$(BUILD)/build.ninja: | tools-build
	@umask 022 && $(MESON) setup $(BUILD) --prefix=$(abspath $(PREFIX))

# tools-GROUP: the Debian packages of that group and the virtual environment are there.
tools-%: FORCE
	@scripts/deps $*
	@$(MAKE) -s --no-print-directory $(VENV)/.ready

# PyTorch comes for some Pythons only, 3.11 among them.
$(VENV)/.ready: scripts/requirements.txt
	@echo "setting up $(VENV) (meson, pytest)"
	@test -x $(PYTHON) || if python3.11 -c 'import ensurepip' 2>/dev/null; \
		then python3.11 -m venv --clear $(VENV); else python3 -m venv --clear $(VENV); fi
	@$(PIP_INSTALL) -r $<
	@touch $@

# What only some of the above need: installed when they are first used.
$(VENV)/.%: scripts/requirements-%.txt
	@echo "setting up $(VENV) ($*$(if $(filter torch,$*),: a large download))"
	@$(PIP_INSTALL) -r $<
	@touch $@

# A peer that wants versions of its own of what others use.
$(VENV)/.hta: scripts/requirements-hta.txt
	@echo "setting up $(VENV)/hta"
	@$(PYTHON) -m venv $(VENV)/hta
	@$(VENV)/hta/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# What checks and drives the report page, which itself needs none of it; versions are those of the lock file.
$(VENV)/web/.ready: web/package.json web/package-lock.json web/.npmrc
	@echo "setting up $(VENV)/web (eslint, typescript, puppeteer, speedscope, pprof-format, profiler-cli)"
	@mkdir -p $(VENV)/web
	@cp web/package.json web/package-lock.json web/.npmrc $(VENV)/web/
	@cd $(VENV)/web && npm ci --loglevel=error --ignore-scripts >/dev/null
	@touch $@

FORCE:
.PHONY: all demo e2e-demo test integration bench zoo fuzz-long coverage install clean FORCE

# On a fresh machine `make lab` opens the course and `make test` passes its tests; both make .venv first.
# Kept to what make 3.81 knows, the one macOS ships.

PYTHON ?= python3
BIN := .venv/bin
NOTEBOOKS := $(sort $(wildcard notebooks/[0-9]*.ipynb))
TORCH_PIN := $(shell grep '^torch==' constraints.txt)
# Two files at a time, for much of the time a test waits: for processes, or for a browser.
TWO := -n 2 --dist
# In a container one is often root, and Jupyter wants to hear that it is meant.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
NEWS := @jupyterlab/apputils-extension:announcements

.PHONY: help install lab lab-network horovod gpu test test-browser notebooks record html slides bench clean

help:
	@echo "make lab               open the course in JupyterLab"
	@echo "make test              run all that CI runs"
	@echo "make test-browser      run every notebook in a real browser, with screenshots in tests/artifacts"
	@echo "make notebooks [NB=10] [FORCE=1]   build what changed in notebooks/source"
	@echo "make record NB=10      measure a chapter's live cells on this machine, and build it"
	@echo "make html              write the course as an offline site into site/"
	@echo "make slides [LECTURE=core] [FONT=1.3]   write a deck a chapter into slides/; core: the two hours, too"
	@echo "make lab-network       chapter 5's lab: hosts joined by limited links (Linux, root or user namespaces)"
	@echo "make horovod [RECORD=1]   build Horovod apart (5 to 20 minutes) and compare it with DDP"
	@echo "make gpu               the tests that need a GPU (they skip without one)"
	@echo "make bench [RECORD=1]  time launch, ring, simulator and widgets beside their peers"
	@echo "make install           only make .venv"
	@echo "make clean             remove .venv, .venv-horovod and what tests left"
	@echo
	@echo "PYTHON=python3.12      the Python that makes .venv (3.11 or newer)"
	@echo "TORCH=cpu              PyTorch without CUDA: on Linux a download of 0.2 instead of several GB"

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'The course needs Python 3.11 or newer. If you have one, name it: make PYTHON=python3.12 ...'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'This Python has no venv module. On Debian and Ubuntu: sudo apt install python3-venv'; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(if $(filter cpu,$(TORCH)),$(BIN)/pip install --no-deps $(TORCH_PIN) --index-url https://download.pytorch.org/whl/cpu)
	$(BIN)/pip install -c constraints.txt -e '.[test]'
	$(BIN)/jupyter labextension disable --level=sys_prefix $(NEWS)
	@touch $@

lab: install
	@echo "JupyterLab starts. Should no browser open, open the address below, token included, in one."
	@echo "Ctrl-C twice stops it."
	$(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) --log-level=WARN --LabApp.default_url=/lab/tree/$(firstword $(NOTEBOOKS))

test: install
	$(BIN)/ruff check .
	$(BIN)/pytest -rs $(TWO) loadgroup tests
	$(if $(NOTEBOOKS),$(BIN)/pytest --nbval --nbval-current-env --nbval-cell-timeout=60 $(TWO) loadfile $(NOTEBOOKS))

test-browser: install
	$(BIN)/pytest -rs tests/browser

notebooks: install
	$(BIN)/python notebooks/source/build.py $(NB) $(if $(FORCE),--force)

record: install
	$(BIN)/python notebooks/source/build.py $(NB) --record

# Of the stored outputs: nothing is executed, nothing fetched.
html: install
	$(BIN)/python notebooks/source/publish.py html
	@echo "Open site/index.html"

slides: install
	$(BIN)/python notebooks/source/publish.py slides $(if $(FONT),--font $(FONT)) $(if $(LECTURE),--lecture $(LECTURE))
	@echo "Open a file of slides/ in a browser: space goes on, S opens the speaker's view, ? lists the keys"

lab-network: install
	$(BIN)/python tests/lab_network.py

horovod: .venv-horovod/installed
	.venv-horovod/bin/python notebooks/with_horovod/compare.py $(if $(RECORD),--record)

.venv-horovod/installed: constraints.txt notebooks/with_horovod/install.sh notebooks/with_horovod/cxx17
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" sh notebooks/with_horovod/install.sh .venv-horovod
	@touch $@

bench: install
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python tests/bench/run.py $(if $(RECORD),--record)

gpu: install
	$(BIN)/pytest -rs -m gpu tests

clean:
	rm -rf .venv .venv-horovod .pytest_cache .ruff_cache *.egg-info tests/artifacts site slides
	find course_lib notebooks tests -name __pycache__ -prune -exec rm -rf {} +

# On a fresh machine `make lab` opens the course and `make test` passes its tests; both make .venv first.
# Kept to what make 3.81 knows, the one macOS ships.

PYTHON ?= python3
BIN := .venv/bin
NOTEBOOKS := $(sort $(wildcard notebooks/[0-9]*.ipynb))
# Another file of pins, such as constraints-lowest.txt, goes with a fresh .venv.
CONSTRAINTS := constraints.txt
TORCH_PIN = $(shell grep '^torch==' $(CONSTRAINTS))
# Three files at a time on two cores, for much of the time a test waits: for processes, or for a browser, whose tests
# take longest and go first. A chapter under nbval is a file, too: its cells run again, and their outputs are compared.
PYTEST = $(BIN)/pytest -q -rs -n 3 --dist loadfile --no-loadscope-reorder --nbval --nbval-current-env
# In a container one is often root, and Jupyter wants to hear that it is meant.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
# Without them figures have no alternative texts, and widgets are stills after a reload.
EXTENSIONS := --LabApp.extra_labextensions_path=course_lib/labextensions
# Without it git would take a chapter that was only opened for changed, and a saved widget would be an error message.
SAVING := --ContentsManager.pre_save_hook=course_lib.saving.before_saving
NEWS := @jupyterlab/apputils-extension:announcements
# Of no use to a learner: that a notebook is not trusted until it has run, that kernels' channels are not encrypted.
CALM := --log-level=ERROR --KernelManager.transport_encryption=auto

.PHONY: help install lab lab-network horovod gpu check test test-all mutations coverage notebooks record constraints html slides lecture-check live-slides bench clean

help:
	@echo "make lab               open the course in JupyterLab"
	@echo "make test              what CI runs: lint, types, tests, every cell of every chapter (10 minutes on two cores)"
	@echo "make test-all          the same, every chapter in a browser, and long series (30 minutes)"
	@echo "make check             lint and types only: ruff and mypy (half a minute)"
	@echo "make coverage          which lines of course_lib no test runs, and which tests run which (30 minutes)"
	@echo "make mutations         40 small faults in course_lib, one at a time: do the tests notice? (an hour)"
	@echo "make notebooks [NB=10] [FORCE=1]   build what changed in notebooks/source"
	@echo "make record NB=10      measure a chapter's live cells on this machine, and build it"
	@echo "make html              write the course as an offline site into site/"
	@echo "make slides [LECTURE=core] [FONT=1.3]   write a deck a chapter into slides/; core: the two hours, too"
	@echo "make lecture-check     try this machine before a lecture: what is fine, what is not, the way out"
	@echo "make live-slides       JupyterLab with a slide show whose widgets move (an extension, into .venv)"
	@echo "make lab-network       chapter 5's lab: hosts joined by limited links (Linux, root or user namespaces)"
	@echo "make horovod [RECORD=1]   build Horovod apart (5 to 20 minutes) and compare it with DDP"
	@echo "make gpu               the tests that need a GPU (they skip without one)"
	@echo "make bench [RECORD=1]  time launch, ring, simulator and widgets beside their peers"
	@echo "make constraints       renew constraints.txt: the newest version of everything"
	@echo "make constraints-lowest.txt   the lowest versions that pyproject.toml allows"
	@echo "make install           only make .venv"
	@echo "make clean             remove .venv, .venv-horovod, .venv-uv and what tests left"
	@echo
	@echo "PYTHON=python3.12      the Python that makes .venv (3.11 or newer)"
	@echo "CONSTRAINTS=FILE       the versions that .venv gets, if not those of constraints.txt"
	@echo "TORCH=cpu              PyTorch without CUDA: on Linux a download of 0.2 instead of several GB"

install: .venv/installed

.venv/installed: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'The course needs Python 3.11 or newer. If you have one, name it: make PYTHON=python3.12 ...'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'This Python has no venv module. On Debian and Ubuntu: sudo apt install python3-venv'; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(if $(filter cpu,$(TORCH)),$(BIN)/pip install --no-deps $(TORCH_PIN) --index-url https://download.pytorch.org/whl/cpu)
	$(BIN)/pip install -c $(CONSTRAINTS) -e '.[test]'
	$(BIN)/jupyter labextension disable --level=sys_prefix $(NEWS)
	@touch $@

lab: install
	@runtime=$$($(BIN)/jupyter --runtime-dir) && mkdir -p "$$runtime" 2>/dev/null && test -w "$$runtime" || { \
	  echo 'Jupyter keeps its files below your home folder, where it may not write.'; \
	  echo 'Name a folder where it may: HOME=/tmp/home make lab'; exit 1; }
	@echo "JupyterLab starts. Should no browser open, open the address below, token included, in one."
	@echo "Ctrl-C twice stops it."
	$(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) $(CALM) $(EXTENSIONS) $(SAVING) --LabApp.default_url=/lab/tree/$(firstword $(NOTEBOOKS))

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	@echo "Tests, and every cell of the twelve chapters: usually 9 minutes on two quiet cores."
	$(PYTEST) -m "not slow" tests/browser $(NOTEBOOKS) tests

test-all: check
	@echo "All tests, the slow ones too, and every cell of the twelve chapters: usually 30 minutes on two quiet cores."
	$(PYTEST) --hypothesis-profile=long tests/browser $(NOTEBOOKS) tests

# A process for each file, so that what its subprocesses and ranks run is known to be run by that file.
# A chapter's kernel works in another folder; what it measures shall come here, too. 5: a file's tests are all slow.
coverage: install
	$(BIN)/coverage erase
	ls tests/browser/test_*.py tests/test_*.py $(NOTEBOOKS) | COVERAGE_FILE=$(CURDIR)/.coverage xargs -P 3 -I FILE sh -c \
	  'COURSE_CONTEXT=FILE $(BIN)/coverage run -m pytest -q -m "not slow" --nbval --nbval-current-env FILE || [ $$? = 5 ]'
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

mutations: install
	@test -e .coverage || $(MAKE) coverage
	$(BIN)/python tests/mutations/run.py

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

lecture-check: install
	@$(BIN)/python notebooks/lecture/check.py

live-slides: install
	$(BIN)/pip install -q -c $(CONSTRAINTS) -r notebooks/lecture/requirements-live-slides.txt
	COURSE_PROGRESS=off $(MAKE) lab

lab-network: install
	$(BIN)/python tests/lab_network.py

horovod: .venv-horovod/installed
	.venv-horovod/bin/python notebooks/with_horovod/compare.py $(if $(RECORD),--record)

.venv-horovod/installed: constraints.txt notebooks/with_horovod/install.sh notebooks/with_horovod/cxx17
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" sh notebooks/with_horovod/install.sh .venv-horovod
	@touch $@

# One version of each package for every Python and system. CUDA's come with the build of PyTorch, which pins them.
LOCK = .venv-uv/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --fork-strategy fewest \
  --upgrade --no-header --no-annotate --quiet
WITHOUT_CUDA := grep -Ev '^(cuda|nvidia|triton)'

constraints: .venv-uv/bin/uv
	$(LOCK) --all-extras --output-file .venv-uv/newest.txt
	{ grep '^#' constraints.txt; $(WITHOUT_CUDA) .venv-uv/newest.txt; } > .venv-uv/constraints.txt
	cp .venv-uv/constraints.txt constraints.txt

constraints-lowest.txt: .venv-uv/bin/uv pyproject.toml
	$(LOCK) --extra test --resolution lowest-direct --output-file .venv-uv/lowest.txt
	$(WITHOUT_CUDA) .venv-uv/lowest.txt > $@

.venv-uv/bin/uv:
	$(PYTHON) -m venv --clear .venv-uv
	.venv-uv/bin/pip install -q uv

bench: install
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python tests/bench/run.py $(if $(RECORD),--record)

gpu: install
	$(BIN)/pytest -rs -m gpu tests

clean:
	rm -rf .venv .venv-horovod .venv-uv .pytest_cache .ruff_cache .mypy_cache .coverage* constraints-lowest.txt \
	  *.egg-info tests/artifacts site slides
	find course_lib notebooks tests -name __pycache__ -prune -exec rm -rf {} +

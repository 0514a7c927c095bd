# make book     run the study of CONFIG and leave a book in _build/html/index.html
# make test     run the tests, two minutes; make test-all adds the slow ones: whole runs, kills, a cluster, a browser, sources
# make lint     check style
# make bench    time the engine against others: a quarter of an hour, on an otherwise idle machine
# make faults   kill and disturb a small study 200 times and count what is lost: at most an hour; ARGS=--quick: some minutes
# make book ARGS=--dry-run    say what would run
# make rehearse CONFIG=config/paper.yml    the run of a config with small random models and pictures of noise: minutes, no GPU
# make page PAGE=33_intervals    run what this page needs, and render it alone: seconds
# make archive  the book, then sources, environment, tables and book in _build/babelatlas.tar.gz, for a release
# make clean    remove what runs have made, and nothing else   make lock    resolve requirements.in again
# make vendor   fetch the JavaScript libraries of the explorer and the tests again, with npm: the pinned versions
# Each first makes the environment in .venv if it is missing or older than the lock, but for a dry run; nothing else is downloaded.

CONFIG ?= config/demo.yml
# How many jobs run at once; all: one more than processors, so that these work while a job starts its kernel or writes its page.
CORES ?= all
# A cluster's profile, as in: make book CONFIG=config/full.yml PROFILE=config/slurm (see book/cluster.md)
PROFILE ?=
# How many jobs on GPUs run at once; empty: one on each GPU that CUDA_VISIBLE_DEVICES allows, or JOBS_PER_GPU on each.
GPUS ?=
# How many jobs share a GPU, so that it computes for one while another reads its weights; empty: one.
JOBS_PER_GPU ?=
# Compiled bytecode makes imports, most of a short notebook's time, several times faster.
unexport PYTHONDONTWRITEBYTECODE
# In the locale C, Python before 3.13 could not start in a folder whose name has an umlaut.
ifneq ($(filter C POSIX,$(LC_ALL)),)
export LC_ALL := C.UTF-8
endif
# A Python of 3.11 or later, with venv: make book PYTHON=python3.12
PYTHON ?= python3
# More words for what a target runs, as in: make book ARGS=--dry-run, make test TESTS=tests/stats
ARGS ?=
TESTS ?=
# The page of `make page`: the name of a chapter, or of a page of book/.
PAGE ?=

BIN := .venv/bin
STAMP := .venv/installed
TARGETS := book test test-all rehearse page archive lint bench faults clean lock vendor

# What a person gives is text: make does not expand it (`value`), and recipes take it from the environment, so that no sign in it
# is a command.
GIVEN := CONFIG CORES PROFILE GPUS JOBS_PER_GPU PYTHON ARGS TESTS PAGE
$(foreach name,$(GIVEN),$(eval override $(name) := $$(value $(name))))
export $(GIVEN)
# A misspelt variable would run the demonstration in place of what was meant, a misspelt target would stop after an hour.
COMMAND_LINE := $(strip $(foreach name,$(.VARIABLES),$(if $(findstring command,$(origin $(name))),$(name))))
ifneq ($(COMMAND_LINE),)
$(error There is no variable $(firstword $(COMMAND_LINE)): expected one of $(GIVEN))
endif
UNKNOWN := $(filter-out $(TARGETS) $(STAMP) .venv/bench/installed,$(MAKECMDGOALS))
ifneq ($(UNKNOWN),)
$(error There is no target $(firstword $(UNKNOWN)): expected one of $(TARGETS))
endif

# No result depends on the number of threads that a library would choose, and the demo does not depend on the home folder.
# Other runs store downloads in the user's caches, which `make clean` does not touch.
RUN_ENV := OMP_NUM_THREADS=1
ifeq ($(notdir $(CONFIG)),demo.yml)
RUN_ENV += XDG_CACHE_HOME="$$PWD/_build/cache" HF_HUB_OFFLINE=1
endif

# The folder's lock ends with its process, unlike Snakemake's: a killed run can be called again at once. Unfinished files were
# never renamed into place. A job that fails stops only those that need it, and its log is shown.
SNAKEMAKE = $(BIN)/babelatlas locked -- snakemake $(if $(WANTED),"$(WANTED)") --nolock --rerun-incomplete --keep-going --show-failed-logs \
	--rerun-triggers mtime params input code --quiet rules host reason
# Here: as many jobs as processors and GPUs allow. On a cluster: as its profile says.
ifeq ($(PROFILE),)
WHERE := --cores "$$jobs" $${gpus:+--resources gpu=$$gpus}
else
WHERE := --profile "$$PROFILE"
endif

# The word of ARGS with which Snakemake only says what it would do: --dry-run, or n among short options, as in -n and -np.
SHORT_OPTIONS = $(filter-out --%,$(filter -%,$(ARGS)))
DRY := $(strip $(filter --dry%,$(ARGS)) $(foreach word,$(SHORT_OPTIONS),$(if $(findstring n,$(word)),$(word))))
# A dry run changes nothing, and so makes no environment: it says where there is none, or an older one than the lock.
ENVIRONMENT = $(if $(DRY),,$(STAMP))
CHECK_DRY = @test -z "$(if $(DRY),dry)" || test -x $(BIN)/babelatlas || { printf '%s\n' \
	"A dry run makes no environment, and there is none in .venv: make it with: make $(STAMP)"; exit 1; }; \
	test -z "$(if $(DRY),dry)" || { test $(STAMP) -nt requirements.txt && test $(STAMP) -nt pyproject.toml; } || printf '%s\n' \
	"The environment in .venv is older than the lock; a dry run leaves it as it is, and a run makes it again." >&2

WRITABLE = @test -w . || { printf 'The folder %s cannot be written to: work in a clone of your own.\n' "$$PWD"; exit 1; }

.PHONY: $(TARGETS)
.DEFAULT_GOAL := book

# What Snakemake is to make, for `page`; the whole book without it.
page: WANTED = _build/page/html/$$PAGE.html
book page: $(ENVIRONMENT)
	$(CHECK_DRY)
	$(if $(DRY),,$(WRITABLE))
	@test -f "$$CONFIG" || { printf 'There is no config file %s: give one of %sas CONFIG=...\n' "$$CONFIG" "`ls config/*.yml | tr '\n' ' '`"; exit 1; }
	@test -z "$$PROFILE" || test -f "$$PROFILE/config.yaml" || { printf 'There is no profile %s/config.yaml: give one of %sas PROFILE=...\n' \
		"$$PROFILE" "`ls -d config/*/ | tr '\n' ' '`"; exit 1; }
	@gpus=$${GPUS:-$$($(BIN)/python -m atlas_study.workflow.gpus)} || exit 1; \
	jobs=$$CORES; test "$$jobs" != all || jobs=$$(($$(getconf _NPROCESSORS_ONLN) + 1)); \
	$(RUN_ENV) $(SNAKEMAKE) $(WHERE) --configfile "$$CONFIG" $$ARGS
	@$(if $(DRY)$(filter --until -U --help -h,$(ARGS)),true,echo "The $@: $$PWD/$(or $(WANTED),_build/html/index.html)")

# Texts are fetched as in the real run, or read below BABELATLAS_MIRROR; ARGS=--one: one model, one language, one data set.
rehearse: $(STAMP)
	@config=$$(PYTHONPATH=benchmarks $(RUN_ENV) $(BIN)/python benchmarks/rehearsal.py "$$CONFIG" _build/rehearsal $$ARGS) && \
	$(MAKE) book CONFIG="$$config" ARGS=

# TESTS="tests/stats tests/test_grid.py" names folders or files, and options of pytest. A file that is named runs whole.
test: PICK = $(if $(findstring .py,$(TESTS)),,-m "not slow")
# In the order of tests/conftest.py, the longest first; xdist would begin with the files that have the most tests.
test-all: ORDER = --no-loadscope-reorder
test test-all: $(STAMP)
	$(RUN_ENV) HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadscope $(ORDER) $(PICK) $$TESTS

# What a repository of papers keeps: everything that git knows, which pins the environment, and what the run has made of it. Tables of
# vectors, weights and logs are left out: they are made again.
archive: book
	@run=$$($(BIN)/python -c 'import sys; from atlas_study.workflow import config, plan; values = config.read(sys.argv[1]); \
		print(plan.run_name(values["run"], values.get("limit")))' "$$CONFIG") && \
	{ git ls-files; find _build/html "results/$$run" -type f \( -path '_build/*' -o -name '*.parquet' -o -name '*.ipynb' -o -name '*.json' \) \
		! -path 'results/*/cache/*' ! -path 'results/*/models/*' ! -path 'results/*/embeddings/*'; } | LC_ALL=C sort | \
	tar --create --gzip --file _build/babelatlas.tar.gz --owner 0 --group 0 --files-from - && echo "The archive: $$PWD/_build/babelatlas.tar.gz"

# Of the study's own files, which git knows: scripts of a user are no part of it.
OWN_CODE = git ls-files -z '*.py' '*.ipynb' 2>/dev/null | xargs -0 -r ls -d 2>/dev/null
lint: $(STAMP)
	files=`$(OWN_CODE)`; $(BIN)/ruff check $${files:-.} && $(BIN)/ruff format --check $${files:-.}
	$(BIN)/lint-imports

# ARGS="--quick", ARGS="--gpu": see .venv/bin/python benchmarks/engine.py --help. What chapters take at full size, an hour
# and more: .venv/bin/python benchmarks/load.py
bench: .venv/bench/installed
	$(RUN_ENV) HF_HUB_OFFLINE=1 PYTHONPATH=.venv/bench $(BIN)/python benchmarks/engine.py $$ARGS

# ARGS="--quick", ARGS="--kills 50": see .venv/bin/python benchmarks/faults.py --help
faults: $(STAMP)
	@$(BIN)/python benchmarks/faults.py $$ARGS

.venv/bench/installed: $(STAMP) requirements-bench.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target .venv/bench --no-deps -r requirements-bench.txt
	@touch $@

clean:
	@test -x $(BIN)/babelatlas || echo "There is no environment in .venv, which knows what runs have made: nothing is removed."
	@test ! -x $(BIN)/babelatlas || $(BIN)/babelatlas locked clean

lock: $(STAMP)
	$(BIN)/uv pip compile requirements.in --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--no-header --no-annotate --generate-hashes --upgrade --output-file requirements.txt

vendor: $(STAMP)
	$(BIN)/python benchmarks/vendor.py

$(STAMP): requirements.txt pyproject.toml
	$(WRITABLE)
	@"$$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { printf '%s is missing or older than Python 3.11: %s\n' \
		"$$PYTHON" "install Python 3.11 or later, or name it, as in: make book PYTHON=python3.12"; exit 1; }
	@"$$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || { printf '%s has no venv module: %s\n' "$$PYTHON" \
		"install it (on Debian and Ubuntu: apt-get install python3-venv), or name another Python with PYTHON=..."; exit 1; }
	@echo "Making the environment in .venv (5 to 6 GB, one to five minutes) ..."
	@test -x $(BIN)/python || "$$PYTHON" -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.txt > .venv/uv.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r .venv/uv.txt || true
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.txt \
		$$(command -v nvidia-smi >/dev/null || echo --overrides requirements-nogpu.txt) || \
		{ echo "uv could not install the lock; pip tries, which takes longer ..."; \
		  $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $(STAMP)

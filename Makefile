# Two commands on a fresh machine: make qualify, make test. `make` alone lists the rest.
# make turns every exit code of a recipe into 2; the run's own code (0, 1, 10) stands in its last line. For the code
# itself call pytest directly, as .ci/run does: .venv/bin/python -m pytest -m qualify

ARGS =
PYTEST = .venv/bin/python -m pytest
ENVIRONMENT = sh deploy/environment.sh

.DEFAULT_GOAL = help
.PHONY: help qualify test differential filesystems virtual truth venv benchmark lint bundle clean

help:
	@echo 'make qualify    judge this machine; options: make qualify ARGS="--model /path/to/model.gguf --tier laptop-32g"'
	@echo 'make test       run the self-tests, under 10 minutes on 2 cores'
	@echo 'make venv       make or repair .venv only; tries a failed engine build again'
	@echo 'make differential  hold the model gates against the real engine on some 800 broken sets, and print the table'
	@echo 'make filesystems  as root: mount every filesystem there is a tool for, ask every gate of it, and print the table'
	@echo 'make virtual    boot machines with NVMe, RAID, LVM, LUKS, 9p, two memory nodes and control groups, in software (QEMU)'
	@echo 'make benchmark  measure the suite itself beside fio, vmtouch and others where they are installed; 4 minutes'
	@echo 'make truth      make machines of known truth (root), and show whether the suite names each cause; about 11 minutes'
	@echo 'make lint       ruff and mypy'
	@echo 'make bundle     pack everything for hosts without compiler or internet, into dist/'
	@echo 'make clean      remove .venv and tool caches; reports and the kept engine build stay'

qualify:
	@$(ENVIRONMENT)
	@$(PYTEST) -m qualify --report audit $(ARGS) || { code=$$?; echo "make qualify: the run ended with exit code $$code"; exit $$code; }

test:
	@$(ENVIRONMENT) test
	@$(PYTEST) -rs -m "not qualify and not benchmark and not slow and not root" $(ARGS)

venv:
	@$(ENVIRONMENT) --again test

differential:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m tests.selftest.differential.table $(ARGS)

truth:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m tests.selftest.truth.run $(ARGS)

filesystems:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m tests.selftest.filesystems.table $(ARGS)

virtual:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m tests.selftest.virtual.kit
	@$(PYTEST) -rs -m slow tests/selftest/virtual $(ARGS)

benchmark:
	@$(ENVIRONMENT) test
	@$(PYTEST) -m benchmark -rs tests/benchmarks $(ARGS)

lint:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m mypy

bundle:
	@$(ENVIRONMENT) test
	@.venv/bin/python -m deploy.bundle

clean:
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

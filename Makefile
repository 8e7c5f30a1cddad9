# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Further options of pip, such as the index of torch's small CPU build.
TORCH ?=
PIP := $(BIN)/python -m pip
# Modules are compiled when they are first read: most never are, and compiling all takes a minute of one core.
INSTALL := $(PIP) install --quiet --disable-pip-version-check --no-compile -c constraints.txt $(TORCH)

# Compiled tests and modules are kept: hundreds of files would be compiled again by every process of the suite.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo docs dist test test-slow test-oldest check format clean

# Everything that the tests need, all extras included.
install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev,lm,hf,audit,cluster]'
	touch $(VENV)/.small $(VENV)/.installed

# What the demonstration needs: no extras. Nothing to do where everything is installed.
$(VENV)/.small: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $(VENV)/.small

# A verdict, two trainings and their picture: the first page within a minute, all of it in about two.
demo: $(VENV)/.small
	$(BIN)/lengthwise demo --jobs 2 --out runs -o report.html

test: install
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: install
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

# The tests for Hugging Face with the oldest transformers that is allowed; the others use the newest.
OLDEST := build/oldest-transformers
test-oldest: install
	$(PIP) install --quiet --disable-pip-version-check --upgrade --no-deps --target $(OLDEST) \
	  transformers==5.0.0 tokenizers==0.22.2 huggingface_hub==1.33.0
	PYTHONPATH=$(OLDEST) $(BIN)/python -c "import transformers; print('transformers', transformers.__version__)"
	PYTHONPATH=$(OLDEST) $(BIN)/python -m pytest -n 2 tests/hf

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

# The documentation site, in build/site; warnings are errors.
docs: install
	$(INSTALL) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Wheel and source archive, in dist/, and a look at whether the wheel works by itself in an environment of its own.
dist: install
	rm -rf dist && $(PIP) install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --no-isolation --outdir dist .
	@for file in dist/*; do size=$$(wc -c < $$file); echo "$$file: $$size bytes"; [ $$size -lt 5000000 ] || exit 1; done
	$(PYTHON) -m venv --clear build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(TORCH) dist/lengthwise-*.whl
	cd build && rm -rf wheel-runs && wheel/bin/lengthwise --help >/dev/null && wheel/bin/lengthwise list >/dev/null \
	  && wheel/bin/lengthwise show addition --length 3 && wheel/bin/lengthwise predict addition \
	  && wheel/bin/lengthwise decide '(ab)*' \
	  && wheel/bin/lengthwise run demo --only 'coupled (PPC)' --seed 0 --set training.steps=20 --out wheel-runs \
	  && wheel/bin/lengthwise report wheel-runs -o wheel-runs/report.html

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) runs report.html

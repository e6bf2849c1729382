PYTHON ?= python3
RUN = .venv/bin/python

.PHONY: environment
environment:
	@$(PYTHON) tools/environment.py

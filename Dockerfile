# The study and its environment:
#   docker build --tag babelatlas . && docker run --name atlas babelatlas && docker cp atlas:/study/_build/html book
# The first stage is what a machine needs before `make`; .devcontainer builds on it.
FROM python:3.12.11-slim-bookworm AS base
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium chromium-driver git make \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 atlas && install --directory --owner atlas --group atlas /study
USER atlas
WORKDIR /study

# The environment first, so that it is not made again for each change of the study.
FROM base AS study
COPY --chown=atlas:atlas Makefile pyproject.toml README.md LICENSE requirements.txt requirements-nogpu.txt ./
COPY --chown=atlas:atlas lib lib
RUN make .venv/installed
COPY --chown=atlas:atlas . .
CMD ["make", "book"]

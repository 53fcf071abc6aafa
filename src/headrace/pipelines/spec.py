"""A project's spec: found and read by Spark's own loader, under its rules."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

import yaml
from pyspark.errors import PySparkException
from pyspark.pipelines.cli import PipelineSpec, find_pipeline_spec, load_pipeline_spec

from headrace.errors import ConfigError


def find_spec(start: Path) -> Path:
    """The spec in a folder or the nearest one above it."""
    try:
        return find_pipeline_spec(start)
    except PySparkException as problem:
        raise _config_error(problem, start) from problem


def load_spec(path: Path) -> PipelineSpec:
    if not path.is_file():
        raise ConfigError(
            "PIPELINE_SPEC_FILE_DOES_NOT_EXIST", f"there is no pipeline spec {path}", hint="correct --spec"
        )
    try:
        return load_pipeline_spec(path)
    except PySparkException as problem:
        raise _config_error(problem, path) from problem
    except (yaml.YAMLError, TypeError, KeyError, AttributeError, UnicodeDecodeError) as problem:
        raise ConfigError(
            "PIPELINE_SPEC_INVALID",
            f"the pipeline spec is not as it should be: {problem}",
            at=str(path),
            hint="it needs a name, a storage and libraries: a list of {glob: {include: …}}",
        ) from problem


def storage_folder(spec: PipelineSpec, path: Path) -> Path:
    """The folder that the spec names for what must outlive a run. Spark wants a URI, and a project must run in both."""
    found = urlparse(spec.storage)
    if found.scheme != "file":
        raise ConfigError(
            "PIPELINE_STORAGE_ROOT_INVALID",
            f"storage is {spec.storage!r}: it must be an absolute path of this machine with a scheme, file:///…",
            at=str(path),
            hint="give a folder as a file:// URI; other file systems are not supported yet",
        )
    return Path(unquote(found.path))


def _config_error(problem: PySparkException, at: Path) -> ConfigError:
    code = problem.getCondition() or "PIPELINE_SPEC"
    message = str(problem).removeprefix(f"[{code}] ")
    return ConfigError(code, message, at=str(at), hint="see Spark's guide to pipelines for what a spec may hold")

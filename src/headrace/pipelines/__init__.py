"""Spark Declarative Pipelines projects, maintained by Headrace."""

from headrace.pipelines.project import Project

__all__ = ["Project"]

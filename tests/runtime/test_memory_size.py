"""Amounts of memory as people write them."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.runtime.memory_size import in_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2g", 2 << 30), ("512 MB", 512 << 20), ("1.5k", 1536), ("0", 0), (7, 7), ("3GiB", 3 << 30), ("10b", 10)],
)
def test_read(text: str | int, expected: int) -> None:
    assert in_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "g", "-1", "2 x", "1e3", -5, True, 2.5, None])
def test_refused(text: object) -> None:
    with pytest.raises(ConfigError) as refused:
        in_bytes(text)  # type: ignore[arg-type]
    assert refused.value.code == "MEMORY_SIZE"

"""Names as file names: different ones never meet, and none leaves its folder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.spark.paths import file_name


@given(st.text(), st.text())
def test_different_names_are_different_files(one: str, other: str) -> None:
    if one != other:
        assert file_name(one).lower() != file_name(other).lower()


@given(st.text(min_size=1))
def test_a_name_stays_in_its_folder(name: str) -> None:
    made = file_name(name)
    assert made
    assert len(made) < 143 - len(".json")
    assert made.isascii()
    assert not set(made) & set("./\\%: \0")


def test_names_that_are_near() -> None:
    long = "x" * 200
    names = [
        "a",
        "A",
        "a b",
        "a~20b",
        "a%20b",
        "../a",
        "/a",
        ".",
        "..",
        "é",
        "e\u0301",
        "É",
        long,
        long + "y",
        long + "Y",
    ]
    assert len({file_name(n).lower() for n in names}) == len(names)
    assert file_name("plain_name-1") == "plain_name-1"
    assert file_name("a b") == "a~20b"

"""Positions in a table of files: one that holds stands for the same files as ever, and one that does not is known."""

from __future__ import annotations

import random

from headrace.spark.sources.file_order import FileOrder, TableFile


def files(**sizes: int) -> dict[str, TableFile]:
    return {path: TableFile(path, size, 1, ()) for path, size in sizes.items()}


def counted(found: object) -> list[TableFile]:
    assert isinstance(found, list)
    return found


def extended(order: FileOrder, **sizes: int) -> FileOrder:
    return order.extended(files(**sizes), counted)


def names(order: FileOrder, position: int) -> list[str] | None:
    place = order.place(position)
    return None if place is None else [f.path for f in order.files[:place]]


def test_new_files_come_last() -> None:
    first = extended(FileOrder(), b=1, c=1)
    second = extended(first, b=1, c=1, a=1)
    assert names(second, second.position) == ["b", "c", "a"]
    assert names(second, first.position) == ["b", "c"]
    assert names(second, 0) == []
    assert extended(second, a=1, b=1, c=1) == second


def test_a_file_that_is_gone_cuts_what_was_after_it() -> None:
    first = extended(FileOrder(), a=1)
    second = extended(first, a=1, b=1)
    third = extended(second, a=1, b=1, c=1)
    cut = extended(third, a=1, c=1)
    assert names(cut, first.position) == ["a"]
    assert names(cut, second.position) is None
    assert names(cut, third.position) is None
    assert names(cut, cut.position) == ["a", "c"]
    assert cut.position > third.position
    assert cut.lost == "b"


def test_a_file_that_has_changed_is_another() -> None:
    first = extended(FileOrder(), a=1, b=1)
    cut = extended(first, a=2, b=1)
    assert names(cut, first.position) is None
    assert names(cut, cut.position) == ["b", "a"]
    assert extended(cut, a=2, b=1) == cut


def test_all_gone_is_not_the_beginning() -> None:
    first = extended(FileOrder(), a=1)
    gone = extended(first)
    assert names(gone, gone.position) == []
    assert gone.position > first.position
    assert names(gone, first.position) is None


def test_a_position_that_was_never_given_out_is_not_taken_for_one() -> None:
    order = extended(extended(FileOrder(), a=1, b=1), b=1)
    assert order.place(order.position + 1) is None
    assert order.place(2**40 * 2) is None
    assert FileOrder().place(1) is None


def test_random_histories() -> None:
    """Whatever comes and goes: a position that holds stands for the files that it stood for, and for no others."""
    draw = random.Random(7)
    for _ in range(300):
        order, there, given = FileOrder(), {}, {0: []}
        for _ in range(8):
            for path in draw.sample("abcdef", 2):
                if draw.random() < 0.7:
                    there[path] = draw.randint(1, 2)
                else:
                    there.pop(path, None)
            order = extended(order, **there)
            now = [(f.path, f.size) for f in order.files]
            assert sorted(now) == sorted(there.items())
            assert given.setdefault(order.position, now) == now
            for position, then in given.items():
                place = order.place(position)
                assert place is None or [(f.path, f.size) for f in order.files[:place]] == then
            assert order.position == max(given)

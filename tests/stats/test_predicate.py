"""Predicates as Spark prints them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.stats.predicate import (
    BEGINS,
    LIKE,
    AllOf,
    AnyOf,
    Compared,
    Constant,
    IsNull,
    Matches,
    Not,
    OneOf,
    Other,
    Predicate,
    SameAs,
    function,
    read,
)

DAY = float(date(1998, 9, 2).toordinal())


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("isnotnull(l_shipdate#10)", Not(IsNull("10"))),
        ("isnull(sr_ticket_number#3)", IsNull("3")),
        ("isnull((ps_suppkey#3 = s_suppkey#4))", AnyOf((IsNull("3"), IsNull("4")))),
        ("(l_shipdate#10 <= 1998-09-02)", Compared("10", "<=", DAY)),
        ("(t#1 > 1998-09-02 12:00:00)", Compared("1", ">", DAY + 0.5)),
        ("(c_mktsegment#6 = BUILDING)", Compared("6", "=", None)),
        ("(p_brand#7 = Brand#x)", Compared("7", "=", None)),
        ("(sum(l_quantity)#12 > 300.00)", Compared("12", ">", 300.0)),
        ("(5 < a#1)", Compared("1", ">", 5.0)),
        ("(rows#n3 >= 10)", Compared("n3", ">=", 10.0)),
        ("(a#1 = b#2)", SameAs("1", "=", "2")),
        ("(l_commitdate#1 < l_receiptdate#2)", SameAs("1", "<", "2")),
        ("NOT (n_name#1 = n_name#2)", Not(SameAs("1", "=", "2"))),
        ("(cast(a#1 as int) = 5)", Compared(None, "=", 5.0)),
        ("(year(d#1) >= 1995)", Compared(None, ">=", 1995.0)),
        ("p_size#5 IN (1,2,3)", OneOf("5", 3)),
        ("d_month_seq#5 INSET 1200, 1201, 1202, 1203", OneOf("5", 4)),
        ("NOT p_size#5 IN (1,2)", Not(OneOf("5", 2))),
        ("substring(c_phone#1, 1, 2) IN (13,31)", OneOf(None, 2)),
        ("p_name#1 LIKE forest%", Matches(LIKE)),
        ("StartsWith(p_type#1, MEDIUM POLISHED)", Matches(BEGINS)),
        ("Contains(p_name#1, green)", Matches(LIKE)),
        ("((a#1 = 1) OR (a#1 = 2))", AnyOf((Compared("1", "=", 1.0), Compared("1", "=", 2.0)))),
        ("((a#1 > 1) AND (b#2 < 2))", AllOf((Compared("1", ">", 1.0), Compared("2", "<", 2.0)))),
        ("true", Constant(True)),
        ("CASE WHEN (a#1 > 0) THEN (b#2 > 1) END", Other()),
    ],
)
def test_what_a_text_means(text: str, meaning: Predicate) -> None:
    assert read(text) == meaning


@settings(deadline=None)
@given(st.text(st.sampled_from("ab #1()=<>,. ANDORINT'"), max_size=40))
def test_any_text_means_something(text: str) -> None:
    read(text)


def test_functions() -> None:
    assert function("year(o_orderdate#41)") == "year"
    assert function("(a#1 + b#2)") == ""

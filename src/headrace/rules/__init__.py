"""What may be rewritten into what.

``RELATIONAL`` and ``DELTA`` are the rules among which the simple planner chooses, in the order of its preference.
Choosing by cost has ``METHODS`` besides: the families of rules that maintain a query in one way.
"""

from headrace.errors import ConfigError
from headrace.rules.delta.aggregate import add_new_keys, merge_partials, regroup_touched
from headrace.rules.delta.join import telescope_join
from headrace.rules.delta.limit import take_first, take_first_or_all
from headrace.rules.delta.linear import pass_delta
from headrace.rules.delta.pair_join import rejoin_keys, rejoin_left
from headrace.rules.delta.window import redo_partitions
from headrace.rules.hov import join_views, split_member
from headrace.rules.im2 import carry_parts, merge_parts
from headrace.rules.ojv import lose_matched, refate_met
from headrace.rules.relational.flatten_join import flatten_join
from headrace.rules.relational.match_counts import match_counts
from headrace.rules.relational.outer_parts import split_outer
from headrace.rules.relational.partial_states import partial_states
from headrace.rules.relational.push_aggregate import push_aggregate
from headrace.rules.relational.split_distinct import split_distinct
from headrace.rules.rule import ANY, CHANGES, Link, Rule, rule
from headrace.rules.version.difference import recompute_operator, take_difference
from headrace.rules.version.merge import merge_delta

RELATIONAL: tuple[Rule, ...] = (flatten_join, match_counts, split_distinct, partial_states)

DELTA: tuple[Rule, ...] = (
    add_new_keys,
    pass_delta,
    telescope_join,
    merge_partials,
    regroup_touched,
    redo_partitions,
    rejoin_keys,
    rejoin_left,
    take_first,
    take_first_or_all,
    recompute_operator,
)

INTER: tuple[Rule, ...] = (
    split_outer,
    carry_parts,
    merge_parts,
    lose_matched,
    refate_met,
    split_member,
    join_views,
    push_aggregate,
)

VERSION: tuple[Rule, ...] = (merge_delta, take_difference)

RULES: tuple[Rule, ...] = (*RELATIONAL, *DELTA, *INTER, *VERSION)

_OWN: list[Rule] = []


def add_rule(own: Rule) -> None:
    """Let every plan that is made from now on choose among what this rule yields too. It is a rule of every method: of
    its name and its kind nothing else needs to know. One of the same name takes the place of the one before."""
    if any(own.name == r.name for r in RULES):
        raise ConfigError("RULE", f"there is a rule {own.name} already", hint="give it another name")
    _OWN[:] = [r for r in _OWN if r.name != own.name] + [own]


def all_rules() -> tuple[Rule, ...]:
    """The rules that choosing by cost has, those from outside among them."""
    return (*RULES, *_OWN)


# What each method has besides rules that are its own. HOV is about joins; outer joins are maintained as by IM-1.
METHODS: dict[str, frozenset[str]] = {
    "IM-1": frozenset({ANY, CHANGES, "IM-1"}),
    "IM-2": frozenset({ANY, CHANGES, "IM-2"}),
    "OJV": frozenset({ANY, CHANGES, "OJV"}),
    "HOV": frozenset({ANY, CHANGES, "IM-1", "HOV"}),
    "recompute": frozenset({ANY}),
}

__all__ = [
    "ANY",
    "CHANGES",
    "DELTA",
    "INTER",
    "METHODS",
    "RELATIONAL",
    "RULES",
    "VERSION",
    "Link",
    "Rule",
    "add_rule",
    "all_rules",
    "rule",
]

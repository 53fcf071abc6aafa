"""What may be rewritten into what: the rules, in the order in which the simple planner prefers them."""

from headrace.rules.delta.aggregate import merge_partials, regroup_touched
from headrace.rules.delta.join import telescope_join
from headrace.rules.delta.linear import pass_delta
from headrace.rules.delta.pair_join import rejoin_keys, rejoin_left
from headrace.rules.delta.window import redo_partitions
from headrace.rules.relational.flatten_join import flatten_join
from headrace.rules.relational.match_counts import match_counts
from headrace.rules.relational.partial_states import partial_states
from headrace.rules.relational.split_distinct import split_distinct
from headrace.rules.rule import Rule, rule
from headrace.rules.version.difference import recompute_operator

RELATIONAL: tuple[Rule, ...] = (flatten_join, match_counts, split_distinct, partial_states)

DELTA: tuple[Rule, ...] = (
    pass_delta,
    telescope_join,
    merge_partials,
    regroup_touched,
    redo_partitions,
    rejoin_keys,
    rejoin_left,
    recompute_operator,
)

__all__ = ["DELTA", "RELATIONAL", "Rule", "rule"]

"""A rule of your own: planning by cost chooses among what it yields, and nothing else needs to change.

The law comes first, then the rule:

    Filter p (Union A B) = Union (Filter p A) (Filter p B)

Weights pass through both sides alike, so it holds for changes too. It pays where one of several tables that are put
together only rarely changes: what is kept of the others is then filtered before it is put together.
"""

from collections.abc import Iterator

from headrace.ir.expr import Attr, Expr
from headrace.ir.rel import Filter, Node, Source, Union
from headrace.memo.memo import Memo
from headrace.planner.explore import Engine
from headrace.rules import add_rule, all_rules, rule


@rule("relational", "filter first", Filter)
def push_filter_below_union(node: Filter, memo: Memo) -> Iterator[Node]:
    for union in memo.members(node.input, Union):
        if all(order == union.columns for order in union.orders):  # the predicate names columns of the union
            filtered = tuple(Filter(branch, node.conjuncts) for branch in union.branches)
            yield Union(filtered, union.orders, union.columns)


add_rule(push_filter_below_union)

# What SQL would give: SELECT * FROM (TABLE web UNION ALL TABLE store) WHERE price > 100
price = Attr("p", "price", "int")
web, store = (Source(name, (price,), ("price",)) for name in ("web", "store"))
both = Union((web, store), ((price,), (price,)), (price,))
query = Filter(both, (Expr("price#p > 100", frozenset({"p"}), "boolean"),))

memo = Memo()
root = memo.add(query)
engine = Engine(memo, all_rules())
engine.explore(root)

print("ways to compute the query:")
for member in memo.made(root):
    print(f"  {type(member.node).__name__:<8} by {', '.join(member.rules)}")
print("the rule fired", sum(f.rule == "push_filter_below_union" for f in engine.trace), "time(s)")

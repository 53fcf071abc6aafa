"""What work costs: the seconds of every node, by its rows and bytes.

A price is of the node alone, without its inputs. A large step is a Spark job on all cores, which shuffles or broadcasts
where keys must meet; a small one is computed in the driver's own thread, where nothing moves. Fixed prices count as
much as rows: a job that touches nothing still costs tens of milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from headrace.cost.prices import Prices
from headrace.ir.near import Near
from headrace.ir.probe import AccumulateFound, Lookup, Missing, Probe
from headrace.ir.rel import (
    Accumulate,
    Aggregate,
    Consolidate,
    Constant,
    Delta,
    EvalPython,
    Expand,
    Filter,
    Finish,
    Generate,
    Head,
    Join,
    Keys,
    Limit,
    Load,
    Meeting,
    Node,
    Opaque,
    PairJoin,
    Partials,
    Project,
    Restrict,
    Shortfall,
    Snapshot,
    Source,
    Union,
    Window,
)
from headrace.stats.cardinality import Estimate
from headrace.stats.joins import fewest_first, join_sizes

_BROADCAST = 10 * 2**20  # bytes up to which Spark copies a side of a join to every task
_RECORD = 48.0  # bytes of a row in a hash table of Spark beside its columns


@dataclass(frozen=True)
class Cost:
    """Seconds by what they are spent on, and the bytes held in memory meanwhile."""

    cpu: float = 0.0
    io: float = 0.0
    network: float = 0.0
    fixed: float = 0.0
    memory: float = 0.0

    @property
    def seconds(self) -> float:
        return self.cpu + self.io + self.network + self.fixed

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.cpu + other.cpu,
            self.io + other.io,
            self.network + other.network,
            self.fixed + other.fixed,
            self.memory + other.memory,
        )

    def __mul__(self, factor: float) -> Cost:
        """So many times as long; what is held stays as large."""
        return Cost(self.cpu * factor, self.io * factor, self.network * factor, self.fixed * factor, self.memory)


NOTHING = Cost()


@dataclass(frozen=True)
class Pricing:
    """Prices of nodes in a step that is large or small."""

    prices: Prices
    large: bool

    @property
    def cores(self) -> float:
        return self.prices.cores if self.large else 1.0

    def cpu(self, seconds: float) -> Cost:
        return Cost(cpu=seconds / self.cores)

    def planned(self) -> Cost:
        """Planning a node, whatever it does."""
        return Cost(fixed=self.prices.operator if self.large else self.prices.prepared)

    def node(self, node: Node, inputs: tuple[Estimate, ...], output: Estimate, found: Collection[int] = ()) -> Cost:
        """A node over inputs, of which those at the places ``found`` are looked up by key."""
        p = self.prices
        match node:
            case Snapshot(of=Source()) | Delta(of=Source()):
                return self.scanned(output, p.scan_row)
            case Load():
                return self.scanned(output, p.load_row)
            case Near(input=Load()):
                return self.scanned(output, p.load_row)
            case Near():
                return self.scanned(output, p.scan_row)
            case Source() | Snapshot() | Delta() | Constant():
                return NOTHING
            case Filter(conjuncts=conjuncts):
                return self.cpu(inputs[0].rows * p.filter_row * max(len(conjuncts), 1))
            case Project(columns=columns):
                return self.cpu(inputs[0].rows * p.project_row * sum(not c.plain for c in columns))
            case Expand() | Generate():
                return self.cpu(output.rows * p.project_row)
            case Finish(calls=calls):
                return self.cpu(inputs[0].rows * p.project_row * len(calls))
            case EvalPython():
                return self.cpu(inputs[0].rows * p.python_row)
            case Union():
                return NOTHING
            case Join():
                return self.joined(node, inputs, output, found)
            case PairJoin(keys=keys):
                return self.paired(inputs[0], inputs[1], output.rows, keyed=bool(keys))
            case Aggregate(keys=keys, calls=calls) | Partials(keys=keys, calls=calls):
                return self.grouped(inputs[0], output, p.aggregate_row * (1 + len(calls)), keyed=bool(keys))
            case Keys():
                total = Estimate(sum(i.rows for i in inputs), width=output.width)
                return self.grouped(total, output, p.aggregate_row, keyed=True)
            case Consolidate():
                return self.grouped(inputs[0], output, p.consolidate_row, keyed=True)
            case Accumulate():
                state, change = inputs
                return self.paired(state, change, output.rows, keyed=True) + self.cpu(output.rows * p.project_row)
            case Restrict() if found:
                return self.looked_up(inputs[1].rows, output.rows)
            case Restrict():
                return self.paired(inputs[0], inputs[1], output.rows, keyed=True)
            case Meeting():
                return self.paired(inputs[0], inputs[1], output.rows, keyed=False)
            case Window(partition=partition):
                return self.sorted(inputs[0], spread=bool(partition)) + self.cpu(output.rows * p.project_row)
            case Limit():
                return self.cpu(inputs[0].rows * p.project_row + output.rows * p.sort_row) + self.stage()
            case Head():
                both = Estimate(inputs[0].rows + inputs[1].rows, width=output.width)
                first = self.cpu(both.rows * p.project_row + inputs[0].rows * p.sort_row) + self.stage()
                return self.grouped(both, both, p.consolidate_row, keyed=True) + first
            case Shortfall():
                return self.grouped(inputs[0], output, p.aggregate_row, keyed=False)
            case Opaque():
                return self.sorted(Estimate(sum(i.rows for i in inputs), width=output.width), spread=True)
            case Probe() | Lookup() | Missing():
                return self.looked_up(inputs[0].rows, output.rows)
            case AccumulateFound():
                return self.cpu(inputs[0].rows * (p.lookup_row + p.project_row) + output.rows * p.found_row)
        return NOTHING  # Negate, Measured, Provided, Fallback

    def looked_up(self, asked: float, found: float) -> Cost:
        return self.cpu(asked * self.prices.lookup_row + found * self.prices.found_row)

    def scanned(self, rows: Estimate, each: float) -> Cost:
        p = self.prices
        return Cost(cpu=rows.rows * each / self.cores, io=rows.bytes * p.scan_byte / self.cores, fixed=p.open_file)

    def stage(self) -> Cost:
        return Cost(fixed=self.prices.stage) if self.large else NOTHING

    def shuffled(self, rows: Estimate) -> Cost:
        """Rows sent to where their keys meet; in a small step they are all in one place."""
        if not self.large:
            return NOTHING
        p = self.prices
        return Cost(network=(rows.rows * p.shuffle_row + rows.bytes * p.shuffle_byte) / self.cores, fixed=p.stage)

    def joined(self, join: Join, inputs: tuple[Estimate, ...], output: Estimate, found: Collection[int] = ()) -> Cost:
        """Outwards from the first member, one after another; where rows are looked up, the fewest first."""
        if found:
            order = fewest_first(join, inputs)
            found = [place for place, old in enumerate(order) if old in found]
            join, inputs = replace(join, members=tuple(join.members[i] for i in order)), tuple(inputs[i] for i in order)
        sizes = [*join_sizes(join, inputs)[:-1], output.rows]
        links = [e.refs for e in join.equals]
        seen = {a.id for a in join.members[0].attrs}
        total, width = NOTHING, inputs[0].width
        for place, (member, new) in enumerate(zip(join.members[1:], inputs[1:], strict=True), 1):
            own = {a.id for a in member.attrs}
            keyed = any(refs & own and refs - own <= seen and refs & seen for refs in links)
            if place in found:
                total += self.looked_up(sizes[place - 1], sizes[place])
            else:
                total += self.paired(Estimate(sizes[place - 1], width=width), new, sizes[place], keyed=keyed)
            seen |= own
            width += new.width
        if len(inputs) == 1:
            total += self.cpu(inputs[0].rows * self.prices.filter_row * max(len(links) + len(join.residual), 1))
        return total

    def paired(self, left: Estimate, right: Estimate, out: float, *, keyed: bool) -> Cost:
        p = self.prices
        few, many = sorted((left, right), key=lambda e: e.bytes)
        found = self.cpu(out * p.joined_row)
        if not keyed:
            return found + self.cpu(left.rows * right.rows * p.compare_pair) + self.broadcast(few)
        if self.large and few.bytes > _BROADCAST:  # Spark sorts both sides where their keys meet
            return found + self.sorted(left, spread=True) + self.sorted(right, spread=True)
        hashed = self.cpu(few.rows * p.build_row + many.rows * p.probe_row)
        return found + hashed + Cost(memory=few.rows * (_RECORD + few.width)) + self.broadcast(few)

    def broadcast(self, rows: Estimate) -> Cost:
        if not self.large:
            return NOTHING
        return Cost(network=rows.bytes * self.prices.broadcast_byte, fixed=self.prices.job)

    def grouped(self, rows: Estimate, output: Estimate, each: float, *, keyed: bool) -> Cost:
        """Groups are made where rows are, and again where their keys meet."""
        p = self.prices
        work = self.cpu(rows.rows * each + output.rows * p.group_row)
        held = Cost(memory=output.rows * (_RECORD + output.width))
        parts = min(rows.rows, output.rows * self.cores)
        return work + held + (self.shuffled(Estimate(parts, width=output.width)) if keyed else self.stage())

    def sorted(self, rows: Estimate, *, spread: bool) -> Cost:
        levels = max(math.log2(max(rows.rows, 2.0)) / 20, 0.2)  # the price is of a million rows
        cost = self.cpu(rows.rows * self.prices.sort_row * levels)
        if not spread:  # all in one place
            cost = Cost(cpu=rows.rows * self.prices.sort_row * levels)
        return cost + self.shuffled(rows)

    def written(self, rows: float, size: float) -> Cost:
        p = self.prices
        if not self.large:
            return Cost(cpu=rows * p.collect_row, io=size * p.save_byte)
        return Cost(cpu=rows * p.save_row / self.cores, io=size * p.save_byte / self.cores, fixed=p.write)

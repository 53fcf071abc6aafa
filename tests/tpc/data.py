"""The base tables: a few thousand rows that still answer nearly every query.

Thinning a TPC data set out at random leaves most answers empty, because the queries look for rare values.
So the data is *folded*: of each dimension a few dozen rows are kept, those first that the queries ask for,
and every foreign key is mapped onto a kept row. Equal keys stay equal, so sales still meet their returns.
The mapping favours the first rows, as real data has favourites. Dates are folded onto every 13th day:
13 has no common divisor with 7, so that all days of the week stay, and each month keeps two or three.

No join finds its partner by luck alone, and none is guaranteed one: dimensions keep rows that no fact
refers to, foreign keys stay NULL where they were.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

Tables = dict[str, pa.Table]

VERSION = 2
"""Part of the name of every cached folder: raise it when this file makes other rows."""

FIRST_DAY = 2450815  # d_date_sk of 1998-01-01, where the sales begin
HOT_DAYS = 144  # up to 2003-02: sales end in 2002, shipping and returns go on
STEP = 13


def base_tables(benchmark: str, folder: Path) -> Tables:
    """The tables of "h" or "ds", made in `folder` unless they are there already."""
    home = folder / f"{benchmark}-{VERSION}"
    if not home.exists():
        folder.mkdir(parents=True, exist_ok=True)
        raw, partial = (Path(tempfile.mkdtemp(prefix=f"{benchmark}-", dir=folder)) for _ in range(2))
        with duckdb.connect() as db:
            db.execute("SET threads = 2")
            db.execute(
                "CREATE MACRO u(x, salt) AS "
                "CAST(concat('0x', left(md5(concat(salt, ':', x)), 7)) AS INTEGER) / 268435456.0"
            )
            make = {"h": _make_h, "ds": _make_ds}[benchmark]
            for table, sql in make(db, raw).items():
                db.execute(f"COPY (FROM ({sql}) ORDER BY ALL) TO '{partial / table}.parquet' (FORMAT parquet)")
        shutil.rmtree(raw)
        publish(partial, home)
    return {file.stem: _nullable(pq.read_table(file)) for file in sorted(home.glob("*.parquet"))}


def publish(partial: Path, home: Path) -> None:
    """Give a finished folder its name, unless another process was faster."""
    try:
        partial.rename(home)
    except OSError:
        if not home.exists():
            raise
        shutil.rmtree(partial)


def _nullable(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


def _generate(benchmark: str, scale: float, folder: Path, tables: Iterable[str] = ()) -> None:
    command = Path(sysconfig.get_path("scripts")) / "tpcgen-cli"
    only = ["--tables", ",".join(tables)] if tables else []
    subprocess.run(
        [str(command), f"tpc{benchmark}", "parquet", "-s", str(scale), "-o", str(folder), "-q", *only],
        check=True,
    )


def _views(db: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        db.execute(f"CREATE OR REPLACE VIEW {file.stem} AS SELECT * FROM '{file}'")


def _pick(db: duckdb.DuckDBPyConnection, table: str, key: str, wanted: dict[str, int]) -> list[int]:
    """Keys of rows that satisfy each condition, as many as it says, the first condition's rows first."""
    keys: dict[int, None] = {}
    for condition, count in wanted.items():
        found = db.execute(
            f"SELECT {key} FROM {table} WHERE {condition} ORDER BY u({key}, '{table}'), {key} LIMIT {count}"
        ).fetchall()
        keys.update(dict.fromkeys(row[0] for row in found))
    return list(keys)


def _onto(keys: list[int], position: str) -> str:
    """The key at a position given as a fraction: squared, so that the first keys come up most often."""
    literal = ", ".join(map(str, keys))
    return f"([{literal}])[1 + CAST(floor({len(keys)} * power({position}, 2)) AS INTEGER)]"


# --- TPC-H ----------------------------------------------------------------------------------------


def _make_h(db: duckdb.DuckDBPyConnection, raw: Path) -> dict[str, str]:
    _generate("h", 0.01, raw / "facts")
    _generate("h", 0.1, raw / "parts", ["part", "partsupp"])  # some kinds of part are rarer than one in 2000
    _views(db, raw / "facts")
    _views(db, raw / "parts")
    parts = _pick(
        db,
        "part",
        "p_partkey",
        {
            "p_brand = 'Brand#23' AND p_container = 'MED BOX'": 4,
            "p_name LIKE 'forest%'": 8,
            "p_size = 15 AND p_type LIKE '%BRASS'": 8,
            "p_brand = 'Brand#12' AND p_container LIKE 'SM %' AND p_size <= 5": 2,
            "p_brand = 'Brand#34' AND p_container LIKE 'LG %' AND p_size <= 15": 2,
            "p_type = 'ECONOMY ANODIZED STEEL'": 4,
            "p_type LIKE 'PROMO%'": 10,
            "p_name LIKE '%green%'": 15,
            "p_size IN (49, 14, 23, 45, 19, 3, 36, 9)": 30,
            "true": 110,
        },
    )
    customers = _pick(db, "customer", "c_custkey", {"c_custkey % 3 > 0": 160, "true": 90})
    nations = _pick(
        db,
        "nation",
        "n_nationkey",
        {
            "n_name = 'CANADA'": 1,
            "n_name = 'SAUDI ARABIA'": 1,
            "n_name = 'GERMANY'": 1,
            "n_name = 'FRANCE'": 1,
            "n_regionkey = 2": 3,
            "true": 25,
        },
    )
    db.execute(
        # Large orders whole, for what is summed by order; of others some lines only.
        f"""CREATE TABLE lines AS SELECT *, {_onto(parts, "u(l_partkey, 'part')")} AS part FROM lineitem
        WHERE u(l_orderkey, 'order') < 0.07 OR u(l_orderkey * 8 + l_linenumber, 'line') < 0.015
        OR l_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY ALL HAVING sum(l_quantity) > 290)"""
    )
    db.execute(
        # Four suppliers for each part, out of the 100 that there are at the smaller scale.
        f"""CREATE TABLE supplied AS SELECT * REPLACE (1 + (ps_partkey * 7 + place * 23) % 100 AS ps_suppkey)
        FROM (SELECT *, row_number() OVER (PARTITION BY ps_partkey ORDER BY ps_suppkey) - 1 AS place
              FROM partsupp WHERE ps_partkey IN ({", ".join(map(str, parts))}))"""
    )
    nation_of = _onto(nations, "u(s_suppkey, 'nation')")
    # The last fifth of the customers gets no order: two queries look for such customers.
    customer_of = _onto(customers[: len(customers) * 4 // 5], "u(o_custkey, 'customer')")
    return {
        "region": "SELECT * FROM region",
        "nation": "SELECT * FROM nation",
        "supplier": f"SELECT * REPLACE ({nation_of} AS s_nationkey) FROM supplier",
        "customer": f"SELECT * FROM customer WHERE c_custkey IN ({', '.join(map(str, customers))})",
        "part": f"SELECT * FROM part WHERE p_partkey IN ({', '.join(map(str, parts))})",
        "partsupp": "SELECT * EXCLUDE (place) FROM supplied",
        "orders": f"""SELECT * REPLACE ({customer_of} AS o_custkey) FROM orders
            WHERE o_orderkey IN (SELECT l_orderkey FROM lines)""",
        # A line's supplier is one of the four that supply its part.
        "lineitem": """SELECT lines.* EXCLUDE (part) REPLACE (part AS l_partkey, ps_suppkey AS l_suppkey)
            FROM lines JOIN supplied ON ps_partkey = part AND place = l_suppkey % 4""",
    }


# --- TPC-DS ---------------------------------------------------------------------------------------

# The kept rows of each dimension, by what the queries ask for.
WANTED: dict[str, dict[str, int]] = {
    "item": {
        "i_color = 'peach'": 2,
        "i_category = 'Women' AND i_class = 'maternity'": 2,
        "i_manufact_id = 977": 2,
        "i_manufact_id = 350": 2,
        "i_manufact_id IN (129, 270, 821, 423) AND i_current_price BETWEEN 62 AND 92": 2,
        "i_manufact_id IN (677, 940, 694, 808) AND i_current_price BETWEEN 68 AND 98": 2,
        "i_current_price BETWEEN 0.99 AND 1.49": 3,
        "i_manager_id = 1": 4,
        "i_manufact_id = 128": 2,
        "i_current_price BETWEEN 65 AND 74 AND i_color IN ('purple', 'burlywood', 'indian', 'spring')": 3,
        "i_manager_id = 8": 3,
        "i_manager_id = 28": 3,
        "i_color IN ('slate', 'blanched', 'burnished')": 3,
        "i_category = 'Music'": 2,
        "i_category = 'Electronics'": 2,
        "i_category = 'Jewelry'": 2,
        "i_category = 'Books'": 5,
        "i_category = 'Sports'": 2,
        "i_category = 'Home'": 2,
        "i_class IN ('personal', 'portable', 'reference', 'self-help') AND i_brand LIKE 'scholaramalg%'": 3,
        "i_class IN ('accessories', 'classical', 'fragrances', 'pants') AND i_brand LIKE '%importo #1'": 3,
        "i_class IN ('computers', 'stereo', 'football', 'shirts', 'birdal', 'dresses')": 4,
        "i_category = 'Women' AND i_color IN ('brown', 'honeydew') AND i_size IN ('N/A', 'small')"
        " AND i_units IN ('Bunch', 'Ton')": 2,
        "i_item_sk IN (2, 3, 5, 7)": 4,
        "true": 12,
    },
    "customer": {"c_preferred_cust_flag = 'Y'": 60, "true": 120},
    "customer_address": {
        "ca_county = 'Williamson County' AND ca_state = 'TN'": 1,
        "ca_state = 'GA'": 2,
        "ca_zip IN ('31904', '35709') AND ca_country IS NOT NULL": 2,
        "ca_county IN ('Rush County', 'Toole County', 'Dona Ana County', 'La Porte County')": 2,
        "ca_city = 'Edgewood'": 2,
        "ca_state = 'IL'": 2,
        "ca_state = 'TX' AND ca_country = 'United States'": 2,
        "ca_state IN ('OH', 'KY') AND ca_country = 'United States'": 2,
        "ca_state IN ('VA', 'MS', 'NM', 'IN') AND ca_country = 'United States'": 4,
        "ca_gmt_offset = -7": 2,
        "ca_gmt_offset = -5": 4,
        "substr(ca_zip, 1, 5) IN ('31387', '35258', '35458', '35576', '35474', '31029', '31880')": 2,
        "substr(ca_zip, 1, 5) IN ('85669', '86197', '88274', '83405', '86475', '85392', '85460')": 3,
        "true": 15,
    },
    "customer_demographics": {
        "cd_gender = 'M' AND cd_marital_status = 'S' AND cd_education_status = 'College'": 5,
        "cd_marital_status = 'M' AND cd_education_status = 'Advanced Degree'": 2,
        "cd_gender = 'F' AND cd_education_status = 'Unknown'": 3,
        "cd_marital_status = 'M' AND cd_education_status = '4 yr Degree'": 2,
        "cd_marital_status = 'M' AND cd_education_status = 'Unknown'": 2,
        "cd_marital_status = 'W' AND cd_education_status = 'Advanced Degree'": 2,
        "cd_marital_status = 'W' AND cd_education_status = '2 yr Degree'": 2,
        "cd_marital_status = 'D' AND cd_education_status = '2 yr Degree'": 3,
        "true": 15,
    },
    "household_demographics": {
        "hd_buy_potential = '>10000' AND hd_vehicle_count > 0 AND hd_dep_count > 2 * hd_vehicle_count": 3,
        "hd_buy_potential = 'Unknown' AND hd_vehicle_count > 0 AND hd_dep_count > 2 * hd_vehicle_count": 3,
        "hd_dep_count = 3": 2,
        "hd_dep_count = 1": 2,
        "hd_dep_count = 6": 2,
        "hd_dep_count = 7": 2,
        "hd_dep_count IN (0, 2, 4) AND hd_vehicle_count <= 2": 4,
        "hd_income_band_sk BETWEEN 5 AND 8": 4,
        "true": 10,
    },
    "time_dim": {
        "t_hour = 8 AND t_minute >= 30": 3,
        "t_hour = 20 AND t_minute >= 30": 3,
        "t_hour = 9": 4,
        "t_hour = 10": 4,
        "t_hour = 11": 4,
        "t_hour = 12": 3,
        "t_hour = 19": 3,
        "t_meal_time = 'breakfast'": 3,
        "t_meal_time = 'dinner'": 3,
        "true": 20,
    },
    "store": {"s_store_sk IN (2, 4, 5)": 3, "s_store_sk IN (1, 7, 8, 10)": 4},
    "promotion": {"p_channel_dmail = 'Y'": 5, "true": 8},
    "catalog_page": {"true": 20},
    "web_page": {"wp_char_count BETWEEN 5000 AND 5200": 2, "true": 8},
    "web_site": {"web_company_name = 'pri'": 2, "true": 5},
    "call_center": {"true": 6},
    "reason": {"r_reason_desc = 'reason 28'": 1, "r_reason_sk = 1": 1, "true": 8},
    "ship_mode": {"sm_carrier IN ('DHL', 'BARIAN')": 3, "true": 20},
    "warehouse": {"w_warehouse_name IS NOT NULL": 4, "true": 5},
    "income_band": {"true": 20},
}

# The dimension that a column refers to, by how its name ends.
REFERENCES = {
    "item_sk": "item",
    "customer_sk": "customer",
    "addr_sk": "customer_address",
    "cdemo_sk": "customer_demographics",
    "hdemo_sk": "household_demographics",
    "time_sk": "time_dim",
    "store_sk": "store",
    "promo_sk": "promotion",
    "catalog_page_sk": "catalog_page",
    "web_page_sk": "web_page",
    "web_site_sk": "web_site",
    "call_center_sk": "call_center",
    "reason_sk": "reason",
    "ship_mode_sk": "ship_mode",
    "warehouse_sk": "warehouse",
}

# At the scale of the facts these dimensions have one row or two, so the key alone does not tell rows apart:
# an order stays in one store, its lines come from several warehouses.
BY_ORDER = {"store", "promotion", "web_page", "web_site", "call_center", "catalog_page"}
BY_LINE = {"warehouse"}

# Sales and returns: their order number and their item.
FACTS = {
    "store_sales": ("ss_ticket_number", "ss_item_sk"),
    "store_returns": ("sr_ticket_number", "sr_item_sk"),
    "catalog_sales": ("cs_order_number", "cs_item_sk"),
    "catalog_returns": ("cr_order_number", "cr_item_sk"),
    "web_sales": ("ws_order_number", "ws_item_sk"),
    "web_returns": ("wr_order_number", "wr_item_sk"),
}

# Of the sales: the share of whole orders, of single lines, and of lines that came back or made little profit.
SHARES = {"store": (0.015, 0.01, 0.05), "catalog": (0.018, 0.008, 0.05), "web": (0.09, 0.05, 0.3)}


def _make_ds(db: duckdb.DuckDBPyConnection, raw: Path) -> dict[str, str]:
    _generate("ds", 0.01, raw / "facts")
    _generate("ds", 1, raw / "dimensions", sorted(WANTED.keys() - {"time_dim", "catalog_page"}))
    _views(db, raw / "facts")
    _views(db, raw / "dimensions")  # at scale 1 there are more stores, warehouses and web sites

    keys, made = {}, {}
    for table, wanted in WANTED.items():
        key = _columns(db, table)[0]
        keys[table] = _pick(db, table, key, wanted)
    for table in WANTED:
        key = _columns(db, table)[0]
        made[table] = f"{_folded(db, table, keys)} WHERE {key} IN ({', '.join(map(str, keys[table]))})"
    days = [FIRST_DAY + STEP * i for i in range(HOT_DAYS)]
    made["date_dim"] = f"""SELECT * FROM date_dim WHERE d_date = DATE '2000-01-03'
        OR d_date_sk IN ({", ".join(str(day + near) for day in days for near in (0, 1))})"""

    for channel, (orders, lines, rare) in SHARES.items():
        sales, returns = f"{channel}_sales", f"{channel}_returns"
        order, item = FACTS[sales]
        back_order, back_item = FACTS[returns]
        prefix = order.split("_")[0]
        db.execute(
            # A price of 0 would be the whole sum of some group, and a division by zero.
            f"""CREATE TABLE sold AS SELECT * FROM {sales} WHERE coalesce({prefix}_net_paid, 1) > 0 AND (
                u({order}, 'order') < {orders} OR u({order} * 20000 + {item}, 'line') < {lines}
                OR u({order} * 20000 + {item}, 'line') < {rare}
                AND (({order}, {item}) IN (SELECT ({back_order}, {back_item}) FROM {returns})
                    OR {prefix}_net_profit BETWEEN 50 AND 300 AND {prefix}_sales_price >= 50))"""
        )
        db.execute(
            f"""CREATE TABLE came_back AS SELECT * FROM {returns}
                WHERE ({back_order}, {back_item}) IN (SELECT ({order}, {item}) FROM sold)"""
        )
        db.execute(f"DROP VIEW {sales}; ALTER TABLE sold RENAME TO {sales}")
        db.execute(f"DROP VIEW {returns}; ALTER TABLE came_back RENAME TO {returns}")
        made[sales] = _folded(db, sales, keys)
        made[returns] = _folded(db, returns, keys)
    # More of the months that queries compare with each other: 2000-02 to 2000-07, 2001-01 and 2001-02.
    made["inventory"] = f"""{_folded(db, "inventory", keys)} WHERE u(concat(inv_item_sk, inv_date_sk), 0)
        < CASE WHEN inv_date_sk BETWEEN 2451576 AND 2451760 OR inv_date_sk BETWEEN 2451911 AND 2451969
          THEN 0.04 ELSE 0.005 END"""
    return made


def _columns(db: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [row[0] for row in db.execute(f"DESCRIBE {table}").fetchall()]


def _folded(db: duckdb.DuckDBPyConnection, table: str, keys: dict[str, list[int]]) -> str:
    columns = _columns(db, table)
    replaced = []
    for column in columns:
        if table in WANTED and column == columns[0]:
            continue
        reference = re.search("|".join(f"{ending}$" for ending in REFERENCES), column)
        if column.endswith("date_sk"):
            step = f"CAST(round(({column} - {FIRST_DAY}) / {STEP}) AS INTEGER)"
            if table in WANTED:  # dates of dimensions lie anywhere in a century
                step = f"({column} % {HOT_DAYS})"
            value = f"{FIRST_DAY} + {STEP} * {step}"
        elif reference:
            dimension = REFERENCES[reference.group()]
            told_apart_by = [column]
            if dimension in BY_ORDER and table in FACTS:
                told_apart_by += FACTS[table][:1]
            elif dimension in BY_LINE:
                told_apart_by += FACTS.get(table, ("inv_item_sk", "inv_date_sk"))
            value = _onto(keys[dimension], f"u(concat({', '.join(told_apart_by)}), '{dimension}')")
        else:
            continue
        replaced.append(f"CASE WHEN {column} IS NOT NULL THEN CAST({value} AS INTEGER) END AS {column}")
    return f"SELECT * {'REPLACE (' + ', '.join(replaced) + ')' if replaced else ''} FROM {table}"

"""TPC-H and TPC-DS under change: every query is loaded once and refreshed four times, and checked each time.

| file          | what it holds                                                                       |
| ------------- | ----------------------------------------------------------------------------------- |
| `data.py`     | the tables: generated, thinned out, and folded so that few rows still answer much   |
| `schedule.py` | the loads of a table (inserts, updates, deletes) and the rows it must hold after each |
| `queries.py`  | the query texts, what had to be changed in them, and which of them run by default    |
| `answers.py`  | Spark's own batch answers, the truth                                                |
| `trial.py`    | one query against Headrace, load by load                                            |
| `run.py`      | the same outside pytest: `python tests/tpc/run.py h 1 3 --stages 3`                  |

The generator (`tpcgen-cli`) and the query texts (`ibis-framework`) are installed packages; nothing of
them is copied here.
"""

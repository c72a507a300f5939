"""Functions in the text of queries: values, names and types, as from the functions of columns."""

from functools import partial

from tests.pyspark.cases.sql_functions import plain, table
from tests.pyspark.printing import session
from tests.pyspark.registry import Case, add_case

OF_ROWS = [
    "substring(s, 0, 1)",
    "substring(s, 1, 1)",
    "substring(s, -1, 1)",
    "substr(s, 0, 2) AS x",
    "substr(s, 2) AS x",
    "regexp_replace(s, '(a)', '<$1>')",
    "regexp_replace('a1b22', '([0-9]+)', '[$1]')",
    "regexp_extract('a1b22', '([0-9]+)', 1)",
    "ceil(f)",
    "floor(f)",
    "length(s)",
    "size(l)",
    "year(d)",
    "month(d)",
    "dayofmonth(d)",
    "dayofweek(d)",
    "weekofyear(d)",
    "quarter(d)",
    "hour(ts)",
    "second(ts)",
    "hour('2024-01-31 23:59:58')",
    "datediff(d, date'2024-01-01') AS x",
    "months_between(d, date'2023-12-15') AS x",
    "instr(s, 'b') AS x",
    "locate('b', s) AS x",
    "ascii(s)",
    "levenshtein(s, 'b')",
    "round(f)",
    "concat(s, '!')",
    "upper(s)",
    "coalesce(s, 'q')",
    "if(i > 1, 'x', 'y')",
    "case when i > 1 then 'x' else 'y' end",
    "cast(f as int)",
    "split(t, '')",
    "i / 2",
    "i % 2",
    "n div 2",
    "s like 'a%'",
    "s is null",
    "i between 1 and 2",
    "i in (1, 3)",
]
OF_ALL = [
    "count(*)",
    "count(s)",
    "sum(i)",
    "avg(f)",
    "max(length(s))",
    "sort_array(collect_list(i))",
    "sum(ceil(f))",
]


def queried(text, sc):
    spark = session(sc)
    table(spark).createOrReplaceTempView("rows")
    found = spark.sql(f"SELECT {text} FROM rows")
    return [tuple(map(plain, row)) for row in found.collect()], found.dtypes


def described(text, sc):
    found = table(session(sc)).selectExpr(text)
    return [tuple(map(plain, row)) for row in found.collect()], found.dtypes


for text in (*OF_ROWS, *OF_ALL):
    add_case(Case(f"sql_text.query.{text}", ("sc.sql",), partial(queried, text)))
for text in OF_ROWS[:6]:
    add_case(Case(f"sql_text.selectExpr.{text}", ("sc.sql",), partial(described, text)))

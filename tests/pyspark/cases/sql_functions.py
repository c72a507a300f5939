"""Functions of columns one by one: values, names and types."""

import datetime
import decimal

from tests.pyspark.printing import functions, session
from tests.pyspark.registry import Case, add_case

OF_ROWS = [
    'col("f").cast("int")',
    'col("f").cast("bigint")',
    'col("f").cast("string")',
    'col("b").cast("int")',
    'col("i").cast("boolean")',
    'col("i").cast("double")',
    'col("f").cast("decimal(5,1)")',
    'col("d").cast("string")',
    'col("ts").cast("string")',
    'col("ts").cast("date")',
    'col("b").cast("string")',
    'col("i").cast("string")',
    'F.concat("s",lit("!"))',
    'F.concat("s","t")',
    'F.concat_ws("-","s","t")',
    'F.greatest("i","n")',
    'F.least("f","i")',
    'F.coalesce("s",lit("q"))',
    'F.length("s")',
    'F.upper("s")',
    'F.substring("s",1,1)',
    'F.substring("s",-1,1)',
    'F.substring("s",0,1)',
    'F.instr("s","b")',
    'F.trim(lit("  x "))',
    'F.lpad("s",4,"-")',
    'F.lpad("s",1,"-")',
    'F.reverse("s")',
    'F.initcap(lit("aB cD"))',
    'F.repeat("s",2)',
    'F.split(lit("a1b2c"),"[0-9]")',
    'F.split(lit("abc"),"")',
    'F.regexp_replace("s","(a)","<$1>")',
    'F.translate("s","a","z")',
    'F.locate("b","s")',
    'F.ascii("s")',
    'F.md5("s")',
    'F.sha2("s",256)',
    'F.base64("s")',
    'F.hex("i")',
    'F.levenshtein("s",lit("b"))',
    'F.concat(lit("a"),lit(1))',
    'col("s").contains("a")',
    'col("s").startswith("a")',
    'col("s").endswith("b")',
    'col("s").like("a%")',
    'col("s").like("a_")',
    'col("s").rlike("b$")',
    'col("s").isin("ab","z")',
    'col("s")=="ab"',
    'col("s")>"a"',
    'col("s").eqNullSafe(None)',
    'col("s").substr(1,1)',
    'col("i").between(1,2)',
    '~col("b")',
    'col("b")&lit(True)',
    'col("b")|lit(True)',
    'col("i")/col("i")',
    'col("n")/2',
    'col("n")%3',
    'col("n")%-3',
    '-col("n")',
    'col("i")+1.5',
    'col("i")*col("f")',
    'F.abs("n")',
    'F.round("f")',
    'F.round("f",1)',
    "F.round(lit(1234),-2)",
    'F.ceil("f")',
    'F.floor("f")',
    "F.ceil(lit(-0.5))",
    'F.sqrt("i")',
    'F.pow("i",2)',
    "F.exp(lit(0))",
    "F.log(lit(1.0))",
    'F.log("i")',
    "F.log10(lit(100))",
    "F.log2(lit(8))",
    'F.factorial("i")',
    "F.sin(lit(0.0))",
    "F.degrees(lit(3.14159))",
    'F.expr("7 / 2")',
    'F.isnan("f")',
    'F.nanvl("f",lit(0.0))',
    'F.bin("i")',
    'F.shiftleft("i",1)',
    'F.expr("i & 1")',
    'F.size("l")',
    'F.array_contains("l",1)',
    'F.sort_array("l")',
    'F.sort_array("l",False)',
    "F.slice(F.array(lit(1),lit(2),lit(3)),1,2)",
    "F.slice(F.array(lit(1),lit(2),lit(3)),2,2)",
    "F.element_at(F.array(lit(1),lit(2)),-1)",
    "F.array(lit(1),lit(2))[0]",
    'F.array_join(F.array(lit("a"),lit("b")),"-")',
    "F.array_intersect(F.array(lit(1),lit(2)),F.array(lit(2)))",
    "F.array_except(F.array(lit(1),lit(2)),F.array(lit(2)))",
    "F.arrays_overlap(F.array(lit(1)),F.array(lit(1)))",
    "F.flatten(F.array(F.array(lit(1)),F.array(lit(2))))",
    'F.map_keys("m")',
    'col("m")["k"]',
    'col("m")["zz"]',
    'F.create_map(lit("a"),lit(1))',
    'F.struct("i","s")',
    "F.concat(F.array(lit(1)),F.array(lit(2)))",
    'F.year("d")',
    'F.month("d")',
    'F.dayofmonth("d")',
    'F.dayofweek("d")',
    'F.dayofyear("d")',
    'F.weekofyear("d")',
    'F.quarter("d")',
    'F.hour("ts")',
    'F.minute("ts")',
    'F.second("ts")',
    'F.last_day("d")',
    'F.add_months("d",1)',
    'F.date_add("d",1)',
    'F.date_sub("d",1)',
    'F.datediff(lit("2024-03-01"),"d")',
    'F.months_between("d",lit("2024-01-01"))',
    'F.trunc("d","month")',
    'F.trunc("d","year")',
    'F.date_trunc("hour","ts")',
    'F.date_trunc("day","ts")',
    'F.date_format("ts","yyyy-MM-dd HH:mm:ss")',
    'F.date_format("d","E")',
    'F.date_format("d","EEEE, MMM d")',
    'F.date_format("ts","hh:mm a")',
    'F.to_date(lit("2024-01-05"))',
    'F.to_date(lit("05/01/2024"),"dd/MM/yyyy")',
    'F.to_timestamp(lit("2024-01-05 01:02:03"))',
    'F.to_timestamp(lit("05-01-2024 01:02"),"dd-MM-yyyy HH:mm")',
    'F.unix_timestamp("ts")',
    "F.from_unixtime(lit(0))",
    'col("d")>"2023-06-01"',
    'F.to_date("ts")',
    "F.make_date(lit(2024),lit(1),lit(2))",
    'F.date_diff("d",lit("2024-01-01"))',
    'F.hour(lit("2024-01-01 05:00:00"))',
    'F.year(lit("2024-01-01"))',
    'F.when(col("i")>1,"a")',
    'F.when(col("s").isNull(),1).otherwise(0)',
    'F.isnull("s")',
    'F.nvl("s",lit("q"))',
    'F.expr("nullif(i,1)")',
    "F.lit(1.0)",
    'F.lit(decimal.Decimal("1.5"))',
    "F.lit([1,2])",
    "F.lit(True)",
    """F.get_json_object(lit('{"a":1}'),"$.a")""",
    'F.to_json(F.struct("i"))',
    "F.monotonically_increasing_id()",
    'F.nullif("i",lit(1))',
]

OF_ALL = [
    'F.sum("i")',
    'F.sum("f")',
    'F.avg("i")',
    'F.avg("n")',
    'F.count("s")',
    'F.count("*")',
    "F.count(lit(1))",
    'F.countDistinct("s")',
    'F.countDistinct("s","i")',
    'F.approx_count_distinct("i")',
    'F.min("s")',
    'F.max("s")',
    'F.max("b")',
    'F.first("s")',
    'F.last("s")',
    'F.first("z")',
    'F.first("s",True)',
    'F.last("s",True)',
    'F.collect_list("s")',
    'F.sort_array(F.collect_set("s"))',
    'F.stddev("i")',
    'F.stddev_pop("i")',
    'F.variance("f")',
    'F.var_pop("f")',
    'F.skewness("f")',
    'F.kurtosis("f")',
    'F.corr("i","f")',
    'F.covar_samp("i","f")',
    "F.sum(lit(1))",
    'F.max("ts")',
    'F.mean("f")',
    'F.percentile_approx("i",0.5)',
    'F.percentile("i",0.5)',
    'F.median("f")',
    'F.sumDistinct("i")',
    'F.sum_distinct("i")',
    'F.bool_and("b")',
    'F.max_by("s","i")',
    'F.min_by("s","i")',
    'F.count_if(col("i")>1)',
    'F.any_value("i")',
    'F.bit_and("i")',
    'F.product("i")',
    'F.collect_list("i")',
    'F.sum(F.when(col("i")>1,1))',
    'F.max(F.struct("i","s"))',
]

SCHEMA = (
    "i int, n int, f double, s string, t string, l array<int>, d date, ts timestamp, "
    "m map<string,int>, b boolean, z string"
)


def table(spark):
    days = datetime.date(2024, 1, 31), datetime.date(2023, 2, 28)
    moments = datetime.datetime(2024, 1, 31, 23, 59, 58, 500000), datetime.datetime(2023, 2, 28)
    rows = [
        (1, -7, 2.5, "ab", "3", [3, 1, 3, None], days[0], moments[0], {"k": 1}, True, None),
        (2, 7, -2.5, None, "x", None, None, None, None, None, None),
        (3, 0, 3.7, "", "10", [], days[1], moments[1], {}, False, None),
    ]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def computed(method, text, sc):
    F = functions()
    names = {"F": F, "col": F.col, "lit": F.lit, "decimal": decimal}
    found = getattr(table(session(sc)), method)(eval(text, names))
    return [tuple(map(plain, row)) for row in found.collect()], found.dtypes


def plain(value):
    """Java and DuckDB may differ in the last digit."""
    return round(value, 9) if isinstance(value, float) else value


def program(method, text):
    def run(sc):
        return computed(method, text, sc)

    return run


for method, texts in (("select", OF_ROWS), ("agg", OF_ALL)):
    for text in texts:
        add_case(Case(f"sql_functions.{text}", ("sc.sql",), program(method, text)))

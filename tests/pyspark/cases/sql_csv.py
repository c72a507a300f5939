"""Quotes, backslashes and line ends in files of separated values, read and written."""

from functools import partial

from tests.pyspark.printing import session
from tests.pyspark.registry import Case, add_case

TEXTS = {
    "backslash_quote": '1,"say \\"hi\\" now",x\n2,plain,y\n',
    "doubled_quote": '1,"say ""hi"" now",x\n2,plain,y\n',
    "backslash_comma": "1,a\\,b\n2,c\n",
    "backslash_in_quotes": '1,"C:\\\\new\\dir",x\n',
    "backslash_outside": "1,C:\\new\\dir,x\n",
    "backslash_letter": '1,"a\\nb\\tc",x\n',
    "backslash_at_the_end": '1,"dir\\\\",x\n',
    "comma_in_quotes": '1,"a,b",x\n',
    "quote_inside": '1,5" wide,x\n2,say "hi",y\n',
    "empty_and_quoted_empty": '1,,x\n2,"",y\n',
    "spaces": '1, a ," b "\n',
    "line_in_quotes": '1,"two\nlines",x\n2,one,y\n',
    "mixed": '1,"a ""b"" \\"c\\"",x\n',
}
OPTIONS = {
    "plain": {},
    "multiLine": {"multiLine": True},
    "quote_as_escape": {"escape": '"'},
}
VALUES = ['say "hi"', "back\\slash", 'both \\"', "a,b", "", None, " pad ", "two\nlines", "plain"]


def read(text, options, sc, folder):
    path = folder / "rows.csv"
    path.write_text(text, newline="")
    found = session(sc).read.csv(str(path), **options)
    return [tuple(row) for row in found.collect()]


def written(sc, folder):
    rows = [(number, value) for number, value in enumerate(VALUES)]
    frame = session(sc).createDataFrame(rows, "n int, s string").coalesce(1)
    frame.write.csv(str(folder / "out"))
    (part,) = (folder / "out").glob("part-*.csv")
    return part.read_text()


for name, text in TEXTS.items():
    for kind, options in OPTIONS.items():
        add_case(Case(f"sql_csv.{kind}.{name}", (), partial(read, text, options)))
add_case(Case("sql_csv.written", (), written))

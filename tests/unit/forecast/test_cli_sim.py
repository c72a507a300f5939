"""`pyrite sim`: the table, the plots, and what it says to odd input."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from storytelling import Told

from pyrite.cli import main
from pyrite.forecast.chart import Point, bars, svg
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import two_stages, uneven

SVG = "{http://www.w3.org/2000/svg}"
Output = pytest.CaptureFixture[str]


@pytest.fixture
def story(tmp_path: Path) -> str:
    """The story of 32 maps and 32 reducers of about 2 s each."""
    file = Told(tmp_path / "count.story")
    workload = two_stages(uneven(32, 2.0, 0.2, 1), uneven(32, 2.0, 0.2, 2), 20e6)
    simulate(workload, [NodeKind(1, latency_s=0.0)], CostModel(), listeners=[file.record])
    file.close()
    return str(file.path)


def rows(output: str) -> dict[str, dict[str, str]]:
    """The table's cells by nodes and heading."""
    lines = output.splitlines()
    [start] = [i for i, line in enumerate(lines) if line.split()[:2] == ["nodes", "cores"]]
    found = {}
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        cells = dict(zip(HEADINGS, split(line), strict=True))
        found[cells["nodes"]] = cells
    return found


HEADINGS = ("nodes", "cores", "time", "speed-up", "busy", "network", "spilled", "redone", "lost")


def split(line: str) -> list[str]:
    """Cells are two blanks apart at least; times and sizes have one within."""
    return [cell.strip() for cell in line.strip().split("  ") if cell.strip()]


def test_more_nodes_take_less_time_and_send_more(story: str, capsys: Output) -> None:
    assert main(["sim", story, "--nodes", "1,2,4", "--cores", "2", "--network", "10g"]) == 0
    output = capsys.readouterr().out
    assert "1 jobs, 2 stages, 64 tasks" in output
    assert "nodes of 2 cores, 8 GiB, 10 Gbit/s" in output
    table = rows(output)
    assert list(table) == ["1", "2", "4"]
    assert table["1"]["network"] == "0"
    assert [table[n]["cores"] for n in table] == ["2", "4", "8"]
    speed_ups = [float(table[n]["speed-up"]) for n in table]
    assert speed_ups[0] == 1.0
    assert speed_ups == sorted(speed_ups)
    assert 3.0 < speed_ups[-1] <= 4.1
    assert output.count("#") > 40


def test_a_slow_network_costs_time(story: str, capsys: Output) -> None:
    times = []
    for network in ("10g", "10m"):
        main(["sim", story, "--nodes", "1,8", "--network", network])
        times.append(float(rows(capsys.readouterr().out)["8"]["speed-up"]))
    assert times[1] < times[0] / 2


def test_little_memory_spills(story: str, capsys: Output) -> None:
    main(["sim", story, "--nodes", "1", "--memory", "64m"])
    assert rows(capsys.readouterr().out)["1"]["spilled"].endswith("iB")


def test_failures_are_counted_and_depend_on_the_seed_only(story: str, capsys: Output) -> None:
    command = ["sim", story, "--nodes", "4", "--scale", "4", "--failures", "15/h"]
    outputs = []
    for seed in ("1", "1", "2"):
        main([*command, "--seed", seed, "--runs", "3"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    cells = rows(outputs[0])["4"]
    assert int(cells["lost"]) > 0
    assert int(cells["redone"]) > 0


def test_a_job_that_never_ends_is_said_to_have_failed(story: str, capsys: Output) -> None:
    main(["sim", story, "--nodes", "1", "--failures", "1800/h", "--repair", "1h", "--runs", "1"])
    assert "FAILED: " in capsys.readouterr().out


def test_the_plot_is_a_picture_of_the_table(story: str, tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "plot.svg"
    assert main(["sim", story, "--nodes", "1,2,4", "--plot", str(path)]) == 0
    assert f"plot written to {path}" in capsys.readouterr().out
    picture = ElementTree.parse(path).getroot()
    assert picture.tag == f"{SVG}svg"
    assert len(picture.findall(f"{SVG}circle")) == 3
    words = [each.text for each in picture.findall(f"{SVG}text")]
    assert {"count, simulated", "nodes", "1", "2", "4"} <= set(words)
    # One run without failures has no best and worst.
    assert picture.find(f"{SVG}polygon") is None and "best and worst run" not in words


def test_a_picture_stays_within_its_frame_and_takes_any_title() -> None:
    points = [Point(1, 100.0, 90.0, 130.0), Point(1000, 0.001, 0.0005, 0.002)]
    picture = ElementTree.fromstring(svg(points, "a < b & c", ""))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    assert "a < b & c" in [each.text for each in picture.iter(f"{SVG}text")]
    assert picture.find(f"{SVG}polygon") is not None
    assert "best and worst run" in [each.text for each in picture.iter(f"{SVG}text")]
    for circle in picture.iter(f"{SVG}circle"):
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height


def test_bars_are_as_long_as_the_times() -> None:
    lines = bars([Point(1, 8.0, 8.0, 8.0), Point(16, 2.0, 2.0, 2.0)]).splitlines()
    assert [line.count("#") for line in lines] == [40, 10]
    assert lines[1].startswith("16 | ####") and lines[1].endswith(" 2 s")


def test_what_is_no_story_or_model_is_refused_in_one_line(
    story: str, tmp_path: Path, capsys: Output
) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("hello\n")
    for arguments, blame in (
        ([str(tmp_path / "none.story")], "No such file"),
        ([str(odd)], "is no story of Pyrite"),
        ([story, "--model", str(odd)], "is no JSON"),
        ([story, "--nodes", "1", "--plot", str(tmp_path / "no" / "x.svg")], "No such file"),
    ):
        assert main(["sim", *arguments]) == 1
        said = capsys.readouterr().err
        assert said.startswith("pyrite sim: ") and blame in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "blame"),
    [
        ("--nodes", "0", "less than 1"),
        ("--nodes", "some", "invalid"),
        ("--memory", "much", "no size"),
        ("--network", "fast", "no speed"),
        ("--failures", "often", "no rate"),
        ("--repair", "soon", "no duration"),
        ("--slow", "2", "between 0 and 1"),
        ("--speed", "0", "not above 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    option: str, value: str, blame: str, capsys: Output
) -> None:
    with pytest.raises(SystemExit):
        main(["sim", "any.story", option, value])
    assert blame in capsys.readouterr().err


def test_the_help_has_an_example(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["sim", "--help"])
    assert "pyrite sim stories/*.story --nodes 4,8,16" in capsys.readouterr().out

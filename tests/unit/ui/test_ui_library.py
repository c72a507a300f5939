"""Which runs a page has, and how it follows them."""

import socket
from pathlib import Path

import pytest
from shown_stories import header, nodes, small, write

from pyrite.story import records as rec
from pyrite.story.format import BadStory, DamagedStory
from pyrite.story.write import StoryWriter
from pyrite.ui.address import PortTaken, new_address
from pyrite.ui.executors import executor_list
from pyrite.ui.failures import PACKAGE, users_part
from pyrite.ui.follow import FollowedRun
from pyrite.ui.library import Library
from pyrite.ui.prometheus import exposition


def test_a_folder_lists_its_stories_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "a.story", small(), "local-1", "one")
    write(tmp_path / "b.story", small(), "local-1", "two")
    (tmp_path / "notes.txt").write_text("no story")
    (tmp_path / "folder.story").mkdir()
    library = Library([str(tmp_path)])
    assert sorted((each["id"], each["name"]) for each in library.listing()) == [
        ("local-1", "one"),
        ("local-1-2", "two"),
    ]
    write(tmp_path / "c.story", small(), "local-3", "three")
    assert len(library.listing()) == 3
    assert library.run("local-3").model.totals.succeeded == 6
    library.close()


def test_only_so_many_runs_stay_loaded(tmp_path: Path) -> None:
    for number in range(9):
        write(tmp_path / f"{number}.story", small(), f"local-{number}")
    library = Library([str(tmp_path)])
    for number in range(9):
        assert library.run(f"local-{number}").state == "ended"
    assert len(library.loaded) == 6
    assert library.run("local-0").state == "ended"
    library.close()


def test_an_empty_folder_is_served_and_a_missing_file_is_not(tmp_path: Path) -> None:
    assert Library([str(tmp_path)]).listing() == []
    with pytest.raises(BadStory, match=r"can't be read: No such file .* To have one"):
        Library([str(tmp_path / "none.story")])
    (tmp_path / "text").write_text("hello")
    with pytest.raises(BadStory, match="is no story of Pyrite"):
        Library([str(tmp_path / "text")])


def test_a_story_is_followed_as_it_grows(tmp_path: Path) -> None:
    writer = StoryWriter(str(tmp_path / "live.story"), header(), False)
    told = small()
    writer.add(told[:10])
    writer.flush()
    run = FollowedRun(writer.path)
    seen = run.version
    assert run.state == "running"
    run.refresh()
    assert run.version == seen
    writer.add(told[10:-1])
    writer.flush()
    run.refresh()
    assert run.version > seen
    assert (run.state, run.model.totals.succeeded) == ("running", 6)
    writer.add(told[-1:])
    writer.close()
    run.refresh()
    assert run.state == "ended"
    run.close()


def test_the_time_of_a_running_task_passes_though_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_s = 1_700_000_000.0
    mine = header()._replace(host=socket.gethostname())
    writer = StoryWriter(str(tmp_path / "live.story"), mine, False)
    writer.add([*nodes(), rec.TaskStarted(101.0, 0, 0, 0, [0], 0, 0)])
    writer.flush()
    monkeypatch.setattr("time.time", lambda: begun_s + 1.5)
    run = FollowedRun(writer.path)
    seen = run.version
    assert executor_list(run.model, False)[0]["pyrite"]["running"][0]["s"] == 0.5
    monkeypatch.setattr("time.time", lambda: begun_s + 8.0)
    run.refresh()
    assert run.version == seen + 1
    assert executor_list(run.model, False)[0]["pyrite"]["running"][0]["s"] == 7.0
    writer.add([rec.TaskEnded(107.9, 0, rec.SUCCEEDED)])
    writer.flush()
    run.refresh()
    assert run.model.last_s == 107.9
    writer.close()
    # Nobody writes it any more: its driver was killed, and its clock stands still.
    run.refresh()
    assert (run.state, run.model.last_s) == ("cut off", 107.9)
    run.close()


def test_the_story_of_a_killed_driver_is_cut_off(tmp_path: Path) -> None:
    run = FollowedRun(write(tmp_path / "a.story", small()[:-1]))
    assert (run.state, run.problem) == ("cut off", None)
    run.close()


def test_damage_is_said_and_what_comes_before_is_shown(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.story", small()))
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(data)
    run = FollowedRun(str(path))
    assert run.problem is not None
    assert "is damaged at byte" in run.problem
    assert run.state == "cut off"
    run.close()
    assert issubclass(DamagedStory, BadStory)


def test_a_port_in_use_is_said_with_a_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} can't be used.*--port.*0 for any"):
            new_address(port)
        address = new_address(port, more=16)
        with address.listener:
            assert port < address.port <= port + 16
            assert address.url.startswith(f"http://127.0.0.1:{address.port}/?token=")


def test_addresses_have_tokens_of_their_own() -> None:
    one, other = new_address(0), new_address(0)
    with one.listener, other.listener:
        assert one.token != other.token
        assert len(one.token) >= 24


def test_the_users_frames_come_first() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        f'  File "{PACKAGE}/execute/evaluate.py", line 9, in run\n    step()\n    ^^^^\n'
        '  File "/home/me/job.py", line 3, in f\n    1 / 0\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert users_part(trace) == (
        "Traceback (most recent call last):\n"
        '  File "/home/me/job.py", line 3, in f\n    1 / 0\n'
        "ZeroDivisionError: division by zero"
    )


def test_metrics_have_base_units_and_no_label_per_task(tmp_path: Path) -> None:
    run = FollowedRun(write(tmp_path / "a.story", small(), name='a "name"\n'))
    text = exposition({"local-1": (run.model, run.live)})
    run.close()
    lines = text.splitlines()
    assert 'pyrite_tasks_total{application="local-1",outcome="succeeded"} 6' in lines
    assert 'pyrite_tasks_total{application="local-1",outcome="lost"} 1' in lines
    assert 'pyrite_task_run_seconds_total{application="local-1"} 8.4' in lines
    assert 'pyrite_shuffle_read_bytes_total{application="local-1",source="prefetched"} 25' in lines
    assert 'pyrite_pool_lent_bytes{application="local-1",node="node-1"} 300' in lines
    assert r'pyrite_application_info{application="local-1",name="a \"name\"\n"} 1' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    for line in lines:
        if line.startswith("# TYPE"):
            name, kind = line.split()[2:]
            assert (kind == "counter") == name.endswith("_total")
    labels = {part.split("=")[0] for line in lines if "{" in line and line[0] != "#"
              for part in line[line.index("{") + 1 :].split(",") if "=" in part}  # fmt: skip
    assert labels == {"application", "name", "status", "outcome", "source", "place", "node"}


def test_a_run_of_one_record_can_be_counted(tmp_path: Path) -> None:
    run = FollowedRun(write(tmp_path / "a.story", [rec.NodeAdded(1.0, "node-0", 10)]))
    assert "pyrite_executors" in exposition({"x": (run.model, False)})
    run.close()

"""Input files that are not what they were when the program ran."""

from __future__ import annotations

from datetime import datetime

from pyrite.replay.recording import CantReplay, Recording
from pyrite.story.code import file_told
from pyrite.story.records import Fields


def changes(recording: Recording, stage: int | None) -> list[str]:
    """A sentence for each input file that has another size or time now.

    Those of a stage and the ones before it, which can't run without; of all, where none is named.
    """
    stages = recording.inputs if stage is None else recording.before(stage)
    told = {each["path"]: each for one in stages for each in recording.inputs.get(one, ())}
    found = (change(each, needed=stage is not None) for each in told.values())
    return [each for each in found if each is not None]


def change(told: Fields, needed: bool) -> str | None:
    path, size, changed_s = told["path"], told["bytes"], told["changed_s"]
    if changed_s is None:
        # It is not a file of this machine.
        return None
    now = file_told(path, None)
    if now["changed_s"] is None:
        if needed:
            raise CantReplay(
                f"the input file {path} is gone: put it back as it was, of {size} bytes, to run "
                "what reads it again"
            )
        return f"{path} is gone"
    if now["bytes"] != size:
        return f"{path} had {size} bytes when the program ran, and has {now['bytes']} now"
    if now["changed_s"] != changed_s:
        when = f"{at(now['changed_s'])}; the program read it as of {at(changed_s)}"
        return f"{path} was written again {when}"
    return None


def at(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s).strftime("%Y-%m-%d %H:%M:%S")

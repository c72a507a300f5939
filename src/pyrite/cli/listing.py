"""The list of settings, as `pyrite settings` prints it."""

from __future__ import annotations

import shutil
import sys
import textwrap

from pyrite.capacity import Machine
from pyrite.quantities import parse_bytes
from pyrite.settings import TABLE, Setting
from pyrite.submitoptions import suggestion

INDENT = "    "


def list_settings(part: str) -> int:
    """Prints the settings whose names have this part; gives the exit code."""
    chosen = [setting for setting in TABLE if part.lower() in setting.name.lower()]
    if not chosen:
        meant = suggestion(part, search_words())
        print(f"pyrite settings: no setting has {part!r} in its name{meant}", file=sys.stderr)
        return 1
    machine = Machine.here()
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    print("\n\n".join(describe(setting, machine, width) for setting in chosen))
    return 0


def search_words() -> list[str]:
    """The names of all settings and their parts."""
    return sorted({word for each in TABLE for word in (each.name, *each.name.split("."))})


def describe(setting: Setting, machine: Machine, width: int) -> str:
    """A setting's name, type and default in one line, and its meaning below."""
    kind = " | ".join(setting.choices) if setting.choices else setting.kind
    lines = [f"{setting.name}  ({kind})", f"default: {default_text(setting, machine)}"]
    lines[1:] = [INDENT + line for line in lines[1:]]
    meaning = textwrap.wrap(setting.meaning, width, initial_indent=INDENT, subsequent_indent=INDENT)
    return "\n".join([*lines, *meaning])


def default_text(setting: Setting, machine: Machine) -> str:
    if setting.inherits:
        return f"that of {setting.inherits}"
    if isinstance(setting.default, str):
        return setting.default or "none"
    text = setting.default(machine)
    if setting.kind == "bytes":
        text = f"{parse_bytes(text) >> 20}m"
    return f"{text} (on this machine)"

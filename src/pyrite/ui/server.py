"""The web server: the REST API, the metrics, and the files of the page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pyrite.story.format import BadStory
from pyrite.ui import prometheus
from pyrite.ui.answers import ANSWERS, Answer, BadQuestion, RunQuestion
from pyrite.ui.guard import Guard
from pyrite.ui.library import Library, NoSuchThing
from pyrite.version import __version__

STATIC = Path(__file__).parent / "static"
API = "/api/v1"

Endpoint = Callable[[Request], Awaitable[Response]]
Stacks = Callable[[str], str]


def make_app(library: Library, token: str, cookie: str, stacks: Stacks | None = None) -> Starlette:
    """The application; `stacks` says where the running tasks of a story are."""
    desk = Desk(library, stacks)
    runs = f"{API}/applications"
    routes = [
        Route("/", desk.page),
        Route("/metrics", desk.metrics),
        Route(f"{API}/version", desk.version),
        Route(runs, desk.listing),
        Route(f"{runs}/{{app}}/stacks", desk.stacks),
        *(Route(f"{runs}/{{app}}{path}", desk.about(answer)) for path, answer in ANSWERS.items()),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token, cookie=cookie)])


class Desk:
    """Answers requests, one at a time: a run is read on, then asked."""

    def __init__(self, library: Library, find_stacks: Stacks | None) -> None:
        self.library = library
        self.find_stacks = find_stacks
        self.lock = asyncio.Lock()

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")

    async def version(self, request: Request) -> Response:
        return as_json({"spark": __version__})

    async def listing(self, request: Request) -> Response:
        async with self.lock:
            return as_json(await run_in_threadpool(self.library.listing))

    async def metrics(self, request: Request) -> Response:
        async with self.lock:
            text = await run_in_threadpool(self._metrics)
        return Response(text, media_type=prometheus.CONTENT_TYPE)

    def _metrics(self) -> str:
        """Runs that go on; where none does, the newest one."""
        shelved = self.library.look()
        live = [each.id for each in shelved if self.library.is_live(each)]
        chosen = live or [each.id for each in shelved[:1]]
        runs = {id: self.library.run(id) for id in chosen}
        return prometheus.exposition({id: (run.model, run.live) for id, run in runs.items()})

    async def stacks(self, request: Request) -> Response:
        async with self.lock:
            try:
                run = await run_in_threadpool(self.library.run, request.path_params["app"])
                if not run.live or self.find_stacks is None:
                    return as_json({"text": "", "problem": "nothing runs any more"})
                text = await run_in_threadpool(self.find_stacks, run.path)
            except (NoSuchThing, BadStory) as error:
                return as_json({"error": str(error)}, 404)
        return as_json({"text": text, "problem": None})

    def about(self, answer: Callable[[RunQuestion], Answer]) -> Endpoint:
        """An endpoint that asks one run."""

        async def endpoint(request: Request) -> Response:
            async with self.lock:
                return await run_in_threadpool(self._ask, answer, request)

        return endpoint

    def _ask(self, answer: Callable[[RunQuestion], Answer], request: Request) -> Response:
        path, query = request.path_params, request.query_params
        try:
            run = self.library.run(path["app"])
            statuses = tuple(each.lower() for each in query.getlist("status"))
            found = answer(RunQuestion(self.library, run, path["app"], path, query, statuses))
        except BadQuestion as error:
            return as_json({"error": str(error)}, 400)
        except (NoSuchThing, BadStory) as error:
            return as_json({"error": str(error)}, 404)
        response = as_json(found.value)
        response.headers.update(found.headers)
        return response


def as_json(value: Any, status: int = 200) -> Response:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=list)
    return Response(text, status, media_type="application/json")

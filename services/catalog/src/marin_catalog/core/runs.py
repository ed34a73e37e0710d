"""Use cases of runs: the workflow service's own state, kept with compare-and-set."""

from collections.abc import Sequence
from dataclasses import replace

from marin_catalog.core import address
from marin_catalog.core.checks import page_limit
from marin_catalog.core.context import UseCases, again_on_conflict
from marin_catalog.core.errors import BadRequest, NotFound, Precondition, RunChanged
from marin_catalog.core.events import run_event
from marin_catalog.core.model import Change, Run

STATES = ("running", "succeeded", "failed", "cancelled")


class Runs(UseCases):
    """Raises the errors of :mod:`marin_catalog.core.errors`."""

    @again_on_conflict
    async def create(self, run: Run) -> Run:
        run = replace(_checked(run), revision=0, sequence=0)
        if stored := await self._store.run(run.id):
            return stored
        return await self._put(run, "created", self._context.clock())

    @again_on_conflict
    async def update(self, run: Run) -> Run:
        run = _checked(run)
        stored = await self._exact(run.id)
        if stored.revision == run.revision + 1 and (stored.state, stored.body) == (run.state, run.body):
            return stored  # written before; the answer was lost
        if stored.revision != run.revision:
            raise RunChanged(run.id, run.revision, stored.revision)
        return await self._put(replace(stored, state=run.state, body=run.body), "updated", stored.create_time)

    async def _put(self, run: Run, verb: str, create_time: int) -> Run:
        now = self._context.clock()
        run = replace(run, create_time=create_time, update_time=now)
        sequence = await self._context.apply(Change(events=(run_event(verb, run, now),), run=run))
        return replace(run, revision=run.revision + 1, sequence=run.sequence or sequence)

    async def get(self, run_id: str) -> Run:
        """By id, or by a prefix that only one run has."""
        if run_id and (exact := await self._store.run(run_id)):
            return exact
        found = await self._store.runs_with_prefix(run_id, 2) if run_id else []
        if len(found) > 1:
            raise Precondition(
                f"'{run_id}' could be run {found[0].id}, {found[1].id} or more",
                hint="give more characters of the id",
                reason="AMBIGUOUS_RUN",
            )
        return found[0] if found else await self._exact(run_id)

    async def page(self, project: str, states: Sequence[str], page_size: int) -> list[Run]:
        return await self._store.runs(address.check_project(project), states, page_limit(page_size))

    async def _exact(self, run_id: str) -> Run:
        run = await self._store.run(run_id)
        if run is None:
            raise NotFound("run", run_id, hint="list the runs there are with `marin runs list`")
        return run


def _checked(run: Run) -> Run:
    if not run.id:
        raise BadRequest("the run has no id", hint="draw an id, for example a UUID", reason="BAD_RUN")
    if run.state not in STATES:
        raise BadRequest(
            f"run {run.id} has state '{run.state}'", hint=f"give one of {', '.join(STATES)}", reason="BAD_RUN"
        )
    return replace(run, project=address.check_project(run.project))

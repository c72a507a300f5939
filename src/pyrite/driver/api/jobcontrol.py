"""Groups, tags, properties and cancellation of jobs."""

from __future__ import annotations

from pyrite.driver.api.flags import Flags, checked_tag
from pyrite.driver.engine.engine import Engine
from pyrite.schedule.events import CancelRequested


class JobControl:
    """The part of a context that marks this thread's jobs and cancels jobs by their marks."""

    _engine: Engine
    _flags: Flags

    def setJobGroup(self, groupId: str, description: str, interruptOnCancel: bool = False) -> None:
        """Puts this thread's jobs into a group that can be cancelled as one."""
        self._flags.put("spark.jobGroup.id", groupId)
        self._flags.put("spark.job.description", description)
        self.setInterruptOnCancel(interruptOnCancel)

    def setInterruptOnCancel(self, interruptOnCancel: bool) -> None:
        """Kept for PySpark's programs: cancelled tasks are always interrupted."""
        self._flags.put("spark.job.interruptOnCancel", str(interruptOnCancel).lower())

    def setJobDescription(self, value: str | None) -> None:
        """Describes this thread's jobs."""
        self._flags.put("spark.job.description", value)

    def setLocalProperty(self, key: str, value: str | None) -> None:
        """Sets a property of this thread's jobs, such as spark.scheduler.pool."""
        self._flags.put(key, value)

    def getLocalProperty(self, key: str) -> str | None:
        """A property of this thread's jobs, or None."""
        return self._flags.properties.get(key)

    def addJobTag(self, tag: str) -> None:
        """Tags this thread's jobs."""
        self._flags.add_tag(tag)

    def removeJobTag(self, tag: str) -> None:
        """Takes a tag off this thread's jobs."""
        self._flags.remove_tag(tag)

    def getJobTags(self) -> set[str]:
        """The tags of this thread's jobs."""
        return set(self._flags.tags)

    def clearJobTags(self) -> None:
        """Takes all tags off this thread's jobs."""
        self._flags.tags.clear()

    def cancelAllJobs(self) -> None:
        """Cancels every job that runs."""
        self._engine.check_usable()
        self._engine.post(CancelRequested("all jobs were cancelled"))

    def cancelJobGroup(self, groupId: str) -> None:
        """Cancels the jobs of a group that run."""
        self._engine.check_usable()
        self._engine.post(CancelRequested(f"group {groupId!r} was cancelled", group=groupId))

    def cancelJobGroupAndFutureJobs(self, groupId: str) -> None:
        """Cancels the jobs of a group, and those that come."""
        self._engine.check_usable()
        reason = f"group {groupId!r} was cancelled"
        self._engine.post(CancelRequested(reason, group=groupId, future=True))

    def cancelJobsWithTag(self, tag: str) -> None:
        """Cancels the jobs with a tag that run."""
        self._engine.check_usable()
        reason = f"jobs with tag {tag!r} were cancelled"
        self._engine.post(CancelRequested(reason, tag=checked_tag(tag)))

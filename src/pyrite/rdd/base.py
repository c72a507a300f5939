"""An RDD as the engine sees it: five properties, a name, and whether it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pyrite.bridge import Bridgeless
from pyrite.errors import ContextStopped, ReferencedInTask, Refused
from pyrite.notebook import table
from pyrite.rdd.arguments import described, require_functions, require_text
from pyrite.rdd.callsite import call_site
from pyrite.rdd.dependency import SAME, Dependency, NarrowDependency, ShuffleDependency
from pyrite.rdd.narrow import PartitionOp, RecordOp
from pyrite.rdd.op import Op
from pyrite.rdd.partitioner import Partitioner
from pyrite.storagelevel import StorageLevel

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.ids import NamespaceId, RddId
    from pyrite.rdd import RDD
    from pyrite.rdd.frozen import Frozen
    from pyrite.rdd.namespace import Namespace

T = TypeVar("T")
U = TypeVar("U")


class Lineage(Bridgeless, Generic[T]):
    """Partitions, dependencies, how to compute, partitioner: and the driver's view of them."""

    _barrier = False

    def __init__(
        self,
        ctx: SparkContext,
        op: Op,
        dependencies: Sequence[Dependency] = (),
        partitioner: Partitioner | None = None,
    ) -> None:
        self.ctx: SparkContext = ctx
        for each in dependencies:
            if each.rdd.ctx is not ctx:
                require_context(ctx, [every.rdd for every in dependencies])
        self.op = op
        self.dependencies = tuple(dependencies)
        self.partitioner = partitioner
        self.is_cached = False
        self.is_checkpointed = False
        if not op.pipelined:
            self._number = ctx._new_rdd_id()
        self._name: str | None = None
        self._level = StorageLevel.NONE
        # How it is kept, if it is persisted.
        self._plan: Any = None
        self._called = call_site()
        self._count: int | None = None
        # The RDD as it was pickled for its life, once it was; and whether what is derived from it
        # reads that, as with a persisted one.
        self._frozen: Frozen | None = None
        self._settled = False
        self._joined = namespace_of(self.dependencies)

    def __reduce__(self) -> NoReturn:
        raise ReferencedInTask(
            f"RDD {self._id} ({self.op.name})",
            "RDDs can't be nested: join them, or collect() the small one and broadcast it.",
            "RDD_TRANSFORM_ONLY_VALID_ON_DRIVER",
        )

    @property
    def _method(self) -> str:
        """The method that made it."""
        return self._called.method

    @property
    def _site(self) -> str:
        """The file and line that called the method."""
        return self._called.short

    def __repr__(self) -> str:
        return self._shown(f"[{self._id}]")

    def _repr_html_(self) -> str:
        level = None if self._level == StorageLevel.NONE else str(self._level)
        return table(
            f"RDD {self._id}: {self._name or self.op.name}",
            [
                ("made by", f"{self._called.method} at {self._called.whole}"),
                ("partitions", self.getNumPartitions()),
                ("kept", level),
                ("partitioner", None if self.partitioner is None else "yes"),
                ("checkpointed", "yes" if self.is_checkpointed else None),
            ],
        )

    def _shown(self, number: str) -> str:
        return f"{self._name or self.op.name} RDD{number} at {self._site}"

    def id(self) -> int:
        """A number that is unique within the context."""
        return self._id

    @property
    def _id(self) -> RddId:
        """Taken when PySpark's JVM has the RDD: when it is made or, if it may be a step of a
        pipeline only, when it is first asked for or pickled for its life."""
        known = vars(self)
        if "_number" not in known:
            # Atomic: several threads may ask for it at once.
            known.setdefault("_number", self.ctx._new_rdd_id())
        number: RddId = known["_number"]
        return number

    @property
    def _known_id(self) -> RddId | None:
        """The same, where it was taken already."""
        return vars(self).get("_number")

    @property
    def _namespace(self) -> Namespace | None:
        """The collection that it belongs to, until that is dropped."""
        joined = self._joined
        return None if joined is None or joined.is_dropped else joined

    @property
    def _namespace_id(self) -> NamespaceId | None:
        namespace = self._namespace
        return None if namespace is None else namespace.id

    @property
    def context(self) -> SparkContext:
        """The context that this RDD belongs to."""
        return self.ctx

    def name(self) -> str | None:
        """The name given by `setName`, or None."""
        return self._name

    def setName(self, name: str | None) -> RDD[T]:
        """Gives the RDD a name that progress bars and debug strings show.

        >>> sc.parallelize([1]).setName("one").name()
        'one'
        """
        if name is not None:
            require_text("name", name)
        self._name = name
        self._freeze()
        return self._me()

    def getNumPartitions(self) -> int:
        """The number of partitions.

        >>> sc.parallelize([1, 2, 3, 4], 2).getNumPartitions()
        2
        """
        # A loop, not recursion: lineages grow to thousands of RDDs.
        unknown: list[Lineage[Any]] = []
        rdd: Lineage[Any] = self
        while rdd._count is None:
            unknown.append(rdd)
            rdd._count = rdd.op.partitions()
            if rdd._count is None:
                dependency = rdd.dependencies[0]
                if isinstance(dependency, ShuffleDependency):
                    rdd._count = dependency.partitions
                else:
                    rdd = dependency.rdd
        for each in unknown:
            each._count = rdd._count
        return rdd._count

    def persist(
        self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY, priority: int = 0
    ) -> RDD[T]:
        """Keeps the RDD after it is first computed; `priority` holds it longer than others.

        >>> rdd = sc.parallelize([1, 2]).persist()
        >>> rdd.is_cached
        True
        """
        if not isinstance(storageLevel, StorageLevel):
            raise TypeError(
                "storageLevel must be of type StorageLevel, such as StorageLevel.MEMORY_ONLY, "
                f"not {described(storageLevel)}"
            )
        if self._level not in (StorageLevel.NONE, storageLevel):
            raise Refused(
                f"{self!r} is already persisted as {self._level}; "
                f"call unpersist() before you persist it as {storageLevel}"
            )
        self._freeze()
        self.is_cached = True
        self._level = storageLevel
        self.ctx._persist(self, storageLevel, priority)
        return self._me()

    def cache(self) -> RDD[T]:
        """Keeps the RDD's rows in memory after it is first computed.

        >>> sc.parallelize([1, 2]).cache().count()
        2
        """
        return self.persist(StorageLevel.MEMORY_ONLY)

    def unpersist(self, blocking: bool = False) -> RDD[T]:
        """Drops what was kept of the RDD.

        >>> sc.parallelize([1, 2]).cache().unpersist().is_cached
        False
        """
        self.is_cached = False
        self._level = StorageLevel.NONE
        self.ctx._unpersist(self)
        return self._me()

    def getStorageLevel(self) -> StorageLevel:
        """The level given to `persist`.

        >>> print(sc.parallelize([1, 2]).getStorageLevel())
        Serialized 1x Replicated
        """
        return self._level

    def checkpoint(self) -> None:
        """Marks the RDD to be written to the checkpoint folder by the first job that computes it.

        >>> rdd = sc.parallelize([1, 2])
        >>> rdd.isCheckpointed()
        False
        """
        self._settle()
        self.ctx._checkpoints.mark(self._me())

    def forceCheckpoint(self) -> None:
        """Writes a persisted RDD to the checkpoint folder, in the background, from its kept rows.

        No job waits for it; where it fails, it is tried again after the next job that reads it.
        """
        self._settle()
        self.ctx._checkpoints.force(self._me())

    def localCheckpoint(self) -> None:
        """Marks the RDD to be kept on the cluster itself, with its lineage cut.

        >>> rdd = sc.parallelize([1, 2]).map(str)
        >>> rdd.localCheckpoint()
        >>> rdd.isLocallyCheckpointed()
        True
        """
        self._settle()
        self.ctx._checkpoints.mark_local(self._me())

    def isCheckpointed(self) -> bool:
        """Whether the RDD has been written; waits for a write that is under way."""
        return self.ctx._checkpoints.is_done(self._me())

    def isLocallyCheckpointed(self) -> bool:
        """Whether `localCheckpoint` was called.

        >>> sc.parallelize([1, 2]).isLocallyCheckpointed()
        False
        """
        return self.ctx._checkpoints.is_local(self._me())

    def getCheckpointFile(self) -> str | None:
        """The folder that the RDD was written to, or None."""
        return self.ctx._checkpoints.folder_of(self._me())

    def toDebugString(self) -> bytes | None:
        """The lineage as text, a line per RDD, indented at each shuffle; with where the functions
        of jobs that have run did so, and why not in C.

        >>> rdd = sc.parallelize([1, 2], 2).map(str).filter(bool)
        >>> print(rdd.toDebugString().decode())  # doctest: +ELLIPSIS
        (2) filter RDD[...] at ...
         |  map RDD at ...
         |  parallelize RDD[...] at ...
        """
        # A write that is under way will cut the lineage.
        self.ctx._checkpoints.before_job(self._me())
        lines: list[str] = []
        shown: set[Lineage[Any]] = set()
        said = self.ctx._said_by_machine()
        pending: list[tuple[Lineage[Any], int, bool]] = [(self, 0, True)]
        while pending:
            rdd, depth, heads = pending.pop()
            head = f"({rdd.getNumPartitions()}) " if heads else " |  "
            if heads and depth:
                head = f"{'   ' * (depth - 1)} +-{head}"
            else:
                head = f"{'   ' * depth}{head}"
            level = "" if rdd._level == StorageLevel.NONE else f" [{rdd._level}]"
            # A step of a pipeline may have no id yet, and is not given one by being shown.
            numbered = rdd is self or "_number" in vars(rdd)
            verdict = rdd.op.verdict(said)
            told = f" [{verdict}]" if verdict else ""
            lines.append(f"{head}{repr(rdd) if numbered else rdd._shown('')}{level}{told}")
            # The ancestors of an RDD that is reached twice are shown once.
            if rdd in shown:
                continue
            shown.add(rdd)
            for dependency in reversed(rdd.dependencies):
                wide = isinstance(dependency, ShuffleDependency)
                pending.append((dependency.rdd, depth + wide, wide))
        return "\n".join(lines).encode()

    def _me(self) -> RDD[T]:
        return self  # type: ignore[return-value]

    @property
    def _is_pipelined(self) -> bool:
        """Whether its function is pickled anew with that of each child, as PySpark does."""
        return self.op.pipelined and not self.is_cached and not self._settled

    def _freeze(self) -> Frozen:
        """The RDD as it is pickled for its life: now, if it was not before."""
        return self._frozen or self.ctx._freeze(self._me())

    def _settle(self) -> RDD[T]:
        """Has all that is derived from it from now on read it as it is now."""
        self._freeze()
        self._settled = True
        return self._me()

    def _one_to_one(self) -> NarrowDependency:
        """A child's dependency on the same partition of this RDD."""
        return NarrowDependency(self, frozen=None if self._is_pipelined else self._frozen)

    def _derive(
        self,
        op: Op,
        dependencies: Sequence[Dependency] | None = None,
        partitioner: Partitioner | None = None,
    ) -> RDD[Any]:
        """A child of this RDD; one to one unless the dependencies say otherwise."""
        if dependencies is None:
            dependencies = (self._one_to_one(),)
        child: Any = type(self)
        return child(self.ctx, op, dependencies, partitioner)  # type: ignore[no-any-return]

    def _records(
        self, kind: str, function: Callable[..., Any] | None = None, keep: bool = False
    ) -> RDD[Any]:
        """A child made record by record; `keep` where keys stay as they are."""
        if kind not in ("keys", "values"):
            require_functions(function)
        return self._derive(
            RecordOp(kind, function), partitioner=self.partitioner if keep else None
        )

    def _partitions(
        self,
        function: Callable[[int, Iterator[T]], Any],
        name: str,
        keep: bool = False,
    ) -> RDD[Any]:
        """A child made partition by partition."""
        require_functions(function)
        return self._derive(
            PartitionOp(function, name), partitioner=self.partitioner if keep else None
        )


def namespace_of(dependencies: Sequence[Dependency]) -> Namespace | None:
    """The namespace of the first parent that a child reads partition by partition."""
    for each in dependencies:
        if isinstance(each, NarrowDependency) and each.mapping is SAME:
            found = each.rdd._namespace
            if found is not None:
                return found
    return None


def require_rdds(*rdds: Any) -> None:
    """Refuses what is no RDD."""
    for each in rdds:
        if not isinstance(each, Lineage):
            raise TypeError(
                f"{call_site()[0]} needs an RDD, not {described(each)}: "
                "make one of the driver's own rows with sc.parallelize"
            )


def require_context(ctx: SparkContext, rdds: Sequence[Lineage[Any]]) -> None:
    """Refuses RDDs of another context: their ids mean something else there."""
    others = [rdd for rdd in rdds if rdd.ctx is not ctx]
    if not others:
        return
    culprit = next((rdd for rdd in rdds if rdd.ctx._ending()), None)
    if culprit is None:
        ctx._engine.check_usable()
        culprit = others[0]
    theirs = culprit.ctx
    raise ContextStopped(
        f"{culprit!r} belongs to {theirs._described()}, which {theirs._ending() or 'is another'}; "
        "it can't be used in another context: make it again there, or save it while its own "
        "context runs and read it there"
    )

"""Clicks cut into sessions where half an hour passes without one."""

from pyspark import SparkContext

GAP = 30 * 60
clicks = (
    [("u1", t) for t in (0, 60, 200, 5000, 5100, 9000)]
    + [("u2", t) for t in (10, 1900, 3600)]
    + [("u3", 5)]
)


def cut(times):
    sessions = []
    for t in sorted(times):
        if sessions and t - sessions[-1][-1] <= GAP:
            sessions[-1].append(t)
        else:
            sessions.append([t])
    return sessions


def main(sc):
    sessions = sc.parallelize(clicks, 3).groupByKey().flatMapValues(cut)
    for user, session in sorted(sessions.collect()):
        print(user, len(session), session[-1] - session[0])
    lengths = sessions.values().map(len)
    print("mean length %.3f of %d sessions" % (lengths.mean(), lengths.count()))


if __name__ == "__main__":
    with SparkContext("local[2]", "sessions") as context:
        main(context)

"""Costs that leave only the network to be waited for, on nodes of one executor."""

from pyrite.forecast.costs import CostModel, NodeKind

FREE = CostModel(
    driver_event_s=0.0,
    driver_launch_s=0.0,
    task_overhead_s=0.0,
    encode_bytes_per_s=1e12,
    decode_bytes_per_s=1e12,
    copy_bytes_per_s=1e12,
    fetch_bytes_per_s=1e12,
    shared_efficiency=1.0,
)
KIND = NodeKind(1, memory_bytes=1 << 40, network_bytes_per_s=1e6, latency_s=0.0)

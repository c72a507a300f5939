"""What runs on a node: the agent, its executors, its storage, and the messages to the driver."""

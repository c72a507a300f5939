"""The Ray adapter: Ray places, starts and watches one agent a node; the rest is ours."""

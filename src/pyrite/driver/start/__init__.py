"""From a master and settings to an engine that runs."""

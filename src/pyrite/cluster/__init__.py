"""The port between decisions and the world, and its adapters."""

"""Results under a name, which other programs reuse (EclipseMR, oCache)."""

"""What a job computes, cut into stages: pure."""

"""Plans which machines to rent for a job, within a budget (R3S, section 4)."""

"""Where things go before they start: reducers by the sizes they are expected to have; pure."""

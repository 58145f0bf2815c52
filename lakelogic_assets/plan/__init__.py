"""A contract and a request become a plan: plain, frozen data that says what a run will do."""

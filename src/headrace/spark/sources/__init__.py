"""Where rows come from. A source gives snapshots at positions, deltas between them, and facts about both."""

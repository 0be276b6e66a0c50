"""Values to pictures: pure functions that return rich renderables and print nothing."""
